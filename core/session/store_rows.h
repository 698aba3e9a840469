// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/evaluation/evaluation_result.h>

#include <optional>
#include <string>

namespace lathe::session {

/// What a list shows of an evaluation without opening its document.
struct EvaluationSummary
{
    std::optional<evaluation::Speedup> best;
    std::optional<evaluation::Speedup> vsParent;
};

std::string writeSummary(const EvaluationSummary& summary);
EvaluationSummary readSummary(const std::string& text);

/// "pid:start time" of this process: whether a run's owner still lives can be told after a reboot,
/// too.
std::string ownerOfThisProcess();
bool ownerIsAlive(const std::string& owner);

} // namespace lathe::session
