// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "lane_marks.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace lathe::ui {

namespace {

constexpr std::size_t kStride = 64;
/// A span without length still leaves a mark.
constexpr float kTrace = 1e-3f;

} // namespace

LaneIndex::LaneIndex(const profile::Lane& lane)
    : m_lane(&lane)
{
    m_before.reserve(lane.size() / kStride + 1);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < lane.size(); ++i) {
        if (i % kStride == 0)
            m_before.push_back(sum);
        sum += lane.durationNs[i];
    }
}

std::int64_t LaneIndex::coveredNs(std::size_t first, std::size_t last) const
{
    const auto& durations = m_lane->durationNs;
    const auto sum = [&](std::size_t from, std::size_t to) {
        return std::accumulate(durations.begin() + static_cast<std::ptrdiff_t>(from),
                               durations.begin() + static_cast<std::ptrdiff_t>(to),
                               std::int64_t{0});
    };
    if (last - first <= kStride)
        return sum(first, last);
    const std::size_t a = (first + kStride - 1) / kStride;
    const std::size_t b = std::min(last / kStride, m_before.size() - 1);
    return sum(first, a * kStride) + (m_before[b] - m_before[a]) + sum(b * kStride, last);
}

std::size_t LaneIndex::firstEndingAfter(double timeNs) const
{
    std::size_t low = 0;
    std::size_t high = m_lane->size();
    while (low < high) {
        const std::size_t mid = (low + high) / 2;
        if (static_cast<double>(m_lane->startNs[mid] + m_lane->durationNs[mid]) > timeNs)
            high = mid;
        else
            low = mid + 1;
    }
    return low;
}

std::size_t LaneIndex::firstStartingFrom(std::size_t from, double timeNs, std::int64_t& steps) const
{
    const auto& starts = m_lane->startNs;
    std::size_t low = from;
    std::size_t stride = 1;
    std::size_t high = from;
    while (high < starts.size() && static_cast<double>(starts[high]) < timeNs) {
        low = high + 1;
        high += stride;
        stride *= 2;
        ++steps;
    }
    high = std::min(high, starts.size());
    while (low < high) {
        const std::size_t mid = (low + high) / 2;
        if (static_cast<double>(starts[mid]) < timeNs)
            low = mid + 1;
        else
            high = mid;
        ++steps;
    }
    return low;
}

void collectMarks(const LaneIndex& index, const TimeWindow& window, LaneMarks& marks)
{
    const profile::Lane& lane = index.lane();
    const auto columns = static_cast<std::size_t>(std::max(window.pixels, 0));
    marks.wide.clear();
    marks.coverage.assign(columns + 2, 0.0f);
    marks.steps = 0;
    const double wideNs = kWidePixels * window.nsPerPixel;
    const double endNs = window.timeOf(window.pixels);
    std::size_t i = index.firstEndingAfter(window.fromNs);
    while (i < lane.size() && static_cast<double>(lane.startNs[i]) < endNs) {
        ++marks.steps;
        if (static_cast<double>(lane.durationNs[i]) >= wideNs) {
            marks.wide.push_back(i++);
            continue;
        }
        const double x = std::max(0.0, window.xOf(static_cast<double>(lane.startNs[i])));
        const auto column = std::min(static_cast<std::size_t>(x), columns - 1);
        const double columnEndNs = window.timeOf(static_cast<double>(column + 1));
        std::size_t next = std::max(index.firstStartingFrom(i, columnEndNs, marks.steps), i + 1);
        // Only the last span of a column can reach beyond it, so only that one can be wide.
        if (next - i > 1 && static_cast<double>(lane.durationNs[next - 1]) >= wideNs)
            --next;
        const double lastEndNs =
            static_cast<double>(lane.startNs[next - 1] + lane.durationNs[next - 1]);
        const double beyond = std::max(0.0, lastEndNs - columnEndNs);
        const double before = std::max(0.0, window.fromNs - static_cast<double>(lane.startNs[i]));
        const double inside = static_cast<double>(index.coveredNs(i, next)) - beyond - before;
        marks.coverage[column] += std::max(kTrace, static_cast<float>(inside / window.nsPerPixel));
        // Under two pixels wide, it can reach into the two columns that follow.
        const double reach = beyond / window.nsPerPixel;
        marks.coverage[column + 1] += static_cast<float>(std::min(reach, 1.0));
        marks.coverage[column + 2] += static_cast<float>(std::max(reach - 1.0, 0.0));
        i = next;
    }
    marks.coverage.resize(columns);
}

} // namespace lathe::ui
