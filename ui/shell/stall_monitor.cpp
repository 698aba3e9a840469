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
namespace {

constexpr std::size_t kMostListed = 100;

} // namespace

StallMonitor::StallMonitor(std::filesystem::path report, QObject* parent)
    : QObject(parent)
    , m_report(std::move(report))
    , m_startNs(monotonicNs())
    , m_thread([this] { beat(); })
{}

StallMonitor::~StallMonitor()
{
    m_stop = true;
    m_thread.join();
    auto list = nlohmann::json::array();
    for (const auto& [atNs, gapNs] : m_long) {
        list.push_back({{"atMs", atNs / 1'000'000}, {"ms", static_cast<double>(gapNs) / 1e6}});
    }
    const nlohmann::json json{{"over50", list},
                              {"longestMs", longestMs()},
                              {"samples", m_samples.load()},
                              {"over50Ms", m_over50Ms.load()}};
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
                if (gap > 50'000'000) {
                    ++m_over50Ms;
                    if (m_long.size() < kMostListed) {
                        m_long.emplace_back(posted - m_startNs, gap);
                    }
                }
                ++m_samples;
                m_waiting = false;
            },
            Qt::QueuedConnection);
    }
}

} // namespace lathe::ui
