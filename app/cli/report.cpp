// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace lathe::cli {

namespace {

using evaluation::EvaluationResult;
using protocol::GateStatus;
using protocol::Verdict;

std::string plural(std::size_t count, const char* noun)
{
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string heading(const Terminal& terminal, const EvaluationResult& result)
{
    if (!result.verdict)
        return terminal.styled(result.finished ? "· no verdict" : "· unfinished", Tone::Warn);
    if (*result.verdict == Verdict::Correct)
        return terminal.styled("✓ correct", Tone::Good);
    std::string name = protocol::toString(*result.verdict);
    std::replace(name.begin(), name.end(), '_', ' ');
    return terminal.styled("✗ " + name, Tone::Bad);
}

void printDiagnostics(const Terminal& terminal, const EvaluationResult& result)
{
    for (const protocol::Diagnostic& d : result.build.diagnostics) {
        if (d.severity == "note" && result.build.status == "ok")
            continue;
        const std::string place =
            d.line > 0 ? fmt::format("{}:{}:{}", d.file, d.line, std::max(d.column, 1)) : d.file;
        const Tone tone = d.severity == "error"     ? Tone::Bad
                          : d.severity == "warning" ? Tone::Warn
                                                    : Tone::Muted;
        Terminal::line(
            fmt::format("  {}: {} {}", place, terminal.styled(d.severity + ":", tone), d.message));
    }
}

void printGates(const Terminal& terminal, const EvaluationResult& result)
{
    std::array<std::size_t, 4> counts{};
    for (const protocol::GateResult& gate : result.gates)
        ++counts[static_cast<std::size_t>(gate.status)];
    if (result.gates.empty())
        return;
    const auto count = [&](GateStatus status) { return counts[static_cast<std::size_t>(status)]; };
    Terminal::line(terminal.styled(fmt::format("gates: {} passed, {} failed, {} warned, {} skipped",
                                               count(GateStatus::Pass),
                                               count(GateStatus::Fail),
                                               count(GateStatus::Warn),
                                               count(GateStatus::Skip)),
                                   Tone::Strong));
    Table table({"", "", ""});
    for (const protocol::GateResult& gate : result.gates) {
        switch (gate.status) {
        case GateStatus::Pass:
            table.add({"✓", gate.name, gate.reason});
            break;
        case GateStatus::Fail:
            table.add({"✗", gate.name, gate.reason}, Tone::Bad);
            break;
        case GateStatus::Warn:
            table.add({"!", gate.name, gate.reason}, Tone::Warn);
            break;
        case GateStatus::Skip:
            table.add({"-", gate.name, gate.reason}, Tone::Muted);
            break;
        }
    }
    table.print(terminal);
}

void printTimings(const Terminal& terminal, const EvaluationResult& result)
{
    if (!result.timings.empty()) {
        Terminal::line(terminal.styled("timings", Tone::Strong)
                       + terminal.styled("  median of a call with its 95 % interval", Tone::Muted));
        Table table({"variant", "protocol", "arm", ">median", "interval", ">samples", ">cv %"});
        for (const protocol::TimingRow& row : result.timings) {
            table.add({row.variant,
                       row.protocol,
                       row.arm,
                       microsText(row.medianUs),
                       fmt::format("[{}, {}]", microsText(row.lowUs), microsText(row.highUs)),
                       std::to_string(row.samples),
                       fmt::format("{:.1f}", row.cvPercent)});
        }
        table.print(terminal);
    }
    if (!result.comparisons.empty()) {
        Terminal::line(terminal.styled("comparisons", Tone::Strong)
                       + terminal.styled("  above 1: the arm is faster", Tone::Muted));
        Table table({"variant", "protocol", "arm", "against", "ratio", "verdict"});
        for (const protocol::Comparison& row : result.comparisons) {
            const Tone tone = row.verdict == "faster"   ? Tone::Good
                              : row.verdict == "slower" ? Tone::Bad
                                                        : Tone::Plain;
            table.add({row.variant,
                       row.protocol,
                       row.arm,
                       row.against,
                       ratioText(row.ratio, row.low, row.high),
                       row.verdict},
                      tone);
        }
        table.print(terminal);
    }
    for (const evaluation::Speedup& speedup : result.speedups()) {
        Terminal::line(fmt::format("against {}: {} {}, over {}{} variant{}",
                                   speedup.against,
                                   ratioText(speedup.ratio, speedup.low, speedup.high),
                                   speedup.verdict,
                                   speedup.complete ? "" : "only ",
                                   speedup.variants,
                                   speedup.variants == 1 ? "" : "s"));
    }
    if (!result.done.untimed.empty())
        Terminal::line(
            fmt::format("not timed, so provisional: {}", fmt::join(result.done.untimed, ", ")));
    if (result.done.aaFloorPercent)
        Terminal::line(fmt::format("A/A floor: {:.2f} % (differences below it mean nothing)",
                                   *result.done.aaFloorPercent));
}

} // namespace

std::string evaluationLine(const Terminal& terminal, const EvaluationResult& result)
{
    std::string line = heading(terminal, result);
    if (const auto best = result.againstBestBaseline(); best && result.verdict == Verdict::Correct)
        line += fmt::format("  {} against {}: {}",
                            ratioText(best->ratio, best->low, best->high),
                            best->against,
                            best->verdict);
    else if (!result.reason.empty())
        line += "  " + result.reason;
    return line;
}

void printEvaluation(const Terminal& terminal,
                     const EvaluationResult& result,
                     const std::string& label)
{
    Terminal::line(evaluationLine(terminal, result));
    std::string about = result.task;
    if (!label.empty())
        about += ", " + label;
    if (!result.candidate.empty())
        about += ", candidate " + result.candidate.text();
    about += fmt::format(", {} tier", protocol::toString(result.tier));
    Terminal::line(terminal.styled(about, Tone::Muted));
    if (!result.done.target.device.empty())
        Terminal::line(terminal.styled(
            result.done.target.device + ", sandbox " + result.done.target.sandbox, Tone::Muted));
    if (result.build.status != "skipped") {
        Terminal::line(fmt::format("build: {} in {:.1f} s{}{}",
                                   result.build.status,
                                   result.build.seconds,
                                   result.build.cached ? ", from the cache" : "",
                                   result.build.kernels.empty()
                                       ? ""
                                       : ", " + plural(result.build.kernels.size(), "kernel")));
    }
    printDiagnostics(terminal, result);
    printGates(terminal, result);
    printTimings(terminal, result);
    for (const std::string& warning : result.warnings)
        Terminal::line(terminal.styled("! " + warning, Tone::Warn));
}

nlohmann::ordered_json documentOf(const std::vector<ResultPtr>& results)
{
    if (results.size() == 1)
        return evaluation::toDocument(*results.front());
    nlohmann::ordered_json document = {{"schema", "lathe.eval/1"},
                                       {"results", nlohmann::ordered_json::array()}};
    for (const ResultPtr& result : results)
        document["results"].push_back(evaluation::toDocument(*result));
    return document;
}

int exitCodeOf(const EvaluationResult& result, const CommonOptions& options)
{
    if (!result.verdict) {
        if (options.until == "build" && result.build.status != "skipped")
            return result.build.status == "ok" ? kCorrect : kNotCorrect;
        return kInternal;
    }
    if (*result.verdict == Verdict::Refused)
        return kMachine;
    if (*result.verdict != Verdict::Correct)
        return kNotCorrect;
    if (options.acceptIf == "faster") {
        const auto best = result.againstBestBaseline();
        if (!best || best->verdict != "faster")
            return kNotAccepted;
    }
    return kCorrect;
}

int worseExit(int a, int b)
{
    constexpr std::array kOrder = {int(kCorrect),
                                   int(kNotAccepted),
                                   int(kNotCorrect),
                                   int(kMachine),
                                   int(kUsage),
                                   int(kInternal),
                                   int(kInterrupted)};
    const auto rank = [&](int code) {
        return std::find(kOrder.begin(), kOrder.end(), code) - kOrder.begin();
    };
    return rank(a) >= rank(b) ? a : b;
}

} // namespace lathe::cli
