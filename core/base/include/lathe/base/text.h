// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

std::vector<std::string> splitLines(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view trimmed(std::string_view text);

/// Valid UTF-8 with every invalid byte replaced by U+FFFD and NUL removed.
std::string toValidUtf8(std::string_view bytes);

/// At most maxBytes: the head and the tail with "[... N bytes left out ...]" between; cuts at UTF-8
/// boundaries.
std::string headAndTail(std::string_view text, std::size_t maxBytes);

/// A POSIX shell word.
std::string shellQuote(std::string_view word);

} // namespace lathe
