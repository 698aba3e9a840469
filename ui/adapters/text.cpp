// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>

#include <QDateTime>

namespace lathe::ui {

QString ratioText(double ratio)
{
    return QString::number(ratio, 'f', ratio < 10 ? 2 : (ratio < 100 ? 1 : 0))
           + QStringLiteral("×");
}

QString intervalText(double low, double high)
{
    return QStringLiteral("[%1, %2]").arg(low, 0, 'f', 2).arg(high, 0, 'f', 2);
}

QString timeText(double microseconds)
{
    if (microseconds < 1000) {
        return QString::number(microseconds, 'f', microseconds < 100 ? 1 : 0)
               + QStringLiteral(" µs");
    }
    if (microseconds < 1e6) {
        return QString::number(microseconds / 1e3, 'f', microseconds < 1e4 ? 2 : 1)
               + QStringLiteral(" ms");
    }
    return QString::number(microseconds / 1e6, 'f', 2) + QStringLiteral(" s");
}

QString clockText(std::string_view rfc3339)
{
    const QDateTime time = QDateTime::fromString(qs(rfc3339), Qt::ISODateWithMs);
    return time.isValid() ? time.toLocalTime().toString(QStringLiteral("yyyy-MM-dd HH:mm:ss"))
                          : qs(rfc3339);
}

QString armText(std::string_view arm)
{
    if (arm == "compile:default") {
        return QStringLiteral("compile");
    }
    return arm == "aa" ? QStringLiteral("A/A control") : qs(arm);
}

} // namespace lathe::ui
