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

/// SQL: number of the evaluation that candidate `c` is shown by. The latest one; but a check
/// without measurement that found the candidate correct does not hide what was measured of it,
/// unless something wrong was found, or the task changed, in between.
inline constexpr const char* kShownEvaluation = R"sql(coalesce(
    (SELECT max(m.seq) FROM evaluations m WHERE m.candidate = c.id AND m.measured = 1 AND m.verdict = 'correct'
        AND NOT EXISTS (SELECT 1 FROM evaluations l WHERE l.candidate = c.id AND l.seq > m.seq
            AND (l.verdict <> 'correct' OR l.task_hash <> m.task_hash))),
    (SELECT max(l.seq) FROM evaluations l WHERE l.candidate = c.id)))sql";

std::string writeSummary(const EvaluationSummary& summary);
EvaluationSummary readSummary(const std::string& text);

/// "pid:start time" of this process: whether a run's owner still lives can be told after a reboot,
/// too.
std::string ownerOfThisProcess();
bool ownerIsAlive(const std::string& owner);

} // namespace lathe::session
