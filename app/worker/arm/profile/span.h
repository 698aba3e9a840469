// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lathe::arm {

enum class SpanCategory : std::uint8_t { Operator, Kernel, Memory, Runtime };

/// One stretch of time of a trace, in CLOCK_MONOTONIC nanoseconds. Spans of one lane may nest but
/// never cross.
struct Span
{
    std::string name;
    SpanCategory category = SpanCategory::Operator;
    std::int64_t startNs = 0;
    std::int64_t endNs = 0;
    std::int64_t lane = 0; ///< kernel thread id, or kStreamLaneBase + stream for device work
    std::uint32_t correlation = 0; ///< joins a launch with its kernel; 0: none
    bool own =
        false; ///< a kernel of the candidate, or one that a compiler generated for this model
};

/// Thread ids stay below this on Linux (pid_max is at most 2^22).
inline constexpr std::int64_t kStreamLaneBase = std::int64_t{1} << 24;

} // namespace lathe::arm
