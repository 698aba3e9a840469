// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace lathe::cli {

Terminal::Terminal()
    : m_terminal(::isatty(STDOUT_FILENO) != 0)
    , m_colour(m_terminal && std::getenv("NO_COLOR") == nullptr) // NOLINT(concurrency-mt-unsafe)
{}

std::string Terminal::styled(std::string_view text, Tone tone) const
{
    const char* code = nullptr;
    switch (tone) {
    case Tone::Good:
        code = "32";
        break;
    case Tone::Bad:
        code = "31";
        break;
    case Tone::Warn:
        code = "33";
        break;
    case Tone::Muted:
        code = "2";
        break;
    case Tone::Strong:
        code = "1";
        break;
    case Tone::Plain:
        break;
    }
    if (!m_colour || code == nullptr || text.empty())
        return std::string(text);
    return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

void Terminal::line(const std::string& text)
{
    raw(text + "\n");
    std::fflush(stdout);
}

void Terminal::raw(std::string_view text)
{
    std::fwrite(text.data(), 1, text.size(), stdout);
}

Table::Table(std::vector<std::string> header)
    : m_header(std::move(header))
{}

void Table::add(std::vector<std::string> cells, Tone tone)
{
    cells.resize(m_header.size());
    m_rows.push_back({std::move(cells), tone});
}

namespace {

/// Code points: every glyph used here is one column wide.
std::size_t columnsOf(const std::string& text)
{
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    }));
}

} // namespace

void Table::print(const Terminal& terminal, int indent) const
{
    std::vector<std::size_t> widths(m_header.size());
    std::vector<bool> right(m_header.size());
    std::vector<std::string> titles = m_header;
    for (std::size_t c = 0; c < titles.size(); ++c) {
        right[c] = titles[c].starts_with('>');
        if (right[c])
            titles[c].erase(0, 1);
        widths[c] = columnsOf(titles[c]);
        for (const Row& row : m_rows)
            widths[c] = std::max(widths[c], columnsOf(row.cells[c]));
    }
    const auto write = [&](const std::vector<std::string>& cells, Tone tone) {
        std::string text(static_cast<std::size_t>(indent), ' ');
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const std::string padding(widths[c] - columnsOf(cells[c]), ' ');
            text += right[c] ? padding + cells[c] : cells[c] + padding;
            if (c + 1 < cells.size())
                text += "  ";
        }
        while (text.ends_with(' '))
            text.pop_back();
        Terminal::line(terminal.styled(text, tone));
    };
    if (std::any_of(titles.begin(), titles.end(), [](const std::string& t) { return !t.empty(); }))
        write(titles, Tone::Muted);
    for (const Row& row : m_rows)
        write(row.cells, row.tone);
}

std::string microsText(double micros)
{
    if (!std::isfinite(micros))
        return "?";
    const auto digits = [](double value) { return value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2; };
    if (micros < 999.5)
        return fmt::format("{:.{}f} µs", micros, digits(micros));
    if (micros < 999.5e3)
        return fmt::format("{:.{}f} ms", micros / 1e3, digits(micros / 1e3));
    return fmt::format("{:.{}f} s", micros / 1e6, digits(micros / 1e6));
}

std::string ratioText(double ratio)
{
    return fmt::format("{:.2f}×", ratio);
}

std::string ratioText(double ratio, double low, double high)
{
    return fmt::format("{:.2f}× [{:.2f}, {:.2f}]", ratio, low, high);
}

} // namespace lathe::cli
