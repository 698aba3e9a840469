// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lathe::profile {

/// 73 years: sums of three never overflow.
inline constexpr std::int64_t kLargestNs = std::int64_t{1} << 61;

/// Decimal microseconds as exact nanoseconds: a double would lose up to 250 ns at today's epoch.
/// Empty for text that is no number or lies outside +-kLargestNs.
std::optional<std::int64_t> nanosecondsFromMicros(std::string_view text);

} // namespace lathe::profile
