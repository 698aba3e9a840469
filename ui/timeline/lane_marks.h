// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/profile/trace.h>

#include <cstdint>
#include <vector>

namespace lathe::ui {

/// Sums of durations at every 64th span of a lane: the time covered between any two spans in at
/// most 128 additions. The lane must outlive it.
class LaneIndex
{
public:
    explicit LaneIndex(const profile::Lane& lane);
    /// Sum of the durations of spans [first, last).
    [[nodiscard]] std::int64_t coveredNs(std::size_t first, std::size_t last) const;
    /// First span that ends after the time; size() when none does.
    [[nodiscard]] std::size_t firstEndingAfter(double timeNs) const;
    /// First span at or after `from` that starts at the time or later; counts its steps.
    [[nodiscard]] std::size_t
    firstStartingFrom(std::size_t from, double timeNs, std::int64_t& steps) const;
    [[nodiscard]] const profile::Lane& lane() const { return *m_lane; }

private:
    const profile::Lane* m_lane;
    std::vector<std::int64_t> m_before; ///< sum of durations before span 64 * i
};

/// The part of the time axis that is on screen.
struct TimeWindow
{
    double fromNs = 0;
    double nsPerPixel = 1;
    int pixels = 0;
    [[nodiscard]] double xOf(double timeNs) const { return (timeNs - fromNs) / nsPerPixel; }
    [[nodiscard]] double timeOf(double x) const { return fromNs + x * nsPerPixel; }
};

/// What to draw of a lane at one zoom: spans that are wide enough one by one, everything else as
/// coverage per column.
struct LaneMarks
{
    std::vector<std::size_t> wide;
    std::vector<float> coverage; ///< 0..1 per pixel column of the small spans
    std::int64_t steps = 0;
};

/// Spans of this many pixels and more are drawn one by one.
constexpr double kWidePixels = 2.0;

/// Fills marks (its buffers are reused). Work grows with the pixels, not with the spans.
void collectMarks(const LaneIndex& index, const TimeWindow& window, LaneMarks& marks);

} // namespace lathe::ui
