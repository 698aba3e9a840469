// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host.h"
#include "report.h"

#include <functional>
#include <string>

namespace lathe::cli {

/// What became of an agent run.
struct AgentOutcome
{
    session::RunRow run;
    std::vector<session::CandidateRow> candidates; ///< the ones it made
    std::string problem; ///< why the candidates are not known; empty: they are
    ResultPtr best;      ///< of the fastest correct one; null when there is none
};

/// Runs the agent to its end, handing every item to onItem; Ctrl-C stops it.
Result<AgentOutcome> runAgent(Host& host,
                              const TaskId& task,
                              const session::AgentOptions& options,
                              const std::function<void(const session::TrajectoryItem&)>& onItem);

/// 0 for a run that reached its end, 130 when stopped, 1 otherwise.
int exitCodeOf(const session::RunRow& run);

void printCandidates(const Terminal& terminal, const std::vector<session::CandidateRow>& rows);

} // namespace lathe::cli
