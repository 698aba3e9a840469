// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>
#include <lathe/protocol/arm_wire.h>
#include <lathe/worker/sandbox.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace lathe::worker {

/// Where the arm and its Python are, and how every arm runs: the same for all.
struct ArmSettings
{
    std::filesystem::path armBinary;
    std::filesystem::path python; ///< the environment's interpreter
    std::vector<int> affinity;    ///< cores, the same for every arm
    int threads = 0;
    std::string device = "cpu"; ///< "cpu" or "cuda:N"
    std::uint64_t memoryBytes = 16ull << 30;
    /// Reference arms only: a folder that their phases may write and share, so that torch.compile
    /// finds its kernels again. Never for candidates: no phase may write what another reads.
    std::filesystem::path inductorCache;
};

/// What a process that runs the arm's binary has to see: binary, Python environment and the two
/// folders; the caller adds the command. `inside` names the binary as that process sees it.
SandboxOptions armSandboxOptions(const ArmSettings& settings,
                                 const std::filesystem::path& taskFolder,
                                 const std::filesystem::path& candidateFolder,
                                 bool isolated,
                                 std::string* inside = nullptr);

/// An arm's reply: validated, with the descriptors that came along and the judge's own clock around
/// the call.
struct ArmReply
{
    protocol::ArmReader message;
    std::vector<UniqueFd> fds;
    std::int64_t roundTripNs = 0;
};

/// How a phase process ended, when it did.
struct ArmExit
{
    bool exited = false;
    int signal = 0; ///< 0: none
    int code = 0;
    [[nodiscard]] std::string
    describe() const; ///< "killed by SIGSEGV", "exited with code 0 without an answer"
};

/// A process as the kernel knows it now. Pid and start tell it from every other of this boot.
struct LiveProcess
{
    pid_t pid = 0; ///< as this machine numbers it
    std::uint64_t startTicks = 0;
    UniqueFd fd; ///< of pidfd_open
    [[nodiscard]] bool is(const LiveProcess& other) const
    {
        return pid == other.pid && startTicks == other.startTicks;
    }
};

/// One forked phase process, alone on its socket. Destruction kills it.
class ArmProcess
{
public:
    virtual ~ArmProcess() = default;
    /// One request, one reply. Errors: Timeout (the process is then killed), Cancelled, Protocol
    /// (it died or lied; see exitState()). A Failed reply is returned as a reply, not as an error.
    virtual Result<ArmReply> call(const protocol::ArmWriter& request,
                                  const std::vector<int>& fds,
                                  double timeoutSeconds,
                                  int cancelFd) = 0;
    /// call() in two halves, for work in the background (compiled baselines).
    virtual Result<void> send(const protocol::ArmWriter& request, const std::vector<int>& fds) = 0;
    virtual Result<ArmReply> receive(double timeoutSeconds, int cancelFd) = 0;
    /// True when a reply waits.
    [[nodiscard]] virtual bool replyReady() const = 0;
    /// What the zygote said of its end; waits up to 1 s for it.
    virtual ArmExit exitState() = 0;
    virtual void kill() = 0;
    /// The last output (stdout and stderr together) of the phase, at most 64 KiB, as valid UTF-8.
    virtual std::string takeOutput() = 0;
    /// Stops or continues every process of the arm's sandbox (SIGSTOP/SIGCONT), so that it cannot
    /// disturb timing.
    virtual void pause(bool stopped) = 0;
    /// This phase's process and what it started and is alive now, so that each can be stopped for a
    /// moment at the cost of one system call. Takes milliseconds.
    [[nodiscard]] virtual std::vector<LiveProcess> liveProcesses() { return {}; }
    /// What the kernel says now against this phase and everything it started being confined, a
    /// sentence each; empty when all of it is, or when the arm runs without a sandbox by choice.
    [[nodiscard]] virtual std::vector<std::string> openings() { return {}; }
};

/// One sandbox with its zygote, which has imported torch. Destruction kills the sandbox's pid
/// namespace.
class ArmHost
{
public:
    /// Starts the sandbox and returns at once; torch is imported in the background. The two folders
    /// are mounted read-only inside as /task and /candidate; the caller fills them before the phase
    /// that reads them (they may be empty now). Everything else a phase may write is private to it
    /// and gone with it.
    static Result<std::unique_ptr<ArmHost>> start(const Sandbox& sandbox,
                                                  const ArmSettings& settings,
                                                  const std::filesystem::path& taskFolder,
                                                  const std::filesystem::path& candidateFolder);
    virtual ~ArmHost() = default;
    /// Waits until torch is imported. The text tells torch's and Python's versions.
    virtual Result<std::string> waitReady(double timeoutSeconds, int cancelFd) = 0;
    [[nodiscard]] virtual bool alive() const = 0;
    /// True once torch is imported (or the host has died). Never waits.
    [[nodiscard]] virtual bool ready() = 0;
    /// Stops or continues every process of the sandbox, the zygote too (SIGSTOP/SIGCONT), e.g.
    /// while others are timed.
    virtual void pause(bool stopped) = 0;
    /// Forks a phase process under a fresh uid. About 40 ms.
    virtual Result<std::unique_ptr<ArmProcess>> fork(const std::string& phase, int cancelFd) = 0;
    /// The folders as the arm sees them: "/task" and "/candidate"; the host's own paths when
    /// unsandboxed.
    [[nodiscard]] virtual std::string taskPath() const = 0;
    [[nodiscard]] virtual std::string candidatePath() const = 0;
    virtual void stop() = 0;
    /// CPU seconds and resident bytes of the sandbox so far; zeros where unknown.
    [[nodiscard]] virtual std::pair<double, std::uint64_t> usage() const = 0;
};

} // namespace lathe::worker
