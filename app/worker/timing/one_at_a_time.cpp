// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/worker/one_at_a_time.h>

#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>

namespace lathe::worker {

OneAtATime::OneAtATime(const std::vector<ArmProcess*>& arms)
    : m_arms(arms)
{
    for (ArmProcess* arm : arms) {
        m_processes.push_back(arm->processFds());
    }
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
        stop(arm);
    }
}

OneAtATime::~OneAtATime()
{
    for (std::size_t arm = 0; arm < m_processes.size(); ++arm) {
        run(arm);
    }
}

void OneAtATime::run(std::size_t arm) const
{
    signal(arm, SIGCONT);
}

void OneAtATime::stop(std::size_t arm) const
{
    signal(arm, SIGSTOP);
}

std::size_t OneAtATime::refresh(std::size_t arm)
{
    auto now = m_arms[arm]->processFds();
    const std::size_t before = m_processes[arm].size();
    if (now.size() <= before) {
        return 0; // one that is gone takes no signal, and none has taken its place unseen
    }
    m_processes[arm] = std::move(now);
    stop(arm);
    return m_processes[arm].size() - before;
}

void OneAtATime::signal(std::size_t arm, int number) const
{
    for (const UniqueFd& process : m_processes[arm]) {
        ::syscall(SYS_pidfd_send_signal, process.get(), number, nullptr, 0);
    }
}

} // namespace lathe::worker
