// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <vector>

namespace lathe::worker {

/// One live process below a root, as /proc shows it to us.
struct TreeProcess
{
    pid_t pid = 0;
    pid_t parent = 0;
    pid_t innerPid = 0;    ///< its number in its own pid namespace
    unsigned uid = 0;      ///< effective
    double cpuSeconds = 0; ///< with its reaped children's
    std::uint64_t residentBytes = 0;
    /// When it started, in clock ticks since boot: with pid, this is the same process.
    std::uint64_t startTicks = 0;
};

/// The root (when it lives) and all its descendants, parents before children.
std::vector<TreeProcess> processesBelow(pid_t root);

/// The members of tree that are descendants of pid, and itself.
std::vector<TreeProcess> subtree(const std::vector<TreeProcess>& tree, pid_t pid);

} // namespace lathe::worker
