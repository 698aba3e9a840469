// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/process/cancel.h>
#include <lathe/process/spawn.h>

#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <thread>

namespace lathe::process {
namespace {

SpawnOptions shell(std::string script)
{
    SpawnOptions options;
    options.command = {"sh", "-c", std::move(script)};
    return options;
}

constexpr double kLong = 60;

TEST(RunCaptured, SeparatesAndMergesStreams)
{
    const auto apart = runCaptured(shell("echo out; echo err >&2; exit 3"), kLong);
    ASSERT_TRUE(apart.has_value());
    EXPECT_EQ(apart->out, "out\n");
    EXPECT_EQ(apart->err, "err\n");
    EXPECT_EQ(apart->exitCode, 3);
    EXPECT_FALSE(apart->timedOut);
    SpawnOptions options = shell("echo out; echo err >&2");
    options.mergeStderr = true;
    const auto merged = runCaptured(options, kLong);
    ASSERT_TRUE(merged.has_value());
    EXPECT_EQ(merged->out, "out\nerr\n");
    EXPECT_EQ(merged->err, "");
}

TEST(RunCaptured, FeedsMoreInputThanAPipeHolds)
{
    const std::string text(1u << 20, 'x');
    SpawnOptions options;
    options.command = {"cat"};
    const auto result = runCaptured(options, kLong, 4u << 20, -1, text);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->out, text);
}

TEST(RunCaptured, SurvivesAChildThatIgnoresItsInput)
{
    const std::string text(1u << 20, 'x');
    const auto result = runCaptured(shell("exec 0<&-; echo done"), kLong, 1024, -1, text);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->out, "done\n");
    EXPECT_EQ(result->exitCode, 0);
}

TEST(RunCaptured, DropsWhatIsOverTheLimitAndReadsOn)
{
    const auto result = runCaptured(shell("head -c 3000000 /dev/zero; exit 5"), kLong, 1000);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->out.size(), 1000u);
    EXPECT_TRUE(result->truncated);
    EXPECT_EQ(result->exitCode, 5);
}

TEST(RunCaptured, KillsAtTheDeadlineEvenWhileOutputFloods)
{
    const auto result = runCaptured(shell("echo before; yes"), 0.2, 100);
    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(result->timedOut);
    EXPECT_EQ(result->exitCode, 128 + SIGKILL);
    EXPECT_EQ(result->out.substr(0, 7), "before\n");
}

TEST(RunCaptured, CancelEndsIt)
{
    CancelSource cancel;
    cancel.cancel();
    const auto result = runCaptured(shell("sleep 600"), kLong, 100, cancel.fd());
    ASSERT_TRUE(result.has_value());
    EXPECT_TRUE(result->cancelled);
    EXPECT_FALSE(result->timedOut);
}

TEST(RunCaptured, DoesNotWaitForABackgroundedHolderOfThePipe)
{
    const auto result = runCaptured(shell("setsid sleep 5 & echo done"), kLong);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->out, "done\n");
    EXPECT_FALSE(result->timedOut);
}

TEST(RunCaptured, ReportsASignalAsAShellDoes)
{
    const auto result = runCaptured(shell("kill -ABRT $$"), kLong);
    ASSERT_TRUE(result.has_value());
    EXPECT_EQ(result->exitCode, 128 + SIGABRT);
}

} // namespace
} // namespace lathe::process
