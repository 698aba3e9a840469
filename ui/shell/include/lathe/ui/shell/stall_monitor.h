// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <pthread.h>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace lathe::ui {

/// One wait of the event loop and what the GUI thread did meanwhile, all in nanoseconds.
struct Stall
{
    std::int64_t atNs = 0;          ///< since the loop began
    std::int64_t gapNs = 0;         ///< how long an event waited
    std::int64_t cpuNs = 0;         ///< the thread computed
    std::int64_t queuedNs = 0;      ///< it could have, but other processes had the cores
    std::vector<std::string> stack; ///< where it was when the wait had become long, innermost first

    /// "working", "starved" (no core for most of the time) or "blocked" (waited for somebody: the
    /// display, a lock, a disk).
    [[nodiscard]] const char* cause() const;
};

/// Measures how long the GUI thread's event loop leaves an event waiting: a thread of its own posts
/// one every few milliseconds and notes when it is handled. While one waits for long it has the
/// GUI thread note its stack. The report is written when the monitor goes. Made on the GUI thread;
/// one at a time, because it owns a signal (SIGUSR2).
class StallMonitor : public QObject
{
    Q_OBJECT
public:
    explicit StallMonitor(std::filesystem::path report, QObject* parent = nullptr);
    ~StallMonitor() override;
    [[nodiscard]] double longestMs() const { return static_cast<double>(m_longestNs) / 1e6; }

private:
    struct Clocks
    {
        std::int64_t wallNs = 0;
        std::int64_t cpuNs = 0;
        std::int64_t queuedNs = 0;
    };

    void beat();
    void handled(const Clocks& posted);
    [[nodiscard]] Clocks now() const;
    void write() const;

    std::filesystem::path m_report;
    pthread_t m_gui;
    pid_t m_guiId;
    std::int64_t m_madeNs;
    // GUI thread:
    std::vector<Stall> m_long;
    std::int64_t m_longestNs = 0;
    std::int64_t m_longestOwnNs = 0; ///< without the time in which other processes had the cores
    std::int64_t m_samples = 0;
    std::int64_t m_over50Ms = 0;
    std::int64_t m_over50OwnMs = 0;
    // both:
    std::atomic<std::int64_t> m_startNs{0}; ///< the first event that was handled: the loop runs
    std::atomic<std::int64_t> m_waitingSinceNs{0};
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

} // namespace lathe::ui
