// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/process/cancel.h>
#include <lathe/process/spawn.h>

#include <gtest/gtest.h>

#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace lathe::process {
namespace {

SpawnOptions shell(std::string script)
{
    SpawnOptions options;
    options.command = {"sh", "-c", std::move(script)};
    return options;
}

std::string readAll(int fd)
{
    std::string text;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;) {
        text.append(buffer, static_cast<std::size_t>(n));
    }
    return text;
}

TEST(Spawn, NamesAMissingProgram)
{
    SpawnOptions options;
    options.command = {"/nonexistent/program"};
    const auto absolute = spawn(options);
    ASSERT_FALSE(absolute.has_value());
    EXPECT_EQ(absolute.error().code, ErrorCode::NotFound);
    options.command = {"no-such-program-in-path"};
    const auto looked = spawn(options);
    ASSERT_FALSE(looked.has_value());
    EXPECT_EQ(looked.error().code, ErrorCode::NotFound);
    EXPECT_NE(looked.error().message.find("no-such-program-in-path"), std::string::npos);
}

TEST(Spawn, GivesExitStatusAndSignals)
{
    auto child = spawn(shell("exit 7"));
    ASSERT_TRUE(child.has_value());
    int status = 0;
    ASSERT_TRUE(child->wait(status, -1));
    EXPECT_EQ(WEXITSTATUS(status), 7);
    EXPECT_FALSE(child->running());

    auto killed = spawn(shell("kill -SEGV $$"));
    ASSERT_TRUE(killed.has_value());
    ASSERT_TRUE(killed->wait(status, -1));
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGSEGV);
}

TEST(Spawn, PassesOnlyTheNamedDescriptors)
{
    // One without close-on-exec on purpose: it must not leak either.
    const int leaky = ::open("/dev/null", O_RDONLY);
    int pipe[2];
    ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
    UniqueFd readEnd(pipe[0]);
    UniqueFd writeEnd(pipe[1]);
    SpawnOptions options = shell("ls /proc/self/fd | tr '\\n' ' ' >&5");
    options.passFds = {{writeEnd.get(), 5}};
    auto child = spawn(options);
    ASSERT_TRUE(child.has_value());
    writeEnd.reset();
    // 3 is ls's own descriptor of the folder it lists.
    EXPECT_EQ(readAll(readEnd.get()), "0 1 2 3 5 ");
    ::close(leaky);
}

TEST(Spawn, SwapsDescriptorsWithoutLosingOne)
{
    int first[2];
    int second[2];
    ASSERT_EQ(::pipe2(first, O_CLOEXEC), 0);
    ASSERT_EQ(::pipe2(second, O_CLOEXEC), 0);
    SpawnOptions options = shell("echo first >&" + std::to_string(second[1]) + "; echo second >&"
                                 + std::to_string(first[1]));
    options.passFds = {{first[1], second[1]}, {second[1], first[1]}};
    auto child = spawn(options);
    ::close(first[1]);
    ::close(second[1]);
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(readAll(first[0]), "first\n");
    EXPECT_EQ(readAll(second[0]), "second\n");
    ::close(first[0]);
    ::close(second[0]);
}

TEST(Spawn, ReplacesTheEnvironmentAndFolder)
{
    SpawnOptions options;
    options.command = {"env"};
    options.environment = {"ONLY=this"};
    options.replaceEnvironment = true;
    options.pipeStdout = true;
    auto child = spawn(options);
    ASSERT_TRUE(child.has_value());
    EXPECT_EQ(readAll(child->stdoutFd.get()), "ONLY=this\n");

    SpawnOptions where;
    where.command = {"pwd"};
    where.workingFolder = "/usr";
    where.pipeStdout = true;
    auto there = spawn(where);
    ASSERT_TRUE(there.has_value());
    EXPECT_EQ(readAll(there->stdoutFd.get()), "/usr\n");
}

TEST(Spawn, ResetsIgnoredSignals)
{
    struct sigaction ignore = {};
    struct sigaction before = {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGTERM, &ignore, &before);
    auto child = spawn(shell("kill -TERM $$; exit 3"));
    ::sigaction(SIGTERM, &before, nullptr);
    ASSERT_TRUE(child.has_value());
    int status = 0;
    ASSERT_TRUE(child->wait(status, -1));
    EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Spawn, KillReachesTheWholeGroup)
{
    SpawnOptions options = shell("sleep 600 & sleep 600 & echo ready; wait");
    options.pipeStdout = true;
    auto child = spawn(options);
    ASSERT_TRUE(child.has_value());
    char byte = 0;
    ASSERT_EQ(::read(child->stdoutFd.get(), &byte, 1), 1);
    child->kill();
    // End of file: nobody of the group holds the pipe any more.
    EXPECT_EQ(readAll(child->stdoutFd.get()), "eady\n");
}

TEST(Spawn, ReapingEndsWhatTheLeaderLeftBehind)
{
    SpawnOptions options = shell("sleep 600 & exit 0");
    options.pipeStdout = true;
    auto child = spawn(options);
    ASSERT_TRUE(child.has_value());
    int status = 0;
    ASSERT_TRUE(child->wait(status, -1));
    EXPECT_EQ(readAll(child->stdoutFd.get()), "");
}

TEST(Spawn, ChildDiesWithTheSpawningThread)
{
    UniqueFd pipe;
    Child child;
    std::thread([&] {
        SpawnOptions options = shell("sleep 600");
        options.pipeStdout = true;
        auto started = spawn(options);
        ASSERT_TRUE(started.has_value());
        child = std::move(*started);
    }).join();
    int status = 0;
    ASSERT_TRUE(child.wait(status, monotonicNs() + 20'000'000'000));
    EXPECT_TRUE(WIFSIGNALED(status));
}

TEST(Child, WaitGivesUpAtTheDeadline)
{
    auto child = spawn(shell("sleep 600"));
    ASSERT_TRUE(child.has_value());
    int status = 0;
    EXPECT_FALSE(child->wait(status, monotonicNs() + 1'000'000));
    EXPECT_TRUE(child->running());
}

TEST(CancelSource, IsPollableAndStaysCancelled)
{
    CancelSource source;
    pollfd entry = {source.fd(), POLLIN, 0};
    EXPECT_FALSE(source.cancelled());
    EXPECT_EQ(::poll(&entry, 1, 0), 0);
    std::thread([&] { source.cancel(); }).join();
    EXPECT_TRUE(source.cancelled());
    EXPECT_EQ(::poll(&entry, 1, 0), 1);
    source.cancel();
    EXPECT_EQ(::poll(&entry, 1, 0), 1);
}

} // namespace
} // namespace lathe::process
