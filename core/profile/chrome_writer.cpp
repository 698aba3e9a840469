// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>
#include <lathe/profile/trace.h>

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <map>
#include <utility>

namespace lathe::profile {

namespace {

std::string quoted(const std::string& text)
{
    return dumpJson(nlohmann::json(text));
}

std::string micros(std::int64_t ns)
{
    return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

} // namespace

std::string toChromeTrace(const Trace& trace)
{
    std::vector<std::string> names;
    names.reserve(trace.names.size());
    for (const std::string& name : trace.names)
        names.push_back(quoted(name));

    std::string out = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"source\":"
                      + quoted(trace.source) + "},\"traceEvents\":[";
    const char* separator = "\n";
    std::map<std::string, int> processes;
    std::map<std::pair<std::string, std::string>, int> threads;
    for (const Lane& lane : trace.lanes) {
        const auto process =
            processes.try_emplace(lane.process, static_cast<int>(processes.size()) + 1);
        const int pid = process.first->second;
        const auto thread =
            threads.try_emplace({lane.process, lane.name}, static_cast<int>(threads.size()) + 1);
        const int tid = thread.first->second;
        if (process.second && !lane.process.empty()) {
            out += fmt::format(
                "{}{{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":{},\"args\":{{\"name\":{}}}}}",
                std::exchange(separator, ",\n"),
                pid,
                quoted(lane.process));
        }
        if (thread.second) {
            out += fmt::format("{}{{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":{},\"tid\":{},"
                               "\"args\":{{\"name\":{}}}}}",
                               std::exchange(separator, ",\n"),
                               pid,
                               tid,
                               quoted(lane.name));
        }
        for (std::size_t i = 0; i < lane.size(); ++i) {
            out += fmt::format("{}{{\"ph\":\"X\",\"cat\":\"{}\",\"name\":{},\"pid\":{},\"tid\":{},"
                               "\"ts\":{},\"dur\":{}",
                               std::exchange(separator, ",\n"),
                               toString(lane.category[i]),
                               names[lane.nameId[i]],
                               pid,
                               tid,
                               micros(lane.startNs[i]),
                               micros(lane.durationNs[i]));
            if (lane.correlation[i] != 0)
                out += fmt::format(",\"args\":{{\"correlation\":{}}}", lane.correlation[i]);
            out += '}';
        }
    }
    out += "\n]}\n";
    return out;
}

} // namespace lathe::profile
