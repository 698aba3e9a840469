// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "micros.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace lathe::profile {

namespace {

std::optional<std::int64_t> fromDouble(std::string_view text)
{
    double micros = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), micros);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(micros)
        || std::fabs(micros) * 1e3 > static_cast<double>(kLargestNs)) {
        return std::nullopt;
    }
    return std::llround(micros * 1e3);
}

} // namespace

std::optional<std::int64_t> nanosecondsFromMicros(std::string_view text)
{
    const bool negative = text.starts_with('-');
    const std::string_view digits = text.substr(negative ? 1 : 0);
    std::int64_t ns = 0;
    int decimals = -1; // -1: before the point
    for (const char c : digits) {
        if (c == '.' && decimals < 0) {
            decimals = 0;
            continue;
        }
        if (c < '0' || c > '9')
            return fromDouble(text);
        if (decimals >= 3) {
            if (decimals++ == 3 && c >= '5')
                ++ns;
            continue;
        }
        ns = ns * 10 + (c - '0');
        if (ns > kLargestNs)
            return std::nullopt;
        if (decimals >= 0)
            ++decimals;
    }
    if (digits.empty() || digits == ".")
        return std::nullopt;
    for (int missing = 3 - std::clamp(decimals, 0, 3); missing > 0; --missing) {
        if (ns > kLargestNs / 10)
            return std::nullopt;
        ns *= 10;
    }
    return negative ? -ns : ns;
}

} // namespace lathe::profile
