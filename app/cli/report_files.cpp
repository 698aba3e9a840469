// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The files of --export-json, --export-csv and --export-markdown.
#include "output_file.h"
#include "report.h"

#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace lathe::cli {

namespace {

std::string csvCell(const std::string& text)
{
    if (text.find_first_of(",\"\n\r") == std::string::npos)
        return text;
    std::string out = "\"";
    for (const char c : text) {
        out += c;
        if (c == '"')
            out += c;
    }
    return out + "\"";
}

std::string csvOf(const std::vector<ResultPtr>& results)
{
    std::string out = "task,candidate,verdict,tier,variant,protocol,arm,samples,discarded,medianUs,"
                      "lowUs,highUs,p10Us,p90Us,cvPercent\n";
    for (const ResultPtr& result : results) {
        const std::string head =
            fmt::format("{},{},{},{}",
                        csvCell(result->task),
                        result->candidate.text(),
                        result->verdict ? protocol::toString(*result->verdict) : "",
                        protocol::toString(result->tier));
        // A result without timings is a row all the same: failures must not vanish from a
        // spreadsheet.
        if (result->timings.empty())
            out += head + ",,,,,,,,,,,\n";
        for (const protocol::TimingRow& row : result->timings) {
            out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n",
                               head,
                               csvCell(row.variant),
                               row.protocol,
                               csvCell(row.arm),
                               row.samples,
                               row.discarded,
                               row.medianUs,
                               row.lowUs,
                               row.highUs,
                               row.p10Us,
                               row.p90Us,
                               row.cvPercent);
        }
    }
    return out;
}

std::string markdownCell(std::string text)
{
    for (std::size_t at = 0; (at = text.find_first_of("|\n", at)) != std::string::npos; at += 2)
        text.replace(at, 1, text[at] == '|' ? "\\|" : "  ");
    return text;
}

std::string markdownOf(const std::vector<ResultPtr>& results)
{
    std::string out;
    for (const ResultPtr& result : results) {
        out += fmt::format("## {}: {}\n\n",
                           result->task,
                           result->verdict ? protocol::toString(*result->verdict) : "no verdict");
        if (!result->reason.empty())
            out += markdownCell(result->reason) + "\n\n";
        out += fmt::format("Candidate `{}`, {} tier, {}.\n\n",
                           result->candidate.text(),
                           protocol::toString(result->tier),
                           markdownCell(result->done.target.device));
        if (!result->timings.empty()) {
            out += "| variant | protocol | arm | median | 95 % interval | samples "
                   "|\n|---|---|---|---:|---|---:|\n";
            for (const protocol::TimingRow& row : result->timings) {
                out += fmt::format("| {} | {} | {} | {} | {} to {} | {} |\n",
                                   markdownCell(row.variant),
                                   row.protocol,
                                   markdownCell(row.arm),
                                   microsText(row.medianUs),
                                   microsText(row.lowUs),
                                   microsText(row.highUs),
                                   row.samples);
            }
            out += "\n";
        }
        if (!result->comparisons.empty()) {
            out += "| variant | protocol | arm | against | ratio | verdict "
                   "|\n|---|---|---|---|---|---|\n";
            for (const protocol::Comparison& row : result->comparisons) {
                out += fmt::format("| {} | {} | {} | {} | {} | {} |\n",
                                   markdownCell(row.variant),
                                   row.protocol,
                                   markdownCell(row.arm),
                                   markdownCell(row.against),
                                   ratioText(row.ratio, row.low, row.high),
                                   row.verdict);
            }
            out += "\n";
        }
        if (!result->gates.empty()) {
            out += "| gate | status | reason |\n|---|---|---|\n";
            for (const protocol::GateResult& gate : result->gates)
                out += fmt::format("| {} | {} | {} |\n",
                                   markdownCell(gate.name),
                                   protocol::toString(gate.status),
                                   markdownCell(gate.reason));
            out += "\n";
        }
        if (!result->rerun.empty())
            out += "```\n" + result->rerun + "\n```\n\n";
    }
    return out;
}

} // namespace

Result<void> checkExports(const CommonOptions& options)
{
    for (const std::string& path : {options.exportJson, options.exportCsv, options.exportMarkdown})
        if (!path.empty())
            if (auto possible = checkOutputFile(path); !possible)
                return possible;
    return {};
}

Result<void> writeExports(const CommonOptions& options, const std::vector<ResultPtr>& results)
{
    const auto write = [](const std::string& path, const std::string& text) -> Result<void> {
        return path.empty() ? Result<void>{} : writeOutputFile(path, text);
    };
    if (auto done = write(options.exportJson, dumpJson(documentOf(results), 2) + "\n"); !done)
        return done;
    if (auto done = write(options.exportCsv, csvOf(results)); !done)
        return done;
    return write(options.exportMarkdown, markdownOf(results));
}

} // namespace lathe::cli
