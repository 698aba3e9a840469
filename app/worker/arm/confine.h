// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <cstdint>
#include <vector>

namespace lathe::arm {

/// What a phase process gives up before it runs anything of the task's or the candidate's.
struct Confinement
{
    std::int64_t uid = 0; ///< 0: keep
    std::vector<std::int64_t> cores;
    int maxProcesses = 0; ///< 0: as inherited
};

/// The process's own allocator policy, the same in every arm: freed memory is kept, because page
/// faults of fresh mappings would otherwise decide which arm is faster. Called before anything
/// allocates much.
void keepFreedMemory();

/// Puts /dev/null on the standard descriptors that are closed, so that no later file can become one
/// of them.
void reserveStandardFds();

/// Sends the process's stdout and stderr into the pipe.
Result<void> redirectOutput(UniqueFd pipe);

/// Drops uid, groups and privileges for good, dies with its parent, writes no core, runs on the
/// given cores.
Result<void> confineSelf(const Confinement& confinement);

} // namespace lathe::arm
