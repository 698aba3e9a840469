// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/evaluation/evaluation_result.h>

#include <gtest/gtest.h>

namespace lathe::evaluation {
namespace {

protocol::Comparison
comparison(const char* against, const char* variant, double ratio, double low, double high)
{
    return {"candidate", against, variant, "warm", ratio, low, high, "faster"};
}

EvaluationResult correct(double eager, double compiled)
{
    EvaluationResult result;
    result.comparisons = {
        comparison("eager", "a", eager, eager * 0.99, eager * 1.01),
        comparison("compile:default", "a", compiled, compiled * 0.99, compiled * 1.01)};
    protocol::EvaluateDone done;
    done.verdict = protocol::Verdict::Correct;
    result.finish(done);
    return result;
}

TEST(Speedups, AreGeometricMeansOverVariants)
{
    EvaluationResult result;
    result.comparisons = {comparison("eager", "a", 2, 1.8, 2.2),
                          comparison("eager", "b", 8, 7.2, 8.8)};
    const auto all = result.speedups();
    ASSERT_EQ(all.size(), 1u);
    EXPECT_DOUBLE_EQ(all[0].ratio, 4.0); // sqrt(2 * 8)
    // Each low is 0.9 times its ratio: the log half-width of the mean is |ln 0.9| / sqrt(2) =
    // 0.0745009.
    EXPECT_NEAR(all[0].low, 4.0 * 0.928207, 1e-4);
    EXPECT_EQ(all[0].verdict, "faster");
}

TEST(Speedups, BestBaselineFirstAndParentIsNone)
{
    EvaluationResult result;
    result.comparisons = {comparison("eager", "a", 3, 2.9, 3.1),
                          comparison("parent", "a", 1.1, 1.0, 1.2),
                          comparison("compile:default", "a", 1.5, 1.4, 1.6)};
    ASSERT_EQ(result.speedups().size(), 3u);
    EXPECT_EQ(result.speedups().front().against, "parent");
    ASSERT_TRUE(result.againstBestBaseline());
    EXPECT_EQ(result.againstBestBaseline()->against, "compile:default");
}

TEST(Speedups, IgnoreOtherArmsAndNonsense)
{
    EvaluationResult result;
    result.comparisons = {comparison("eager", "a", 0, 0, 0), comparison("aa", "a", 1, 1, 1)};
    result.comparisons.push_back({"parent", "eager", "a", "warm", 2, 1.9, 2.1, "faster"});
    EXPECT_TRUE(result.speedups().empty());
    EXPECT_FALSE(result.againstBestBaseline());
}

TEST(Reward, FollowsTheMilestones)
{
    EXPECT_EQ(correct(1.05, 1.2).reward(), 1); // exactly 5 % is not more than 5 %
    EXPECT_EQ(correct(1.06, 1.0).reward(), 2);
    EXPECT_EQ(correct(1.30, 1.06).reward(), 3);
    EXPECT_EQ(correct(0.90, 1.30).reward(), 1);
    EvaluationResult wrong = correct(3, 3);
    wrong.verdict = protocol::Verdict::Wrong;
    EXPECT_EQ(wrong.reward(), -1);
}

TEST(Reward, AnUnmeasuredCompileArmIsNotBeaten)
{
    EvaluationResult result = correct(2, 2);
    result.comparisons.pop_back();
    EXPECT_EQ(result.reward(), 2);
}

TEST(Apply, LaterRowsReplaceEarlierOnes)
{
    EvaluationResult result;
    protocol::TimingRow row;
    row.arm = "candidate";
    row.variant = "a";
    row.protocol = "warm";
    row.medianUs = 10;
    result.apply(protocol::TimingEvent{row});
    row.medianUs = 9;
    result.apply(protocol::TimingEvent{row});
    row.variant = "b";
    result.apply(protocol::TimingEvent{row});
    ASSERT_EQ(result.timings.size(), 2u);
    EXPECT_EQ(result.timings[0].medianUs, 9);
}

TEST(Provisional, AllButTheAcceptTierOverAllVariants)
{
    EvaluationResult result = correct(2, 2);
    for (const auto tier : {protocol::Tier::Quick, protocol::Tier::Full}) {
        result.tier = tier;
        EXPECT_TRUE(result.provisional());
        EXPECT_NE(result.provisionalBecause().find("run the accept tier"), std::string::npos);
    }
    result.tier = protocol::Tier::Accept;
    EXPECT_FALSE(result.provisional());
    EXPECT_EQ(result.provisionalBecause(), "");
    result.done.untimed = {"big", "odd"};
    EXPECT_TRUE(result.provisional());
    EXPECT_NE(result.provisionalBecause().find("not timed: big, odd ("), std::string::npos);
}

TEST(Fail, LeavesNoVerdict)
{
    EvaluationResult result;
    result.fail({ErrorCode::Protocol, "the worker was killed by signal 9", "last words"});
    EXPECT_FALSE(result.finished);
    EXPECT_FALSE(result.verdict);
    EXPECT_EQ(result.warnings, std::vector<std::string>{"the worker was killed by signal 9"});
    EXPECT_EQ(result.log, "last words\n");
}

} // namespace
} // namespace lathe::evaluation
