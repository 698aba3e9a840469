// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/bash_tool.h>
#include <lathe/base/files.h>
#include <lathe/process/spawn.h>

#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>

namespace lathe::agent {
namespace {

using ::testing::HasSubstr;

class BashToolTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-bash-");
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    ToolResult
    run(const std::string& command, double timeout = 60, const std::string& program = "bwrap")
    {
        BashOptions options;
        options.command = command;
        options.workdir = folder;
        options.timeoutSeconds = timeout;
        options.maxOutputBytes = 4096;
        options.sandboxProgram = program;
        ToolResult out;
        boost::asio::io_context io;
        const auto tool = BashTool::start(io, options, [&](ToolResult r) { out = std::move(r); });
        io.run();
        return out;
    }
    /// True when this machine lets bubblewrap make a sandbox.
    static bool sandboxWorks()
    {
        process::SpawnOptions options;
        options.command = {"bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"};
        const auto result = process::runCaptured(options, 20);
        return result && result->exitCode == 0;
    }
    std::filesystem::path folder;
};

TEST_F(BashToolTest, SaysThatBubblewrapIsMissing)
{
    const auto result = run("true", 5, "no-such-bwrap");
    EXPECT_FALSE(result.success);
    EXPECT_THAT(result.text, HasSubstr("bubblewrap"));
}

TEST_F(BashToolTest, RunsInTheWorkdir)
{
    if (!sandboxWorks()) {
        GTEST_SKIP() << "bubblewrap cannot make a sandbox here";
    }
    const auto result = run("echo hello > made; pwd; cat made; echo problem >&2; exit 3");
    EXPECT_EQ(result.text, "/work\nhello\nproblem\n");
    EXPECT_FALSE(result.success);
    EXPECT_THAT(result.headJson, HasSubstr("\"exitCode\":3"));
    EXPECT_EQ(*readFile(folder / "made"), "hello\n");
}

TEST_F(BashToolTest, SeesNeitherNetworkNorHome)
{
    if (!sandboxWorks()) {
        GTEST_SKIP() << "bubblewrap cannot make a sandbox here";
    }
    EXPECT_EQ(run("ls /sys/class/net 2>/dev/null; (exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null && "
                  "echo connected; ls /root /home 2>/dev/null; "
                  "cat /etc/shadow 2>/dev/null; touch /usr/x 2>/dev/null && echo wrote; env | grep "
                  "-i key; true")
                  .text,
              "");
}

TEST_F(BashToolTest, KillsWhatRunsTooLong)
{
    if (!sandboxWorks()) {
        GTEST_SKIP() << "bubblewrap cannot make a sandbox here";
    }
    const auto result = run("echo before; sleep 1000 & sleep 1000", 1);
    EXPECT_FALSE(result.success);
    EXPECT_EQ(result.status, "timeout");
    EXPECT_THAT(result.text, HasSubstr("before"));
}

TEST_F(BashToolTest, CapsOutput)
{
    if (!sandboxWorks()) {
        GTEST_SKIP() << "bubblewrap cannot make a sandbox here";
    }
    const auto result = run("head -c 1000000 /dev/zero | tr '\\0' x");
    EXPECT_TRUE(result.success);
    EXPECT_LT(result.text.size(), 5000u);
    EXPECT_THAT(result.text, HasSubstr("995904 more bytes")); // 1,000,000 - 4,096
}

} // namespace
} // namespace lathe::agent
