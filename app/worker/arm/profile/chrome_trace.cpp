// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "profile/chrome_trace.h"

#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <set>

namespace lathe::arm {
namespace {

const char* nameOf(SpanCategory category)
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
    }
    return "operator";
}

std::string quoted(const std::string& text)
{
    return dumpJson(nlohmann::json(text));
}

/// Nanoseconds as microseconds, exactly: a double would lose the last digits of a long uptime.
std::string microseconds(std::int64_t ns)
{
    ns = std::max<std::int64_t>(ns, 0);
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

std::string laneName(std::int64_t lane, int pid)
{
    if (lane >= kStreamLaneBase)
        return fmt::format("stream {}", lane - kStreamLaneBase);
    return lane == pid ? "main thread" : fmt::format("thread {}", lane);
}

} // namespace

std::string toChromeTrace(const std::vector<Span>& spans, const std::string& processName, int pid)
{
    std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    out += fmt::format(
        "{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"tid\":0,\"args\":{{\"name\":{}}}}}",
        pid,
        quoted(processName));
    std::set<std::int64_t> lanes;
    for (const Span& span : spans)
        lanes.insert(span.lane);
    for (const std::int64_t lane : lanes)
        out += fmt::format(",\n{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},"
                           "\"args\":{{\"name\":{}}}}}",
                           pid,
                           lane,
                           quoted(laneName(lane, pid)));
    for (const Span& span : spans) {
        out += fmt::format(",\n{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},"
                           "\"ts\":{},\"dur\":{}",
                           nameOf(span.category),
                           quoted(span.name),
                           pid,
                           span.lane,
                           microseconds(span.startNs),
                           microseconds(span.endNs - span.startNs));
        if (span.correlation != 0)
            out += fmt::format(",\"args\":{{\"correlation\":{}}}", span.correlation);
        out += "}";
    }
    out += "\n]}\n";
    return out;
}

} // namespace lathe::arm
