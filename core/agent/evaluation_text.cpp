// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/evaluation_text.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/profile/trace.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>

namespace lathe::agent {
namespace {

using Json = nlohmann::ordered_json;
using evaluation::EvaluationResult;
using protocol::Until;

/// A prediction within this share of the measurement held.
constexpr double kHeldWithin = 0.1;
constexpr std::size_t kTraceRows = 12;

/// A document of the worker for reading: numbers with four digits.
std::string readable(const std::string& jsonText, std::size_t maxBytes)
{
    auto json = parseOrderedJson(jsonText);
    if (!json) {
        return headAndTail(jsonText, maxBytes);
    }
    const std::function<void(Json&)> round = [&](Json& value) {
        if (value.is_number_float()) {
            value = Json::parse(fmt::format("{:.4g}", value.get<double>()), nullptr, false);
        } else if (value.is_structured()) {
            for (auto& element : value) {
                round(element);
            }
        }
    };
    round(*json);
    return headAndTail(dumpJson(*json), maxBytes);
}

int count(const protocol::BuildReport& build, std::string_view severity)
{
    return static_cast<int>(std::count_if(build.diagnostics.begin(),
                                          build.diagnostics.end(),
                                          [&](const auto& d) { return d.severity == severity; }));
}

std::string buildText(const protocol::BuildReport& build)
{
    std::string out = fmt::format("build: {} in {:.1f} s{}\n",
                                  build.status,
                                  build.seconds,
                                  build.cached ? " (from the cache)" : "");
    for (const auto& d : build.diagnostics) {
        out += fmt::format("{}:{}:{}: {}: {}\n", d.file, d.line, d.column, d.severity, d.message);
    }
    for (const auto& k : build.kernels) {
        out += "kernel " + k.name;
        if (k.registers) {
            out += fmt::format(": {} registers", *k.registers);
        }
        if (k.sharedBytes) {
            out += fmt::format(", {} bytes shared", *k.sharedBytes);
        }
        if (k.spillStoreBytes && k.spillLoadBytes) {
            out += fmt::format(", spills {} + {} bytes", *k.spillStoreBytes, *k.spillLoadBytes);
        }
        out += "\n";
    }
    if (build.status == "failed" && build.diagnostics.empty()) {
        out += headAndTail(build.log, 6000) + "\n";
    }
    return out;
}

std::string gateText(const EvaluationResult& result)
{
    std::string out;
    for (const auto& gate : result.gates) {
        out += fmt::format("gate {}: {}{}\n",
                           gate.name,
                           protocol::toString(gate.status),
                           gate.reason.empty() ? "" : " - " + gate.reason);
        if (gate.status != protocol::GateStatus::Pass && gate.detailJson != "{}") {
            out += "  " + readable(gate.detailJson, 1500) + "\n";
        }
    }
    return out;
}

std::string timingText(const EvaluationResult& result)
{
    std::string out;
    if (!result.timings.empty()) {
        out += "timings, microseconds a call: median [95 % interval]\n";
    }
    for (const auto& row : result.timings) {
        out += fmt::format(
            "  {:<16} {:<14} {:<4} {:10.1f} [{:.1f}, {:.1f}]  p10 {:.1f} p90 {:.1f}  n {}\n",
            row.arm,
            row.variant,
            row.protocol,
            row.medianUs,
            row.lowUs,
            row.highUs,
            row.p10Us,
            row.p90Us,
            row.samples);
    }
    for (const auto& s : result.speedups()) {
        out += fmt::format("against {}: {:.3f}x [{:.3f}, {:.3f}] {}\n",
                           s.against,
                           s.ratio,
                           s.low,
                           s.high,
                           s.verdict);
    }
    if (result.done.aaFloorPercent) {
        out += fmt::format("differences below {:.2f} % are noise on this machine now\n",
                           *result.done.aaFloorPercent);
    }
    if (result.done.limitJson != "{}" && !result.done.limitJson.empty()) {
        out += "speed of light: " + readable(result.done.limitJson, 2500) + "\n";
    }
    return out;
}

std::string traceText(const evaluation::TraceRecord& record)
{
    std::string out =
        fmt::format("trace of {} ({}, {} calls)\n", record.arm, record.variant, record.calls);
    const auto trace = profile::parseChromeTrace(record.chromeJson);
    if (!trace) {
        return out + "  cannot be read: " + trace.error().message + "\n";
    }
    const auto rows = trace->summarise(0, trace->spanNs + 1);
    const double calls = std::max(1, record.calls);
    for (std::size_t i = 0; i < std::min(rows.size(), kTraceRows); ++i) {
        out += fmt::format("  {:<8} {:10.1f} us a call, {:>6.1f} times a call  {}\n",
                           profile::toString(rows[i].category),
                           static_cast<double>(rows[i].totalNs) / 1e3 / calls,
                           static_cast<double>(rows[i].count) / calls,
                           headAndTail(trace->name(rows[i].nameId), 120));
    }
    if (rows.size() > kTraceRows) {
        out += fmt::format("  and {} more names\n", rows.size() - kTraceRows);
    }
    return out;
}

void addSpeed(const EvaluationResult& result, Json& head)
{
    for (const auto& row : result.timings) {
        if (row.arm == "candidate") {
            head["medianUs"][row.variant + (row.protocol == "warm" ? "" : " " + row.protocol)] =
                row.medianUs;
        }
    }
    if (const auto best = result.againstBestBaseline()) {
        head["speedup"] = best->ratio;
        head["low"] = best->low;
        head["high"] = best->high;
        head["against"] = best->against;
        head["speed"] = best->verdict;
    }
}

std::optional<double> against(const EvaluationResult& result, std::string_view arm)
{
    for (const auto& s : result.speedups()) {
        if (s.against == arm) {
            return s.ratio;
        }
    }
    return std::nullopt;
}

} // namespace

ToolResult describe(const EvaluationResult& result, Until until)
{
    ToolResult tool;
    tool.candidate = result.candidate.text();
    Json head;
    if (until == Until::Build) {
        tool.status = result.build.status == "ok"       ? "ok"
                      : result.build.status == "failed" ? "build_failed"
                                                        : "failed";
        tool.success = tool.status == "ok";
        head = {{"status", tool.status},
                {"candidate", tool.candidate},
                {"errors", count(result.build, "error")},
                {"warnings", count(result.build, "warning")},
                {"cached", result.build.cached}};
    } else {
        tool.status = result.verdict ? protocol::toString(*result.verdict) : "failed";
        tool.success = result.verdict == protocol::Verdict::Correct;
        head = {{"status", tool.status},
                {"candidate", tool.candidate},
                {"tier", protocol::toString(result.tier)}};
    }
    if (!result.reason.empty()) {
        head["reason"] = result.reason;
    }
    if (until == Until::Bench || until == Until::Profile) {
        addSpeed(result, head);
    }
    tool.headJson = dumpJson(head);
    tool.text = buildText(result.build) + gateText(result);
    if (until == Until::Bench || until == Until::Profile) {
        tool.text += timingText(result);
    }
    if (until == Until::Profile) {
        for (const auto& record : result.traces) {
            tool.text += traceText(record);
        }
        if (result.done.evidenceJson != "{}" && !result.done.evidenceJson.empty()) {
            tool.text += "evidence: " + readable(result.done.evidenceJson, 3000) + "\n";
        }
    }
    for (const auto& warning : result.warnings) {
        tool.text += "warning: " + warning + "\n";
    }
    if (!tool.success && until != Until::Build && !result.log.empty()) {
        tool.text += "output:\n" + headAndTail(result.log, 8000) + "\n";
    }
    return tool;
}

std::optional<double> measuredRatio(const EvaluationResult& result, const EvaluationResult* before)
{
    if (before == nullptr) {
        const auto best = result.againstBestBaseline();
        return best ? std::optional<double>(best->ratio) : std::nullopt;
    }
    const auto now = against(result, "eager");
    const auto then = against(*before, "eager");
    if (!now || !then || *then <= 0) {
        return std::nullopt;
    }
    return *now / *then;
}

void addExpectation(ToolResult& tool,
                    const Expectation& expectation,
                    std::optional<double> measured)
{
    auto head = parseOrderedJson(tool.headJson);
    if (!head) {
        return;
    }
    Json entry = {{"expected", expectation.ratio}, {"against", expectation.against}};
    if (measured) {
        const bool held = std::abs(*measured / expectation.ratio - 1) <= kHeldWithin;
        entry["measured"] = *measured;
        entry["held"] = held;
        tool.text += fmt::format("prediction: {:.2f}x over {}, measured {:.2f}x: {}\n",
                                 expectation.ratio,
                                 expectation.against,
                                 *measured,
                                 held                            ? "held"
                                 : *measured > expectation.ratio ? "better than predicted"
                                                                 : "worse than predicted");
    } else {
        entry["measured"] = nullptr;
        tool.text += "prediction: not measured\n";
    }
    (*head)["expectation"] = std::move(entry);
    tool.headJson = dumpJson(*head);
}

} // namespace lathe::agent
