// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "loop.h"

#include <lathe/base/clock.h>

#include <algorithm>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <vector>

namespace lathe::cli {

namespace {
constexpr std::int64_t kGraceNs = 3'000'000'000;
}

Loop::Loop()
    : m_wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{
    sigset_t ours;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &ours, &m_before);
    m_signals = UniqueFd(::signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
}

Loop::~Loop() = default;

void Loop::restoreSignals() const
{
    ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
}

void Loop::post(std::function<void()> work)
{
    {
        const std::lock_guard lock(m_mutex);
        m_queue.push_back(std::move(work));
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(m_wake.get(), &one, sizeof one);
}

void Loop::watch(int fd, std::function<void()> onReadable)
{
    m_watched[fd] = std::move(onReadable);
}

void Loop::turn(int timeoutMs)
{
    std::vector<pollfd> fds{{m_wake.get(), POLLIN, 0}, {m_signals.get(), POLLIN, 0}};
    for (const auto& entry : m_watched)
        fds.push_back({entry.first, POLLIN, 0});
    if (::poll(fds.data(), fds.size(), timeoutMs) < 0)
        return;
    if (fds[1].revents != 0) {
        signalfd_siginfo info{};
        while (::read(m_signals.get(), &info, sizeof info) == sizeof info) {
            if (m_interrupts++ == 0) {
                m_interruptedNs = monotonicNs();
                if (onInterrupt)
                    onInterrupt();
            }
        }
    }
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(m_wake.get(), &count, sizeof count);
    std::deque<std::function<void()>> work;
    {
        const std::lock_guard lock(m_mutex);
        work.swap(m_queue);
    }
    for (auto& item : work)
        item();
    for (std::size_t i = 2; i < fds.size(); ++i)
        if (fds[i].revents != 0)
            if (const auto found = m_watched.find(fds[i].fd); found != m_watched.end())
                found->second();
}

bool Loop::run(std::int64_t deadlineNs, const std::function<bool()>& done)
{
    while (!done()) {
        const std::int64_t now = monotonicNs();
        std::int64_t until = deadlineNs;
        if (m_interrupts > 0) {
            if (m_interrupts > 1 || now - m_interruptedNs > kGraceNs)
                return false;
            until = std::min(until, m_interruptedNs + kGraceNs + 1'000'000);
        }
        if (until <= now)
            return false;
        turn(static_cast<int>(std::min<std::int64_t>((until - now) / 1'000'000 + 1, 60'000)));
    }
    return true;
}

bool Loop::runUntil(const std::function<bool()>& done)
{
    return run(INT64_MAX, done);
}

bool Loop::runFor(double seconds, const std::function<bool()>& done)
{
    return run(monotonicNs() + static_cast<std::int64_t>(seconds * 1e9), done);
}

} // namespace lathe::cli
