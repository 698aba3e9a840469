// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "capabilities.h"
#include "options.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lathe::worker {
namespace {

TEST(Options, NamesWhatItDoesNotKnow)
{
    EXPECT_EQ(parseOptions({})->command, Command::Help);
    EXPECT_EQ(parseOptions({"--version"})->command, Command::Version);
    EXPECT_NE(parseOptions({"sreve"}).error().message.find("sreve"), std::string::npos);
    EXPECT_NE(parseOptions({"serve", "--nope"}).error().message.find("--nope"), std::string::npos);
    EXPECT_NE(parseOptions({"serve", "--arm"}).error().message.find("--arm"), std::string::npos);
    EXPECT_FALSE(parseOptions({"serve", "--json"}).has_value());
    EXPECT_TRUE(parseOptions({"doctor", "--json"})->json);
    EXPECT_EQ(parseOptions({"serve", "--memory", "2048"})->memoryBytes, 2147483648u);
    EXPECT_EQ(parseOptions({"serve"})->memoryBytes, 0u);
    for (const char* wrong : {"", "x", "255", "2048k", "-1"}) {
        EXPECT_FALSE(parseOptions({"serve", "--memory", wrong}).has_value()) << wrong;
    }
    EXPECT_FALSE(parseOptions({"serve", "--memory"}).has_value());
}

TEST(Options, FlagBeforeEnvironment)
{
    ::setenv("LATHE_ARM", "/from/environment", 1);
    ::setenv("LATHE_PYTHON", "/env/bin/python", 1);
    EXPECT_EQ(parseOptions({"serve"})->arm, "/from/environment");
    EXPECT_EQ(parseOptions({"serve"})->python, "/env/bin/python");
    const auto given = parseOptions(
        {"serve", "--arm", "/flag/arm", "--python", "/flag/python", "--cache", "/flag/cache"});
    EXPECT_EQ(given->arm, "/flag/arm");
    EXPECT_EQ(given->python, "/flag/python");
    EXPECT_EQ(given->cache, "/flag/cache");
    EXPECT_FALSE(given->allowUnsandboxed);
    ::unsetenv("LATHE_ARM");
    ::unsetenv("LATHE_PYTHON");
    EXPECT_EQ(parseOptions({"serve"})->arm.filename(), "lathe-arm");
}

TEST(Capabilities, EveryGapComesWithItsFix)
{
    WorkerOptions options;
    options.arm = "/nonexistent/lathe-arm";
    const Sandbox sandbox = Sandbox::detect(false);
    const Builder builder(sandbox, BuilderSettings{});
    const auto hello =
        describeWorker(options, sandbox, builder, CudaProbe{{}, "", "", "no driver"});
    EXPECT_EQ(hello.devices, std::vector<std::string>{"cpu"});
    bool armMissing = false;
    for (const auto& row : hello.capabilities) {
        EXPECT_EQ(row.status == "ok", row.fix.empty()) << row.name;
        armMissing = armMissing || (row.name == "arm" && row.status == "missing");
    }
    EXPECT_TRUE(armMissing);
    EXPECT_NE(doctorText(hello).find("no driver"), std::string::npos);
}

} // namespace
} // namespace lathe::worker
