// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/tool_result.h>
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/protocol/types.h>

#include <optional>

namespace lathe::agent {

/// A prediction of the model about its own change, to be compared with the measurement.
struct Expectation
{
    double ratio = 1;    ///< expected speed of this candidate over the one before
    std::string against; ///< what "the one before" is: a candidate or a baseline arm
};

/// What an evaluation found, as a tool result: status, key numbers, and a text with diagnostics,
/// gates, timings, traces.
ToolResult describe(const evaluation::EvaluationResult& result, protocol::Until until);

/// The measured speed of result over before (both against eager, so that a drift of the machine
/// cancels), or over the best baseline when there is no before; absent when it was not measured.
std::optional<double> measuredRatio(const evaluation::EvaluationResult& result,
                                    const evaluation::EvaluationResult* before);

/// Adds the prediction and its outcome to the head and the text.
void addExpectation(ToolResult& tool,
                    const Expectation& expectation,
                    std::optional<double> measured);

} // namespace lathe::agent
