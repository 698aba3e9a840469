// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/evaluation/evaluation_result.h>

#include <cstddef>
#include <string>

namespace lathe::cli {

/// Shows a running evaluation on stderr: a line that is rewritten in place on a terminal, one JSON
/// object a line for "ndjson", nothing otherwise.
class Progress
{
public:
    explicit Progress(bool ndjson);
    ~Progress();
    /// Reports what the snapshot has and the one before had not.
    void update(const evaluation::EvaluationResult& snapshot);
    /// Takes the line away; the next update begins a new evaluation.
    void finish();

private:
    void sendNews(const evaluation::EvaluationResult& snapshot);
    bool m_ndjson;
    bool m_terminal;
    bool m_lineShown = false;
    std::string m_evaluation;
    std::string m_stage;
    std::string m_build;
    std::size_t m_gates = 0;
    std::size_t m_timings = 0;
    std::size_t m_comparisons = 0;
    std::size_t m_warnings = 0;
};

} // namespace lathe::cli
