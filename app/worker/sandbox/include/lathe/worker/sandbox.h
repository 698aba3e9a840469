// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/process/spawn.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace lathe::worker {

/// One entry of the allow-list: what a sandboxed process sees of the machine.
struct Mount
{
    std::filesystem::path host;
    std::filesystem::path inside;
    bool writable = false;
};

/// What to run and what it may see and use. Used for compilers, arms and tools alike.
struct SandboxOptions
{
    std::string purpose; ///< "compile", "arm", "tool": for messages
    std::vector<std::string> command;
    std::vector<Mount> mounts; ///< beside the system libraries, which are always there read-only
    std::vector<std::pair<int, int>> passFds;
    std::vector<std::string> environment; ///< added to the fixed whitelist
    std::string workingFolder = "/tmp";
    bool gpu = false;        ///< bind the needed /dev/nvidia*
    bool keepSetuid = false; ///< the zygote: may change its children's uid
    std::uint64_t memoryBytes = 16ull << 30;
    /// Addresses that the program's own libraries take, in bytes: added where memory is limited by
    /// address space, which counts what is only mapped.
    std::uint64_t libraryBytes = 0;
    std::uint64_t tmpBytes = 512ull << 20;
    std::uint64_t fileBytes = 1ull << 30;
    int maxProcesses = 256;
    bool pipeStdout =
        false; ///< stdout and stderr to pipes, for compilers (else to /dev/null unless in passFds)
};

/// The rung of the ladder this machine has, found once by a self-test, with what was proven and
/// what was not.
struct SandboxReport
{
    std::string rung; ///< "bubblewrap", "unsandboxed", or "" when refused
    bool usable = false;
    std::string text; ///< one line for a person, with the fix when not usable
    struct Proof
    {
        std::string name;
        bool held = false;
        std::string detail;
    };
    std::vector<Proof>
        proofs; ///< "network unreachable", "root's files unreadable", "pid limit", ...
};

class CgroupPool;

/// Starts processes inside the sandbox. One per worker. All calls from the thread that lives as
/// long as the worker.
class Sandbox
{
public:
    /// Finds bubblewrap and runs the self-test (about 0.1 s). allowUnsandboxed: the user's explicit
    /// choice.
    static Sandbox detect(bool allowUnsandboxed);
    [[nodiscard]] const SandboxReport& report() const { return m_report; }
    /// Starts the command; killing the returned child's group kills everything in the sandbox's pid
    /// namespace.
    [[nodiscard]] Result<process::Child> start(const SandboxOptions& options) const;
    /// start + capture + deadline, for compilers and tools.
    [[nodiscard]] Result<process::CaptureResult> run(const SandboxOptions& options,
                                                     double timeoutSeconds,
                                                     int cancelFd,
                                                     std::size_t maxOutputBytes) const;
    /// Makes the folder (not what is in it) belong to the user that compilers and tools run as
    /// inside.
    [[nodiscard]] Result<void> giveToTools(const std::filesystem::path& folder) const;
    /// The first of 1024 user ids that are this worker's alone inside its sandboxes: that of
    /// compilers and tools. 0 when the worker is not root and everything runs as its own user.
    [[nodiscard]] unsigned firstUid() const { return m_firstUid; }
    /// The next of the other ids, for one phase of an arm: processes of an earlier one that still
    /// die must not count against its limits. 0 as above.
    [[nodiscard]] unsigned takeUid() const;
    /// False on the rung "unsandboxed": mounts are then not applied, and commands name host paths.
    [[nodiscard]] bool isolated() const { return !m_bwrap.empty(); }

private:
    SandboxReport m_report;
    std::filesystem::path m_bwrap; ///< empty: unsandboxed
    std::shared_ptr<CgroupPool> m_cgroups;
    std::shared_ptr<std::atomic<unsigned>> m_uidsTaken;
    unsigned m_firstUid = 0;
};

} // namespace lathe::worker
