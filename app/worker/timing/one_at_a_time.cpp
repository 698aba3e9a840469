// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/worker/one_at_a_time.h>

#include <algorithm>
#include <csignal>
#include <sys/syscall.h>
#include <unistd.h>

namespace lathe::worker {

OneAtATime::OneAtATime(const std::vector<ArmProcess*>& arms)
    : m_arms(arms)
{
    for (ArmProcess* arm : arms) {
        m_processes.push_back(arm->liveProcesses());
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
    auto now = m_arms[arm]->liveProcesses();
    const auto& before = m_processes[arm];
    const auto fresh = std::count_if(now.begin(), now.end(), [&](const LiveProcess& process) {
        return std::none_of(before.begin(), before.end(), [&](const LiveProcess& known) {
            return known.is(process);
        });
    });
    m_processes[arm] = std::move(now);
    if (fresh > 0) {
        stop(arm);
    }
    return static_cast<std::size_t>(fresh);
}

void OneAtATime::signal(std::size_t arm, int number) const
{
    for (const LiveProcess& process : m_processes[arm]) {
        ::syscall(SYS_pidfd_send_signal, process.fd.get(), number, nullptr, 0);
    }
}

} // namespace lathe::worker
