// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

namespace lathe::ui {

/// Measures how long the GUI thread's event loop leaves an event waiting: a thread of its own posts
/// one every few milliseconds and notes when it is handled. The report is written when the monitor
/// goes.
class StallMonitor : public QObject
{
    Q_OBJECT
public:
    explicit StallMonitor(std::filesystem::path report, QObject* parent = nullptr);
    ~StallMonitor() override;
    [[nodiscard]] double longestMs() const { return static_cast<double>(m_longestNs.load()) / 1e6; }

private:
    void beat();
    std::filesystem::path m_report;
    std::int64_t m_startNs;
    std::vector<std::pair<std::int64_t, std::int64_t>>
        m_long; ///< when and how long, nanoseconds; GUI thread
    std::atomic<std::int64_t> m_longestNs{0};
    std::atomic<std::int64_t> m_samples{0};
    std::atomic<std::int64_t> m_over50Ms{0};
    std::atomic<bool> m_waiting{false};
    std::atomic<bool> m_stop{false};
    std::thread m_thread;
};

} // namespace lathe::ui
