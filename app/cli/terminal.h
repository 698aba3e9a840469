// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/evaluation/evaluation_result.h>

#include <string>
#include <string_view>
#include <vector>

namespace lathe::cli {

enum class Tone { Plain, Good, Bad, Warn, Muted, Strong };

/// Text for people on stdout: coloured when it is a terminal and NO_COLOR is not set.
class Terminal
{
public:
    Terminal();
    [[nodiscard]] bool isTerminal() const { return m_terminal; }
    [[nodiscard]] std::string styled(std::string_view text, Tone tone) const;
    static void line(const std::string& text = {});
    static void raw(std::string_view text);

private:
    bool m_terminal = false;
    bool m_colour = false;
};

/// Columns padded to their widest cell; a column is right-aligned when its header begins with '>'.
class Table
{
public:
    explicit Table(std::vector<std::string> header);
    void add(std::vector<std::string> cells, Tone tone = Tone::Plain);
    void print(const Terminal& terminal, int indent = 2) const;

private:
    struct Row
    {
        std::vector<std::string> cells;
        Tone tone;
    };
    std::vector<std::string> m_header;
    std::vector<Row> m_rows;
};

/// "1.78 ms", "12.3 µs".
std::string microsText(double micros);
/// "2.31×".
std::string ratioText(double ratio);
/// "2.31× [2.27, 2.35]".
std::string ratioText(double ratio, double low, double high);

} // namespace lathe::cli
