// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <csignal>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

namespace lathe::cli {

/// The command line's event loop: closures of the core thread, signals and watched descriptors, all
/// on the main thread. Made before any other thread, so that every thread inherits the blocked
/// signals.
class Loop
{
public:
    Loop();
    ~Loop();
    Loop(const Loop&) = delete;
    Loop& operator=(const Loop&) = delete;

    /// Any thread.
    void post(std::function<void()> work);
    /// Calls back whenever the descriptor is readable.
    void watch(int fd, std::function<void()> onReadable);
    /// Runs until done() holds: true. False when interrupted and either a grace of three seconds
    /// has passed or a second interrupt came.
    bool runUntil(const std::function<bool()>& done);
    /// Runs for at most the given time, or until done() holds.
    bool runFor(double seconds, const std::function<bool()>& done);

    [[nodiscard]] bool interrupted() const { return m_interrupts > 0; }
    /// Called once at the first Ctrl-C (or SIGTERM): cancel what runs.
    std::function<void()> onInterrupt;
    /// The signal mask as it was at the start, for exec.
    void restoreSignals() const;

private:
    void turn(int timeoutMs);
    bool run(std::int64_t deadlineNs, const std::function<bool()>& done);

    UniqueFd m_wake;
    UniqueFd m_signals;
    sigset_t m_before{};
    std::mutex m_mutex;
    std::deque<std::function<void()>> m_queue;
    std::map<int, std::function<void()>> m_watched;
    int m_interrupts = 0;
    std::int64_t m_interruptedNs = 0;
};

/// Starts something with a callback and runs the loop until the callback came.
template <class T, class Start>
Result<T> await(Loop& loop, Start&& start)
{
    // Shared, because after an interrupt the callback may still come when nobody waits any more.
    auto answer = std::make_shared<std::optional<Result<T>>>();
    start([answer](Result<T> result) { *answer = std::move(result); });
    if (!loop.runUntil([&] { return answer->has_value(); }))
        return fail(ErrorCode::Cancelled, "Interrupted.");
    return std::move(**answer);
}

} // namespace lathe::cli
