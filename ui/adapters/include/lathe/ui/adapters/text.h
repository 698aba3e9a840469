// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include <string>
#include <string_view>

namespace lathe::ui {

inline QString qs(std::string_view text)
{
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size()));
}

/// "1.42×", "0.61×"; two decimals below 10, one below 100.
QString ratioText(double ratio);
/// "[1.40, 1.44]"
QString intervalText(double low, double high);
/// "1.78 ms", "23.4 µs", "2.10 s"
QString timeText(double microseconds);
/// "12:04:55" of an RFC 3339 time, as local time; the text itself when it is not one.
QString clockText(std::string_view rfc3339);
/// "eager", "compile" (for "compile:default"), "parent"
QString armText(std::string_view arm);

} // namespace lathe::ui
