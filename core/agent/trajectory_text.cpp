// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/trajectory_text.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace lathe::agent {
namespace {

const char* colorOf(const TrajectoryItem& item)
{
    if (item.kind == "divergence") {
        return "\x1b[33m";
    }
    if (item.status == "failed") {
        return "\x1b[31m";
    }
    if (item.kind == "tool_call") {
        return "\x1b[36m";
    }
    if (item.status == "ok") {
        return "\x1b[32m";
    }
    return item.kind == "thinking" ? "\x1b[2m" : "\x1b[1m";
}

std::string indented(std::string_view text)
{
    std::string out;
    for (const auto& line : splitLines(text)) {
        out += "    " + line + "\n";
    }
    return out;
}

/// "speedup 1.53, verdict correct": the head's plain members.
std::string headLine(const std::string& headJson)
{
    const auto head = parseOrderedJson(headJson);
    std::string out;
    if (!head || !head->is_object()) {
        return out;
    }
    for (const auto& [key, value] : head->items()) {
        if (value.is_primitive() && !value.is_null() && key != "blob" && key != "status") {
            out += (out.empty() ? "" : ", ") + key + " "
                   + (value.is_number_float() ? fmt::format("{:.4g}", value.get<double>())
                      : value.is_string()     ? value.get<std::string>()
                                              : value.dump());
        }
    }
    return out;
}

} // namespace

std::string toText(const TrajectoryItem& item, const TrajectoryTextOptions& options)
{
    const std::string label = item.kind == "assistant_text" ? "model"
                              : item.kind == "tool_call"    ? "->"
                              : item.kind == "tool_result"  ? "<-"
                              : item.kind == "steer"        ? "you"
                                                            : item.kind;
    std::string first = item.step > 0 ? fmt::format("[{}] {}", item.step, label) : label;
    if (!item.title.empty()) {
        first += " " + item.title;
    }
    if (!item.status.empty() && item.kind != "tool_call") {
        first += ": " + item.status;
    }
    if (item.seconds > 0) {
        first += fmt::format(" ({:.1f} s)", item.seconds);
    }
    std::string out = options.color ? colorOf(item) + first + "\x1b[0m\n" : first + "\n";
    if (const auto head = headLine(item.headJson); !head.empty()) {
        out += "    " + head + "\n";
    }
    if (!item.text.empty()) {
        out += indented(options.maxTextBytes == 0 ? item.text
                                                  : headAndTail(item.text, options.maxTextBytes));
    }
    return out;
}

std::string toText(const std::vector<TrajectoryItem>& items, const TrajectoryTextOptions& options)
{
    std::string out;
    for (const auto& item : items) {
        out += toText(item, options);
    }
    return out;
}

} // namespace lathe::agent
