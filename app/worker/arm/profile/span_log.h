// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/span.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace lathe::arm {

/// Collects spans from any thread while it is active. One per phase process; operator and kernel
/// recording share it.
class SpanLog
{
public:
    [[nodiscard]] bool active() const { return m_active.load(std::memory_order_relaxed); }
    void start();
    /// Stops and hands over what was recorded, by start time.
    std::vector<Span> stop();
    /// Adds a span of the calling thread; ignored while inactive.
    void add(std::string name,
             SpanCategory category,
             std::int64_t startNs,
             std::int64_t endNs,
             bool own = false);

private:
    std::atomic<bool> m_active{false};
    std::mutex m_mutex;
    std::vector<Span> m_spans;
};

/// Seconds covered by at least one span for which own is true.
double busySeconds(const std::vector<Span>& spans);

} // namespace lathe::arm
