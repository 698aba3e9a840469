// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "trajectory_printer.h"

#include <lathe/agent/trajectory_text.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>

#include <nlohmann/json.hpp>

namespace lathe::cli {

TrajectoryPrinter::TrajectoryPrinter(bool labelled)
    : m_labelled(labelled)
{}

std::string TrajectoryPrinter::label(const agent::TrajectoryItem& item) const
{
    if (!m_labelled)
        return {};
    const bool recorded =
        item.kind == "assistant_text" || item.kind == "thinking" || item.kind == "tool_call";
    return recorded ? m_terminal.styled("recorded │ ", Tone::Muted)
                    : m_terminal.styled("live     │ ", Tone::Good);
}

void TrajectoryPrinter::printPartial(const agent::TrajectoryItem& item)
{
    if (!m_terminal.isTerminal() || item.kind != "assistant_text")
        return;
    if (item.step != m_step || item.kind != m_kind) {
        m_step = item.step;
        m_kind = item.kind;
        m_printed = 0;
        Terminal::raw(label(item));
    }
    if (item.text.size() <= m_printed)
        return;
    for (const char c : std::string_view(item.text).substr(m_printed)) {
        Terminal::raw(std::string_view(&c, 1));
        if (c == '\n')
            Terminal::raw(label(item));
    }
    m_printed = item.text.size();
    std::fflush(stdout);
}

void TrajectoryPrinter::print(const agent::TrajectoryItem& item)
{
    if (item.partial)
        return printPartial(item);
    if (item.step == m_step && item.kind == m_kind
        && m_printed > 0) { // its words are on screen already
        printPartial(item);
        m_step = -1;
        m_printed = 0;
        return Terminal::line();
    }
    agent::TrajectoryTextOptions options;
    if (m_labelled)
        options.maxTextBytes = 1200; // a demonstration is read as it runs by
    options.color = m_terminal.styled("x", Tone::Strong) != "x";
    for (const std::string& line : splitLines(agent::toText(item, options)))
        Terminal::line(label(item) + line);
}

std::string trajectoryJson(const agent::TrajectoryItem& item)
{
    auto head = parseOrderedJson(item.headJson);
    const nlohmann::ordered_json object = {
        {"run", item.run},
        {"step", item.step},
        {"seq", item.seq},
        {"kind", item.kind},
        {"title", item.title},
        {"text", item.text},
        {"head", head ? *head : nlohmann::ordered_json::object()},
        {"status", item.status},
        {"candidate", item.candidate},
        {"seconds", item.seconds},
        {"at", item.at}};
    return dumpJson(object);
}

} // namespace lathe::cli
