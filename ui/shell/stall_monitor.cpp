// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/ui/shell/stall_monitor.h>

#include <nlohmann/json.hpp>

#include <QMetaObject>

#include <chrono>

namespace lathe::ui {

StallMonitor::StallMonitor(std::filesystem::path report, QObject* parent)
    : QObject(parent)
    , m_report(std::move(report))
    , m_thread([this] { beat(); })
{}

StallMonitor::~StallMonitor()
{
    m_stop = true;
    m_thread.join();
    const nlohmann::json json{
        {"longestMs", longestMs()}, {"samples", m_samples.load()}, {"over50Ms", m_over50Ms.load()}};
    if (const auto written = writeFileAtomic(m_report, dumpJson(json, 2) + "\n"); !written) {
        qWarning("%s", written.error().message.c_str());
    }
}

void StallMonitor::beat()
{
    while (!m_stop) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
        if (m_waiting.exchange(true)) {
            continue;
        }
        const std::int64_t posted = monotonicNs();
        QMetaObject::invokeMethod(
            this,
            [this, posted] {
                const std::int64_t gap = monotonicNs() - posted;
                m_longestNs = std::max(m_longestNs.load(), gap);
                m_over50Ms += gap > 50'000'000 ? 1 : 0;
                ++m_samples;
                m_waiting = false;
            },
            Qt::QueuedConnection);
    }
}

} // namespace lathe::ui
