// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/intervals.h>
#include <lathe/profile/trace.h>

#include <algorithm>
#include <map>
#include <utility>

namespace lathe::profile {

const char* toString(SpanCategory category)
{
    switch (category) {
    case SpanCategory::Operator:
        return "operator";
    case SpanCategory::Kernel:
        return "kernel";
    case SpanCategory::Memory:
        return "memory";
    case SpanCategory::Runtime:
        return "runtime";
    case SpanCategory::Other:
        break;
    }
    return "other";
}

std::size_t Trace::events() const
{
    std::size_t sum = 0;
    for (const Lane& lane : lanes)
        sum += lane.size();
    return sum;
}

std::vector<NameSummary> Trace::summarise(std::int64_t fromNs, std::int64_t toNs) const
{
    std::map<std::pair<std::uint32_t, SpanCategory>, NameSummary> sums;
    for (const Lane& lane : lanes) {
        for (std::size_t i = 0; i < lane.size(); ++i) {
            const std::int64_t start = lane.startNs[i];
            const std::int64_t end = start + lane.durationNs[i];
            if (start >= toNs)
                break;
            // A span without length counts where it stands; others must share time with the range.
            if (end < fromNs || (end == fromNs && end != start))
                continue;
            const std::int64_t shared = std::min(end, toNs) - std::max(start, fromNs);
            NameSummary& sum = sums[{lane.nameId[i], lane.category[i]}];
            if (sum.count == 0) {
                sum.nameId = lane.nameId[i];
                sum.category = lane.category[i];
                sum.minNs = shared;
                sum.maxNs = shared;
            }
            ++sum.count;
            sum.totalNs += shared;
            sum.minNs = std::min(sum.minNs, shared);
            sum.maxNs = std::max(sum.maxNs, shared);
        }
    }
    std::vector<NameSummary> out;
    out.reserve(sums.size());
    for (const auto& entry : sums)
        out.push_back(entry.second);
    std::stable_sort(out.begin(), out.end(), [](const NameSummary& a, const NameSummary& b) {
        return a.totalNs > b.totalNs;
    });
    return out;
}

std::int64_t Trace::busyNs(SpanCategory category) const
{
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const Lane& lane : lanes)
        for (std::size_t i = 0; i < lane.size(); ++i)
            if (lane.category[i] == category)
                spans.emplace_back(lane.startNs[i], lane.startNs[i] + lane.durationNs[i]);
    return coveredLength(std::move(spans));
}

} // namespace lathe::profile
