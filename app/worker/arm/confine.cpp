// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "confine.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace lathe::arm {
namespace {

tl::unexpected<Error> failed(const char* what)
{
    return fail(ErrorCode::Internal, std::string(what) + " failed: " + std::strerror(errno));
}

Result<void> limit(__rlimit_resource resource, rlim_t value, const char* what)
{
    const rlimit both{value, value};
    if (setrlimit(resource, &both) != 0)
        return failed(what);
    return {};
}

} // namespace

void keepFreedMemory()
{
    // glibc caps the mmap threshold at 32 MiB, so mappings for single blocks are switched off
    // altogether.
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 64 << 20);
}

void reserveStandardFds()
{
    for (int fd = 0; fd <= 2; ++fd)
        if (fcntl(fd, F_GETFD) < 0)
            open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY); // the lowest free number is fd
}

Result<void> redirectOutput(UniqueFd pipe)
{
    if (dup2(pipe.get(), STDOUT_FILENO) < 0 || dup2(pipe.get(), STDERR_FILENO) < 0)
        return failed("Redirecting the output");
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    if (null > STDERR_FILENO)
        close(null);
    return {};
}

Result<void> confineSelf(const Confinement& confinement)
{
    if (!confinement.cores.empty()) {
        cpu_set_t set;
        CPU_ZERO(&set);
        for (const std::int64_t core : confinement.cores)
            if (core >= 0 && core < CPU_SETSIZE)
                CPU_SET(static_cast<std::size_t>(core), &set);
        if (sched_setaffinity(0, sizeof set, &set) != 0)
            return failed("Pinning to the given cores");
    }
    if (auto done = limit(RLIMIT_CORE, 0, "Forbidding core files"); !done)
        return done;
    if (confinement.maxProcesses > 0)
        if (auto done = limit(
                RLIMIT_NPROC, static_cast<rlim_t>(confinement.maxProcesses), "Limiting processes");
            !done)
            return done;
    if (confinement.uid > 0) {
        const auto uid = static_cast<uid_t>(confinement.uid);
        if (setgroups(0, nullptr) != 0 || setresgid(uid, uid, uid) != 0
            || setresuid(uid, uid, uid) != 0)
            return failed("Changing to the phase's own user id");
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failed("Giving up privileges");
    // The change of uid made it non-dumpable, which would hide its own /proc/self from it. There is
    // no secret here: what matters is that the zygote stays unreadable, and no other phase shares
    // this uid.
    prctl(PR_SET_DUMPABLE, confinement.uid > 0 ? 1 : 0, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0); // after the change of uid, which clears it
    return {};
}

} // namespace lathe::arm
