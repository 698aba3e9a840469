// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/span_log.h"

#include <lathe/base/intervals.h>

#include <algorithm>
#include <cstdint>
#include <unistd.h>
#include <utility>

namespace lathe::arm {
namespace {

constexpr std::size_t kMaxSpans = 2'000'000; // a runaway model must not eat the memory

} // namespace

void SpanLog::start()
{
    const std::lock_guard lock(m_mutex);
    m_spans.clear();
    m_spans.reserve(4096);
    m_active.store(true);
}

std::vector<Span> SpanLog::stop()
{
    m_active.store(false);
    const std::lock_guard lock(m_mutex);
    std::stable_sort(m_spans.begin(), m_spans.end(), [](const Span& a, const Span& b) {
        return a.startNs != b.startNs ? a.startNs < b.startNs : a.endNs > b.endNs;
    });
    return std::exchange(m_spans, {});
}

void SpanLog::add(
    std::string name, SpanCategory category, std::int64_t startNs, std::int64_t endNs, bool own)
{
    if (!active())
        return;
    const std::lock_guard lock(m_mutex);
    if (m_spans.size() < kMaxSpans)
        m_spans.push_back({std::move(name), category, startNs, endNs, gettid(), 0, own});
}

double busySeconds(const std::vector<Span>& spans)
{
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (const Span& span : spans)
        if (span.own)
            ranges.emplace_back(span.startNs, span.endNs);
    return static_cast<double>(coveredLength(std::move(ranges))) * 1e-9;
}

} // namespace lathe::arm
