// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

/// Child processes without a shell. Children get a new process group (or session), only the
/// descriptors named, and SIGKILL when the spawning *thread* ends (spawn from one that lives as
/// long as its children should).
namespace lathe::process {

struct SpawnOptions
{
    std::vector<std::string> command; ///< argv; argv[0] is looked up in PATH when it has no slash
    std::vector<std::string>
        environment; ///< "NAME=value", the whole environment; used when replaceEnvironment
    bool replaceEnvironment = false;
    std::string workingFolder;
    bool pipeStdin = false;                   ///< else /dev/null
    bool pipeStdout = false;                  ///< else inherits
    bool pipeStderr = false;                  ///< else inherits
    bool mergeStderr = false;                 ///< stderr to stdout's pipe
    std::vector<std::pair<int, int>> passFds; ///< {ours, number in the child}
    std::vector<int> enterCgroups; ///< open cgroup.procs files; the child enters them before exec
                                   ///< (failure is an error)
    bool newSession =
        true; ///< setsid, so that killGroup reaches everything that stays in the group
    bool dieWithParent = true;
};

/// A running child. Destruction kills its group and reaps it. Not thread-safe.
class Child
{
public:
    Child() = default;
    Child(Child&& other) noexcept;
    Child& operator=(Child&& other) noexcept;
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child();
    [[nodiscard]] pid_t pid() const { return m_pid; }
    [[nodiscard]] bool running() const { return m_pid > 0; }
    UniqueFd stdinFd;
    UniqueFd stdoutFd;
    UniqueFd stderrFd;
    UniqueFd pidFd; ///< pollable: readable when it exited
    void signalGroup(int signal) const;
    /// The wait status if it exited, else an empty optional-like -1. Reaps.
    bool tryWait(int& status);
    /// Waits until deadlineNs (CLOCK_MONOTONIC, -1 for ever); false on timeout.
    bool wait(int& status, std::int64_t deadlineNs);
    /// SIGKILLs the group and reaps.
    void kill();

private:
    friend Result<Child> spawn(const SpawnOptions& options);
    pid_t m_pid = -1;
};

/// Starts the child; exec failures are reported here (NotFound when the program does not exist).
Result<Child> spawn(const SpawnOptions& options);

struct CaptureResult
{
    int exitCode = -1; ///< 128 + signal when killed
    bool timedOut = false;
    bool cancelled = false;
    bool truncated = false; ///< output went over maxOutputBytes; the rest was read and dropped
    std::string out;
    std::string err;
    double seconds = 0;
};

/// Runs to the end with a deadline, capturing output; kills the whole group on timeout or when
/// cancelFd becomes readable.
Result<CaptureResult> runCaptured(SpawnOptions options,
                                  double timeoutSeconds,
                                  std::size_t maxOutputBytes = 4u << 20,
                                  int cancelFd = -1,
                                  std::string_view stdinText = {});

/// runCaptured's second half, for a child that runs already: reads its pipes until it ends, the
/// deadline passes (from now) or cancelFd becomes readable; then kills and reaps it.
CaptureResult captureChild(Child& child,
                           double timeoutSeconds,
                           std::size_t maxOutputBytes,
                           int cancelFd = -1,
                           std::string_view stdinText = {});

} // namespace lathe::process
