// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/stats/stats.h>

#include <gtest/gtest.h>

#include <cmath>

using namespace lathe::stats;

// numpy.quantile's default is Hyndman and Fan's type 7: quantile([1,2,3,4], 0.25) = 1.75, 0.9
// -> 3.7.
TEST(Quantile, IsTypeSeven)
{
    EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.25), 1.75);
    EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0.9), 3.7);
    EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 0), 1);
    EXPECT_DOUBLE_EQ(quantile({4, 1, 3, 2}, 1), 4);
    EXPECT_DOUBLE_EQ(quantile({7}, 0.3), 7);
    EXPECT_TRUE(std::isnan(quantile({}, 0.5)));
}

TEST(Descriptive, ByHand)
{
    EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
    EXPECT_DOUBLE_EQ(median({4, 1, 2, 3}), 2.5);
    EXPECT_DOUBLE_EQ(mean({1, 2, 6}), 3);
    // deviations -2, 2: variance 8 / 1, deviation 2.8284, mean 4
    EXPECT_NEAR(cvPercent({2, 6}), 100 * std::sqrt(8.0) / 4, 1e-12);
    EXPECT_NEAR(geometricMean({2, 8}), 4, 1e-12);
    EXPECT_TRUE(std::isnan(geometricMean({2, 0})));
}

TEST(MedianInterval, HoldsTheMedianAndIsReproducible)
{
    std::vector<double> values;
    for (int i = 0; i < 60; ++i) {
        values.push_back(100 + (i * 7) % 11);
    }
    const Interval a = medianInterval(values, 42);
    const Interval b = medianInterval(values, 42);
    EXPECT_EQ(a.low, b.low);
    EXPECT_EQ(a.high, b.high);
    EXPECT_LE(a.low, a.estimate);
    EXPECT_GE(a.high, a.estimate);
    EXPECT_GE(a.low, 100);
    EXPECT_LE(a.high, 110);
}

TEST(MedianInterval, OfAConstantIsAPoint)
{
    const Interval i = medianInterval(std::vector<double>(20, 5.0), 1);
    EXPECT_EQ(i.low, 5);
    EXPECT_EQ(i.high, 5);
}

TEST(PairedRatio, DriftCommonToBothCancels)
{
    std::vector<double> arm;
    std::vector<double> against;
    for (int i = 0; i < 40; ++i) {
        const double drift = 1 + 0.05 * i;
        arm.push_back(10 * drift);
        against.push_back(25 * drift);
    }
    const Interval r = pairedRatio(arm, against, 7);
    EXPECT_NEAR(r.estimate, 2.5, 1e-12);
    EXPECT_NEAR(r.low, 2.5, 1e-12);
    EXPECT_NEAR(r.high, 2.5, 1e-12);
    EXPECT_TRUE(std::isnan(pairedRatio({1, 2}, {1}, 7).estimate));
}

// Half-widths ln 1.1 and ln 1.1 in quadrature over two: sqrt(2) * 0.0953102 / 2 = 0.0673945; sqrt(2
// * 8) = 4.
TEST(CombineRatios, AddsLogHalfWidthsInQuadrature)
{
    const Interval r = combineRatios({{2, 2 / 1.1, 2 * 1.1}, {8, 8 / 1.1, 8 * 1.1}});
    EXPECT_NEAR(r.estimate, 4, 1e-12);
    EXPECT_NEAR(r.high, 4 * std::exp(0.0673945), 1e-6);
    EXPECT_NEAR(r.low, 4 * std::exp(-0.0673945), 1e-6);
}

TEST(Verdict, ByMargin)
{
    EXPECT_EQ(verdict({1.05, 1.02, 1.08}), "faster");
    EXPECT_EQ(verdict({0.95, 0.93, 0.97}), "slower");
    EXPECT_EQ(verdict({1.0, 0.995, 1.005}), "same");
    EXPECT_EQ(verdict({1.0, 0.97, 1.03}), "undecided");
    EXPECT_EQ(verdict({1.03, 1.005, 1.06}), "undecided");
    EXPECT_EQ(verdict({NAN, NAN, NAN}), "undecided");
    // A noisy machine widens the margin; that does not make half the speed "the same".
    EXPECT_EQ(verdict({0.49, 0.23, 0.73}, 4.0), "undecided");
    EXPECT_EQ(verdict({1.0, 0.97, 1.03}, 0.2), "same");
    EXPECT_EQ(verdict({1.0, 0.97, 1.06}, 0.2), "undecided");
}

TEST(MilestoneReward, FollowsThePaper)
{
    EXPECT_EQ(milestoneReward(false, 9, 9), -1);
    EXPECT_EQ(milestoneReward(true, 1.05, 2), 1);
    EXPECT_EQ(milestoneReward(true, 1.06, 1.0), 2);
    EXPECT_EQ(milestoneReward(true, 1.06, 1.06), 3);
    EXPECT_EQ(milestoneReward(true, 0.5, 1.5), 1);
}
