// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "options.h"
#include "output_file.h"
#include "terminal.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/profile/trace.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace lathe::cli {

namespace {

using profile::SpanCategory;
using profile::Trace;

constexpr SpanCategory kCategories[] = {SpanCategory::Operator,
                                        SpanCategory::Kernel,
                                        SpanCategory::Memory,
                                        SpanCategory::Runtime,
                                        SpanCategory::Other};

double micros(std::int64_t ns)
{
    return static_cast<double>(ns) / 1e3;
}

struct DiffRow
{
    std::string name;
    std::int64_t countA = 0, countB = 0, totalA = 0, totalB = 0;
};

/// Names of both, the largest change first.
std::vector<DiffRow> diffOf(const Trace& a, const Trace& b)
{
    std::map<std::string, DiffRow> rows;
    for (const auto& sum : a.summarise(0, a.spanNs + 1)) {
        rows[a.name(sum.nameId)].countA += sum.count;
        rows[a.name(sum.nameId)].totalA += sum.totalNs;
    }
    for (const auto& sum : b.summarise(0, b.spanNs + 1)) {
        rows[b.name(sum.nameId)].countB += sum.count;
        rows[b.name(sum.nameId)].totalB += sum.totalNs;
    }
    std::vector<DiffRow> out;
    for (auto& [name, row] : rows) {
        row.name = name;
        out.push_back(std::move(row));
    }
    std::stable_sort(out.begin(), out.end(), [](const DiffRow& x, const DiffRow& y) {
        return std::abs(x.totalB - x.totalA) > std::abs(y.totalB - y.totalA);
    });
    return out;
}

} // namespace

int runTraceInfo(const TraceOptions& options)
{
    auto trace = profile::readTraceFile(options.first);
    if (!trace)
        return reportError(trace.error(), Phase::Input, options.json);
    const auto sums = trace->summarise(0, trace->spanNs + 1);
    if (options.json) {
        nlohmann::ordered_json document = {{"schema", "lathe.trace/1"},
                                           {"file", options.first},
                                           {"source", trace->source},
                                           {"spans", trace->events()},
                                           {"lanes", trace->lanes.size()},
                                           {"spanUs", micros(trace->spanNs)},
                                           {"repaired", trace->repaired},
                                           {"skipped", trace->skipped}};
        for (const SpanCategory category : kCategories)
            document["busyUs"][toString(category)] = micros(trace->busyNs(category));
        document["names"] = nlohmann::ordered_json::array();
        for (const profile::NameSummary& sum : sums)
            document["names"].push_back({{"name", trace->name(sum.nameId)},
                                         {"category", toString(sum.category)},
                                         {"count", sum.count},
                                         {"totalUs", micros(sum.totalNs)},
                                         {"minUs", micros(sum.minNs)},
                                         {"maxUs", micros(sum.maxNs)}});
        Terminal::line(dumpJson(document, 2));
        return kCorrect;
    }
    const Terminal terminal;
    Terminal::line(fmt::format("{} ({}): {} spans on {} lanes over {}",
                               options.first,
                               trace->source,
                               trace->events(),
                               trace->lanes.size(),
                               microsText(micros(trace->spanNs))));
    if (trace->repaired + trace->skipped > 0)
        Terminal::line(fmt::format("{} events repaired, {} skipped (no span, or unusable)",
                                   trace->repaired,
                                   trace->skipped));
    for (const SpanCategory category : kCategories)
        if (const auto busy = trace->busyNs(category); busy > 0)
            Terminal::line(
                fmt::format("busy with {}: {}", toString(category), microsText(micros(busy))));
    Table table({">count", ">total", ">min", ">max", "category", "name"});
    for (std::size_t i = 0; i < std::min(options.top, sums.size()); ++i)
        table.add({std::to_string(sums[i].count),
                   microsText(micros(sums[i].totalNs)),
                   microsText(micros(sums[i].minNs)),
                   microsText(micros(sums[i].maxNs)),
                   toString(sums[i].category),
                   trace->name(sums[i].nameId)});
    table.print(terminal);
    if (sums.size() > options.top)
        Terminal::line(fmt::format("  and {} more names (--top)", sums.size() - options.top));
    return kCorrect;
}

int runTraceConvert(const TraceOptions& options)
{
    auto trace = profile::readTraceFile(options.first);
    if (!trace)
        return reportError(trace.error(), Phase::Input, options.json);
    const bool native = options.second.ends_with(".ltrc");
    if (!native && !options.second.ends_with(".json"))
        return reportError({ErrorCode::InvalidArgument,
                            "OUT must end with .json (Chrome trace) or .ltrc (Lathe's own).",
                            {}},
                           Phase::Input,
                           options.json);
    if (auto done =
            writeOutputFile(options.second, native ? toNativeTrace(*trace) : toChromeTrace(*trace));
        !done)
        return reportError(done.error(), Phase::Input, options.json);
    if (options.json) {
        const nlohmann::ordered_json document = {{"schema", "lathe.trace.convert/1"},
                                                 {"file", options.second},
                                                 {"spans", trace->events()},
                                                 {"repaired", trace->repaired},
                                                 {"skipped", trace->skipped}};
        Terminal::line(dumpJson(document, 2));
    } else {
        Terminal::line(fmt::format("wrote {}: {} spans", options.second, trace->events()));
    }
    return kCorrect;
}

int runTraceDiff(const TraceOptions& options)
{
    auto a = profile::readTraceFile(options.first);
    if (!a)
        return reportError(a.error(), Phase::Input, options.json);
    auto b = profile::readTraceFile(options.second);
    if (!b)
        return reportError(b.error(), Phase::Input, options.json);
    const auto rows = diffOf(*a, *b);
    if (options.json) {
        nlohmann::ordered_json document = {{"schema", "lathe.trace.diff/1"},
                                           {"first", options.first},
                                           {"second", options.second},
                                           {"spanUs", {micros(a->spanNs), micros(b->spanNs)}},
                                           {"names", nlohmann::ordered_json::array()}};
        for (const DiffRow& row : rows)
            document["names"].push_back({{"name", row.name},
                                         {"count", {row.countA, row.countB}},
                                         {"totalUs", {micros(row.totalA), micros(row.totalB)}}});
        Terminal::line(dumpJson(document, 2));
        return kCorrect;
    }
    const Terminal terminal;
    Terminal::line(
        fmt::format("span {} -> {}", microsText(micros(a->spanNs)), microsText(micros(b->spanNs))));
    Table table({">change", ">first", ">second", "calls", "name"});
    for (std::size_t i = 0; i < std::min(options.top, rows.size()); ++i) {
        const DiffRow& row = rows[i];
        const std::int64_t change = row.totalB - row.totalA;
        table.add({(change < 0 ? "-" : "+") + microsText(micros(std::abs(change))),
                   microsText(micros(row.totalA)),
                   microsText(micros(row.totalB)),
                   fmt::format("{} -> {}", row.countA, row.countB),
                   row.name},
                  change < 0   ? Tone::Good
                  : change > 0 ? Tone::Bad
                               : Tone::Plain);
    }
    table.print(terminal);
    return kCorrect;
}

} // namespace lathe::cli
