// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "lane_marks.h"
#include "time_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace lathe::ui {
namespace {

/// Spans without overlap whose lengths span four orders of magnitude.
profile::Lane randomLane(std::size_t count, unsigned seed)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> exponent(0.0, 4.0);
    profile::Lane lane;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < count; ++i) {
        at += static_cast<std::int64_t>(std::pow(10.0, exponent(random))) - 1;
        const auto duration = static_cast<std::int64_t>(std::pow(10.0, exponent(random))) - 1;
        lane.startNs.push_back(at);
        lane.durationNs.push_back(duration);
        lane.nameId.push_back(0);
        lane.correlation.push_back(0);
        lane.category.push_back(profile::SpanCategory::Kernel);
        at += duration;
    }
    return lane;
}

/// Coverage of the small spans per column, the slow and obvious way.
std::vector<double> bruteForce(const profile::Lane& lane, const TimeWindow& window)
{
    std::vector<double> out(static_cast<std::size_t>(window.pixels));
    for (std::size_t i = 0; i < lane.size(); ++i) {
        if (static_cast<double>(lane.durationNs[i]) >= kWidePixels * window.nsPerPixel)
            continue;
        const double left = window.xOf(static_cast<double>(lane.startNs[i]));
        const double right = window.xOf(static_cast<double>(lane.startNs[i] + lane.durationNs[i]));
        for (int x = std::max(0, static_cast<int>(left)); x < window.pixels && x <= right; ++x)
            out[static_cast<std::size_t>(x)] +=
                std::max(0.0, std::min(right, x + 1.0) - std::max(left, double(x)));
    }
    return out;
}

TEST(LaneMarks, CoverageAgreesWithBruteForceAtEveryZoom)
{
    const profile::Lane lane = randomLane(5000, 7);
    const LaneIndex index(lane);
    const double span = static_cast<double>(lane.startNs.back());
    LaneMarks marks;
    for (const double zoom : {1.0, 3.7, 20.0, 333.0, 5000.0}) {
        for (const double at : {0.0, 0.31, 0.77}) {
            const TimeWindow window{span * at, span / 700 / zoom, 700};
            collectMarks(index, window, marks);
            const auto expected = bruteForce(lane, window);
            ASSERT_EQ(marks.coverage.size(), expected.size());
            for (std::size_t x = 0; x < expected.size(); ++x)
                ASSERT_NEAR(marks.coverage[x], expected[x], 0.2)
                    << "zoom " << zoom << " column " << x;
            std::size_t wide = 0;
            for (std::size_t i = 0; i < lane.size(); ++i) {
                wide += static_cast<double>(lane.durationNs[i]) >= kWidePixels * window.nsPerPixel
                        && static_cast<double>(lane.startNs[i] + lane.durationNs[i]) > window.fromNs
                        && static_cast<double>(lane.startNs[i]) < window.timeOf(window.pixels);
            }
            EXPECT_EQ(marks.wide.size(), wide);
        }
    }
}

TEST(LaneMarks, WorkGrowsWithPixelsNotWithSpans)
{
    const profile::Lane lane = randomLane(1'000'000, 3);
    const LaneIndex index(lane);
    const double span = static_cast<double>(lane.startNs.back());
    LaneMarks marks;
    for (const double zoom : {1.0, 10.0, 100.0, 1000.0, 100000.0}) {
        collectMarks(index, {span * 0.4, span / 1600 / zoom, 1600}, marks);
        // A column costs one step and at most 2 log2(spans in it) more; a wide span is at least two
        // columns.
        EXPECT_LE(marks.steps, 1600 * 2 * 21) << zoom;
        EXPECT_LE(marks.wide.size(), 801u);
    }
}

TEST(LaneMarks, SumsBetweenAnyTwoSpansAreExact)
{
    const profile::Lane lane = randomLane(400, 11);
    const LaneIndex index(lane);
    for (std::size_t first = 0; first <= lane.size(); first += 13)
        for (std::size_t last = first; last <= lane.size(); last += 7)
            ASSERT_EQ(index.coveredNs(first, last),
                      std::accumulate(lane.durationNs.begin() + static_cast<long>(first),
                                      lane.durationNs.begin() + static_cast<long>(last),
                                      std::int64_t{0}))
                << first << " " << last;
}

TEST(LaneMarks, AShortSpanInALongGapLeavesAMark)
{
    profile::Lane lane = randomLane(1, 1);
    lane.startNs = {500'000'000};
    lane.durationNs = {0};
    const LaneIndex index(lane);
    LaneMarks marks;
    collectMarks(index, {0, 1e6, 1000}, marks);
    EXPECT_GT(marks.coverage[500], 0);
    EXPECT_EQ(
        std::count_if(marks.coverage.begin(), marks.coverage.end(), [](float c) { return c > 0; }),
        1);
}

TEST(TimeText, DurationsHaveThreeDigitsAndAUnit)
{
    const QChar gap(0xa0);
    EXPECT_EQ(durationText(0), QString("0%1ns").arg(gap));
    EXPECT_EQ(durationText(120), QString("120%1ns").arg(gap));
    EXPECT_EQ(durationText(1780000), QString("1.78%1ms").arg(gap));
    EXPECT_EQ(durationText(12340), QString("12.3%1\u00b5s").arg(gap));
    EXPECT_EQ(durationText(999900), QString("1.00%1ms").arg(gap));
    EXPECT_EQ(durationText(2.5e9), QString("2.50%1s").arg(gap));
}

TEST(TimeText, TicksAreOneTwoFive)
{
    EXPECT_DOUBLE_EQ(tickStepNs(10000, 90), 1e6); // 0.9 ms
    EXPECT_DOUBLE_EQ(tickStepNs(20000, 90), 2e6); // 1.8 ms
    EXPECT_DOUBLE_EQ(tickStepNs(30000, 90), 5e6); // 2.7 ms
    EXPECT_DOUBLE_EQ(tickStepNs(60000, 90), 1e7); // 5.4 ms
    EXPECT_EQ(tickText(4e6, 2e6), QString("4%1ms").arg(QChar(0xa0)));
    EXPECT_EQ(tickText(2.5e6, 5e5), QString("2.5%1ms").arg(QChar(0xa0)));
    EXPECT_EQ(tickText(0, 5e5), "0");
}

TEST(TimeText, ShortNamesKeepWhatTellsKernelsApart)
{
    EXPECT_EQ(shortName("aten::add"), "add");
    EXPECT_EQ(shortName("void at::native::vectorized_elementwise_kernel<4, "
                        "at::native::AddFunctor<float>>(int)"),
              "vectorized_elementwise_kernel");
    EXPECT_EQ(shortName("(anonymous namespace)::softmax_warp<float, 8>(float*)"), "softmax_warp");
    EXPECT_EQ(shortName("rmsnorm_residual"), "rmsnorm_residual");
    EXPECT_EQ(shortName("<built-in>"), "<built-in>");
}

} // namespace
} // namespace lathe::ui
