// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cgroup.h"
#include "launch.h"
#include "self_test.h"

#include <lathe/base/text.h>
#include <lathe/worker/sandbox.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
constexpr unsigned kUids = 1024;

fs::path findInPath(const std::string& name)
{
    const char* variable = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe)
    std::string path = variable != nullptr ? variable : "";
    path += ":/usr/bin:/bin";
    for (std::size_t start = 0; start < path.size();) {
        const auto end = std::min(path.find(':', start), path.size());
        const fs::path candidate = fs::path(path.substr(start, end - start)) / name;
        if (candidate.is_absolute() && ::access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
        start = end + 1;
    }
    return {};
}

/// kUids ids nobody else has: random, so that two workers do not share a process limit.
unsigned pickUids()
{
    unsigned random = 0;
    if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
        random = static_cast<unsigned>(::getpid());
    }
    constexpr unsigned kBase = 0x60000000;
    return kBase + (random & 0x3ffffu) * kUids;
}

constexpr const char* kFix =
    "install bubblewrap and util-linux (apt install bubblewrap util-linux) and allow namespaces "
    "(in a container: --security-opt seccomp=unconfined --cap-add SYS_ADMIN), or pass "
    "--allow-unsandboxed to run candidates with your own rights";

std::string failedProofs(const SandboxReport& report)
{
    std::vector<std::string> failed;
    for (const auto& proof : report.proofs) {
        if (!proof.held) {
            failed.push_back(proof.detail.empty() ? proof.name : proof.name + ": " + proof.detail);
        }
    }
    return join(failed, "; ");
}

} // namespace

Sandbox Sandbox::detect(bool allowUnsandboxed)
{
    Sandbox sandbox;
    SandboxReport report;
    sandbox.m_bwrap = findInPath("bwrap");
    bool held = false;
    std::string why = "bubblewrap is not installed";
    if (!sandbox.m_bwrap.empty()) {
        sandbox.m_cgroups = std::make_shared<CgroupPool>();
        sandbox.m_uidsTaken = std::make_shared<std::atomic<unsigned>>(0);
        sandbox.m_firstUid = ::geteuid() == 0 ? pickUids() : 0;
        sandbox.m_report.rung = "bubblewrap"; // so that the probes may start
        sandbox.m_report.usable = true;
        held = runSelfTest(sandbox, sandbox.m_cgroups->limitsMemory(), report);
        why = failedProofs(report);
        if (!held && (sandbox.m_cgroups->limitsMemory() || sandbox.m_cgroups->limitsProcesses())) {
            // Groups that can be made but not entered or limited: rlimits must do, and are proven.
            SandboxReport withoutGroups;
            sandbox.m_cgroups = CgroupPool::none();
            held = runSelfTest(sandbox, false, withoutGroups);
            if (held) {
                withoutGroups.proofs.push_back({"control groups", false, why});
                report = std::move(withoutGroups);
            }
        }
    }
    if (held) {
        report.rung = "bubblewrap";
        report.usable = true;
        report.text = "bubblewrap, "
                      + std::string(sandbox.m_firstUid != 0 ? "own user ids" : "user namespace")
                      + ", "
                      + (sandbox.m_cgroups->limitsMemory() ? sandbox.m_cgroups->describe()
                                                           : "address space limit");
    } else if (allowUnsandboxed) {
        sandbox.m_bwrap.clear();
        sandbox.m_cgroups.reset();
        sandbox.m_firstUid = 0;
        report.rung = "unsandboxed";
        report.usable = true;
        report.text = "UNSANDBOXED by choice: candidates run with your rights (" + why + ")";
    } else {
        report.rung.clear();
        report.usable = false;
        // bubblewrap makes the root's mounts private first.
        const bool noMount = why.find("Failed to make / slave") != std::string::npos;
        report.text =
            "no usable sandbox (" + why + "): "
            + (noMount
                   ? "the root folder is no mount point (a chroot): leave it, run \"mount --bind "
                     "DIR DIR\" on its folder and enter it again"
                   : kFix);
    }
    sandbox.m_report = std::move(report);
    return sandbox;
}

Result<process::Child> Sandbox::start(const SandboxOptions& options) const
{
    if (!m_report.usable) {
        return fail(ErrorCode::Unsupported,
                    "Cannot run the " + options.purpose + ": " + m_report.text);
    }
    process::SpawnOptions spawnOptions;
    spawnOptions.passFds = options.passFds;
    spawnOptions.pipeStdout = options.pipeStdout;
    spawnOptions.pipeStderr = options.pipeStdout;
    spawnOptions.replaceEnvironment = true;
    spawnOptions.environment = sandboxEnvironment(options);
    UniqueFd null;
    if (!options.pipeStdout) {
        null = UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        // First, so that passFds may name 1 and 2 themselves.
        spawnOptions.passFds.insert(spawnOptions.passFds.begin(),
                                    {{null.get(), 1}, {null.get(), 2}});
    }
    CgroupPool::Lease groups;
    if (isolated()) {
        LaunchPlan plan;
        plan.bwrap = m_bwrap;
        plan.root = m_firstUid != 0;
        plan.uid = m_firstUid;
        plan.addressLimit = !m_cgroups->limitsMemory();
        spawnOptions.command = launchCommand(options, plan);
        auto made = m_cgroups->make(options.memoryBytes, options.maxProcesses);
        if (!made) {
            return tl::unexpected(made.error());
        }
        groups = std::move(*made);
        for (const UniqueFd& group : groups.procs) {
            spawnOptions.enterCgroups.push_back(group.get());
        }
    } else {
        spawnOptions.command = bareCommand(options);
        spawnOptions.workingFolder = options.workingFolder;
        for (const Mount& mount : options.mounts) {
            if (mount.inside == options.workingFolder) {
                spawnOptions.workingFolder = mount.host.string();
            }
        }
    }
    auto child = process::spawn(spawnOptions);
    if (!child) {
        return fail(child.error().code,
                    "Cannot start the " + options.purpose + " in the sandbox",
                    child.error().message);
    }
    return child;
}

Result<process::CaptureResult> Sandbox::run(const SandboxOptions& options,
                                            double timeoutSeconds,
                                            int cancelFd,
                                            std::size_t maxOutputBytes) const
{
    SandboxOptions captured = options;
    captured.pipeStdout = true;
    auto child = start(captured);
    if (!child) {
        return tl::unexpected(child.error());
    }
    return process::captureChild(*child, timeoutSeconds, maxOutputBytes, cancelFd);
}

unsigned Sandbox::takeUid() const
{
    return m_firstUid == 0 ? 0 : m_firstUid + 1 + (*m_uidsTaken)++ % (kUids - 1);
}

Result<void> Sandbox::giveToTools(const fs::path& folder) const
{
    if (m_firstUid != 0 && ::chown(folder.c_str(), m_firstUid, m_firstUid) != 0) {
        return fail(ErrorCode::Io,
                    "Cannot give " + folder.string() + " to the sandbox's user",
                    std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    return {};
}

} // namespace lathe::worker
