// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/stats/stats.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace lathe::evaluation {
namespace {

constexpr std::size_t kMaxLogBytes = 1u << 20;

void appendLog(std::string& log, const std::string& text)
{
    if (text.empty() || log.size() >= kMaxLogBytes) {
        return;
    }
    log.append(text, 0, std::min(text.size(), kMaxLogBytes - log.size()));
    if (log.back() != '\n') {
        log.push_back('\n');
    }
}

/// Replaces an earlier entry with the same key, so that a re-sent row (more samples) supersedes the
/// first.
template <class T, class Same>
void upsert(std::vector<T>& rows, const T& row, Same same)
{
    const auto it =
        std::find_if(rows.begin(), rows.end(), [&](const T& other) { return same(other, row); });
    if (it == rows.end()) {
        rows.push_back(row);
    } else {
        *it = row;
    }
}

struct Apply
{
    EvaluationResult& result;

    void operator()(const protocol::StageEvent& event) const
    {
        result.stage = event.text.empty() ? event.stage : event.text;
    }
    void operator()(const protocol::BuildEvent& event) const
    {
        result.build = event.report;
        appendLog(result.log, event.report.log);
    }
    void operator()(const protocol::GateEvent& event) const { result.gates.push_back(event.gate); }
    void operator()(const protocol::TimingEvent& event) const
    {
        upsert(result.timings, event.row, [](const auto& a, const auto& b) {
            return a.arm == b.arm && a.variant == b.variant && a.protocol == b.protocol;
        });
    }
    void operator()(const protocol::ComparisonEvent& event) const
    {
        upsert(result.comparisons, event.comparison, [](const auto& a, const auto& b) {
            return a.arm == b.arm && a.against == b.against && a.variant == b.variant
                   && a.protocol == b.protocol;
        });
    }
    void operator()(const protocol::TraceEvent& event) const
    {
        const TraceRecord record{event.arm, event.variant, event.calls, event.chromeJson};
        upsert(result.traces, record, [](const auto& a, const auto& b) {
            return a.arm == b.arm && a.variant == b.variant;
        });
    }
    void operator()(const protocol::LogEvent& event) const { appendLog(result.log, event.text); }
    void operator()(const protocol::WarningEvent& event) const
    {
        result.warnings.push_back(event.text);
    }
};

Speedup meanOf(const std::string& against,
               const std::vector<const protocol::Comparison*>& rows,
               std::size_t timedVariants,
               double margin)
{
    std::vector<stats::Interval> ratios;
    for (const auto* row : rows) {
        ratios.push_back({row->ratio, row->low, row->high});
    }
    const stats::Interval mean = stats::combineRatios(ratios);
    // One variant keeps the verdict that the worker measured; several are judged by the mean's
    // interval, with the worker's own margin.
    const std::string verdict =
        rows.size() == 1 ? rows.front()->verdict : stats::verdict(mean, margin);
    return {against,
            mean.estimate,
            mean.low,
            mean.high,
            verdict,
            static_cast<int>(rows.size()),
            rows.size() >= timedVariants};
}

bool usable(const protocol::Comparison& row)
{
    return row.arm == "candidate" && row.against != "aa" && row.ratio > 0 && row.low > 0
           && row.high > 0 && std::isfinite(row.ratio) && std::isfinite(row.low)
           && std::isfinite(row.high);
}

} // namespace

void EvaluationResult::apply(const protocol::Event& event)
{
    std::visit(Apply{*this}, event);
}

void EvaluationResult::finish(const protocol::EvaluateDone& summary)
{
    done = summary;
    verdict = summary.verdict;
    reason = summary.reason;
    finished = true;
    stage.clear();
}

void EvaluationResult::fail(const Error& error)
{
    finished = false;
    verdict.reset();
    reason = error.message;
    warnings.push_back(error.message);
    appendLog(log, error.detail);
    stage.clear();
}

std::vector<Speedup> EvaluationResult::speedups() const
{
    // Protocols are never mixed in one mean: per arm the warm rows where there are any, else the
    // cold ones.
    std::map<std::string, std::vector<const protocol::Comparison*>> warm;
    std::map<std::string, std::vector<const protocol::Comparison*>> cold;
    for (const auto& row : comparisons) {
        if (usable(row)) {
            (row.protocol == "cold" ? cold : warm)[row.against].push_back(&row);
        }
    }
    for (auto& [against, rows] : cold) {
        warm.try_emplace(against, std::move(rows));
    }
    constexpr double kLeastMargin = 0.01;
    const double margin = std::max(kLeastMargin, done.aaFloorPercent.value_or(0.0) / 100);
    // An arm that fell out of some variants has a mean over others than the rest: it does not rank
    // beside them.
    std::size_t timedVariants = 0;
    for (const auto& [against, rows] : warm) {
        timedVariants = std::max(timedVariants, rows.size());
    }
    std::vector<Speedup> all;
    for (const auto& [against, rows] : warm) {
        all.push_back(meanOf(against, rows, timedVariants, margin));
    }
    std::stable_sort(all.begin(), all.end(), [](const Speedup& a, const Speedup& b) {
        return a.complete != b.complete ? a.complete : a.ratio < b.ratio;
    });
    return all;
}

std::optional<Speedup> EvaluationResult::againstBestBaseline() const
{
    for (const auto& speedup : speedups()) {
        if (speedup.against != "parent") {
            return speedup;
        }
    }
    return std::nullopt;
}

bool EvaluationResult::provisional() const
{
    return tier != protocol::Tier::Accept || !done.untimed.empty();
}

std::string EvaluationResult::provisionalBecause() const
{
    if (tier != protocol::Tier::Accept) {
        return std::string("the ") + protocol::toString(tier)
               + " tier measured it: run the accept tier";
    }
    if (done.untimed.empty()) {
        return {};
    }
    std::string names;
    for (const std::string& name : done.untimed) {
        names += (names.empty() ? "" : ", ") + name;
    }
    return "not timed: " + names
           + " (not chosen, declined by the candidate, or no time was left): run the accept tier "
             "over all variants with a candidate that supports them";
}

int EvaluationResult::reward() const
{
    double eager = 0; // an arm that was not measured was not beaten
    double compiled = 0;
    for (const auto& speedup : speedups()) {
        if (!speedup.complete) {
            continue;
        }
        if (speedup.against == "eager") {
            eager = speedup.ratio;
        } else if (speedup.against.starts_with(
                       "compile")) { // sorted: the first is the fastest mode
            compiled = compiled == 0 ? speedup.ratio : compiled;
        }
    }
    return stats::milestoneReward(verdict == protocol::Verdict::Correct, eager, compiled);
}

} // namespace lathe::evaluation
