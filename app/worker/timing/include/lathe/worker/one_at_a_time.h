// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/unique_fd.h>
#include <lathe/worker/arm_host.h>

#include <cstddef>
#include <vector>

namespace lathe::worker {

/// Lets one arm run at a time. After a parallel region the threads of an OpenMP team spin for
/// milliseconds in wait of the next: on the cores where the next arm is measured. All arms are
/// stopped (SIGSTOP) from the start, and run again when this goes. Evaluation thread only.
class OneAtATime
{
public:
    /// The arms are not owned and live longer. What an arm starts later is only stopped once
    /// refresh() has found it.
    explicit OneAtATime(const std::vector<ArmProcess*>& arms);
    ~OneAtATime();
    OneAtATime(const OneAtATime&) = delete;
    OneAtATime& operator=(const OneAtATime&) = delete;

    /// Lets the arm with this index run, or stops it. Two system calls a process.
    void run(std::size_t arm) const;
    void stop(std::size_t arm) const;
    /// Looks for processes that an arm, stopped by now, has started meanwhile, and stops them too.
    /// How many there are that were not there before; those that have ended count for nothing.
    /// About a millisecond.
    std::size_t refresh(std::size_t arm);

private:
    void signal(std::size_t arm, int number) const;

    std::vector<ArmProcess*> m_arms;
    std::vector<std::vector<LiveProcess>> m_processes;
};

} // namespace lathe::worker
