// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/process/cancel.h>
#include <lathe/worker/sandbox.h>

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;

class SandboxTest : public testing::Test
{
protected:
    static void SetUpTestSuite() { s_sandbox = std::make_unique<Sandbox>(Sandbox::detect(false)); }
    static void TearDownTestSuite() { s_sandbox.reset(); }
    SandboxTest()
        : m_folder(makeTempFolder(fs::temp_directory_path(), "lathe-sandbox-").value())
    {
        ::chmod(m_folder.c_str(), 0755);
    }
    ~SandboxTest() override { fs::remove_all(m_folder); }

    static SandboxOptions shell(std::string script)
    {
        SandboxOptions options;
        options.purpose = "tool";
        options.command = {"sh", "-c", std::move(script)};
        return options;
    }
    static process::CaptureResult run(const SandboxOptions& options)
    {
        auto result = s_sandbox->run(options, 30, -1, 1u << 20);
        EXPECT_TRUE(result.has_value()) << result.error().message << " " << result.error().detail;
        return result.value_or(process::CaptureResult{});
    }
    fs::path m_folder;
    static std::unique_ptr<Sandbox> s_sandbox;
};

std::unique_ptr<Sandbox> SandboxTest::s_sandbox;

TEST_F(SandboxTest, SelfTestHolds)
{
    EXPECT_TRUE(s_sandbox->report().usable) << s_sandbox->report().text;
    EXPECT_EQ(s_sandbox->report().rung, "bubblewrap");
    EXPECT_GE(s_sandbox->report().proofs.size(), 7u);
    for (const auto& proof : s_sandbox->report().proofs) {
        EXPECT_TRUE(proof.held) << proof.name << ": " << proof.detail;
    }
}

TEST_F(SandboxTest, EnvironmentIsTheWhitelistAlone)
{
    ::setenv("OPENAI_API_KEY", "secret", 1);
    ::setenv("LD_PRELOAD", "", 1);
    ::setenv("PYTHONPATH", "/x", 1);
    SandboxOptions options = shell("env | cut -d= -f1 | sort | tr '\\n' ' '");
    options.environment = {"EXTRA=1"};
    const auto result = run(options);
    ::unsetenv("OPENAI_API_KEY");
    ::unsetenv("LD_PRELOAD");
    ::unsetenv("PYTHONPATH");
    EXPECT_EQ(result.out, "EXTRA HOME LANG LOGNAME PATH PWD TMPDIR USER ");
}

TEST_F(SandboxTest, MountsAreReachableBelowClosedFoldersAndReadOnly)
{
    ASSERT_TRUE(writeFileAtomic(m_folder / "in/text", "hello", 0644).has_value()
                || makeFolders(m_folder / "in").has_value());
    ASSERT_TRUE(writeFileAtomic(m_folder / "in/text", "hello", 0644).has_value());
    ASSERT_TRUE(makeFolders(m_folder / "out").has_value());
    ASSERT_TRUE(s_sandbox->giveToTools(m_folder / "out").has_value());
    SandboxOptions options =
        shell("cat /deep/down/in/text; echo no > /deep/down/in/text; echo yes > /deep/out/made");
    options.mounts = {{m_folder / "in", "/deep/down/in", false},
                      {m_folder / "out", "/deep/out", true}};
    const auto result = run(options);
    EXPECT_EQ(result.out, "hello");
    EXPECT_EQ(readFile(m_folder / "in/text").value(), "hello");
    EXPECT_EQ(readFile(m_folder / "out/made").value_or("missing"), "yes\n");
}

TEST_F(SandboxTest, TmpIsPrivateAndLimited)
{
    SandboxOptions options =
        shell("head -c 8000000 /dev/zero > /tmp/a 2>/dev/null; stat -c %s /tmp/a");
    options.tmpBytes = 1u << 20;
    EXPECT_EQ(run(options).out, "1048576\n");
    options = shell("head -c 8000000 /dev/zero > /tmp/a; stat -c %s /tmp/a");
    options.fileBytes = 4096;
    EXPECT_EQ(run(options).out, "4096\n");
}

TEST_F(SandboxTest, MemoryLimitEndsTheGreedyOneOnly)
{
    SandboxOptions options =
        shell("head -c 300000000 /dev/zero | tail -c 299999999 | wc -c; echo alive");
    options.memoryBytes = 100u << 20;
    const auto result = run(options);
    EXPECT_EQ(result.out.find("299999999"), std::string::npos);
    EXPECT_NE(result.out.find("alive"), std::string::npos);
}

TEST_F(SandboxTest, DeadlineAndCancelKillWhatWasDaemonised)
{
    // The descendant leaves the session; only the end of the pid namespace reaches it.
    const std::string mark = "31" + std::to_string(::getpid());
    SandboxOptions options = shell("setsid sleep " + mark + " & sleep 600");
    auto timedOut = s_sandbox->run(options, 0.3, -1, 100);
    ASSERT_TRUE(timedOut.has_value());
    EXPECT_TRUE(timedOut->timedOut);
    process::CancelSource cancel;
    cancel.cancel();
    auto cancelled = s_sandbox->run(options, 30, cancel.fd(), 100);
    ASSERT_TRUE(cancelled.has_value());
    EXPECT_TRUE(cancelled->cancelled);
    const auto survivors = [&] {
        process::SpawnOptions find;
        find.command = {"pgrep", "-cf", "^sleep " + mark};
        return process::runCaptured(find, 10)->out;
    };
    for (int round = 0; round < 500 && survivors() != "0\n"; ++round) {
        ::usleep(10'000);
    }
    EXPECT_EQ(survivors(), "0\n");
}

TEST_F(SandboxTest, LeavesNoControlGroupBehind)
{
    const std::string mine = "lathe-" + std::to_string(::getpid()) + "-";
    {
        const Sandbox local = Sandbox::detect(false);
        ASSERT_TRUE(local.run(shell("true"), 30, -1, 100).has_value());
    }
    run(shell("true"));
    std::size_t left = 0;
    for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids", "/sys/fs/cgroup"}) {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(root, error)) {
            left += entry.path().filename().string().starts_with(mine) ? 1 : 0;
        }
    }
    EXPECT_LE(left, 2u); // the last run's, swept by the next
}

TEST_F(SandboxTest, SaysWhatToDoWhereNamespacesAreForbidden)
{
    // What bubblewrap says in a container that forbids them.
    const fs::path fake = m_folder / "bwrap";
    ASSERT_TRUE(
        writeFileAtomic(fake, "#!/bin/sh\necho 'bwrap: No permissions' >&2\nexit 1\n", 0755));
    const std::string path = std::getenv("PATH");
    ::setenv("PATH", (m_folder.string() + ":" + path).c_str(), 1);
    const Sandbox none = Sandbox::detect(false);
    const Sandbox chosen = Sandbox::detect(true);
    ::setenv("PATH", path.c_str(), 1);

    EXPECT_FALSE(none.report().usable);
    EXPECT_NE(none.report().text.find("bwrap: No permissions"), std::string::npos);
    EXPECT_NE(none.report().text.find("apt install bubblewrap"), std::string::npos);
    const auto refused = none.run(shell("echo ran"), 10, -1, 100);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);

    EXPECT_EQ(chosen.report().rung, "unsandboxed");
    SandboxOptions options = shell("");
    options.command = {"cat", "/inside/text"};
    options.mounts = {{m_folder, "/inside", false}};
    ASSERT_TRUE(writeFileAtomic(m_folder / "text", "host path", 0644));
    const auto ran = chosen.run(options, 10, -1, 100);
    ASSERT_TRUE(ran.has_value());
    EXPECT_EQ(ran->out, "host path");
}

} // namespace
} // namespace lathe::worker
