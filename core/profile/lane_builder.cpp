// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "lane_builder.h"

#include <algorithm>

namespace lathe::profile {

std::uint32_t NameTable::intern(std::string_view name)
{
    if (const auto found = m_ids.find(name); found != m_ids.end())
        return found->second;
    const auto id = static_cast<std::uint32_t>(m_names.size());
    m_names.emplace_back(name);
    m_ids.emplace(m_names.back(), id);
    return id;
}

namespace {

void append(Lane& lane, const RawSpan& span, std::int64_t originNs)
{
    lane.startNs.push_back(span.startNs - originNs);
    lane.durationNs.push_back(span.durationNs);
    lane.nameId.push_back(span.nameId);
    lane.correlation.push_back(span.correlation);
    lane.category.push_back(span.category);
}

/// A span sits below every span that encloses it and, beyond that, on the first sub-lane that is
/// free.
void spread(RawLane& raw, std::int64_t originNs, std::vector<Lane>& out)
{
    std::stable_sort(raw.spans.begin(), raw.spans.end(), [](const RawSpan& a, const RawSpan& b) {
        return a.startNs != b.startNs ? a.startNs < b.startNs : a.durationNs > b.durationNs;
    });
    const std::size_t first = out.size();
    std::vector<std::int64_t> busyUntil;
    for (const RawSpan& span : raw.spans) {
        const std::int64_t end = span.startNs + span.durationNs;
        std::size_t depth = busyUntil.size();
        while (depth > 0 && !(busyUntil[depth - 1] > span.startNs && busyUntil[depth - 1] >= end))
            --depth;
        while (depth < busyUntil.size() && busyUntil[depth] > span.startNs)
            ++depth;
        if (depth == busyUntil.size()) {
            busyUntil.push_back(0);
            Lane lane;
            lane.name = raw.name;
            lane.process = raw.process;
            lane.depth = static_cast<int>(depth);
            out.push_back(std::move(lane));
        }
        busyUntil[depth] = end;
        append(out[first + depth], span, originNs);
    }
}

} // namespace

void buildLanes(std::vector<RawLane> raw, Trace& trace)
{
    std::int64_t first = INT64_MAX;
    std::int64_t last = INT64_MIN;
    for (const RawLane& lane : raw) {
        for (const RawSpan& span : lane.spans) {
            first = std::min(first, span.startNs);
            last = std::max(last, span.startNs + span.durationNs);
        }
    }
    for (RawLane& lane : raw)
        spread(lane, first, trace.lanes);
    trace.spanNs = first <= last ? last - first : 0;
}

} // namespace lathe::profile
