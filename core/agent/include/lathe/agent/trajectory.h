// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace lathe::agent {

/// One line of a trajectory as a person reads it; streamed live and read back from the log alike.
struct TrajectoryItem
{
    std::string run;      ///< RunId
    int step = 0;         ///< model turn it belongs to, from 1
    std::int64_t seq = 0; ///< position in the log
    std::string kind; ///< "run_started", "assistant_text", "thinking", "tool_call", "tool_result",
                      ///< "steer", "stopped", "divergence", "note"
    bool partial = false; ///< live stream: text grows until a non-partial item with the same step
                          ///< and kind comes
    std::string title;    ///< "edit_file kernels/rmsnorm.cpp", "verify"
    std::string text;
    std::string headJson = "{}"; ///< tool head: status, key numbers
    std::string status;          ///< "ok", "failed", "running", ""
    std::string candidate;       ///< CandidateId it made or judged, or empty
    double seconds = 0;
    std::string at; ///< RFC 3339
};

struct AgentBudget
{
    int turns = 0;
    int maxTurns = 0;
    std::int64_t tokens = 0; ///< all prompt and completion tokens of the run so far
    std::int64_t maxTokens = 0;
    std::int64_t contextTokens = 0; ///< of the last request
    std::int64_t maxContextTokens = 0;
    std::optional<double> cost; ///< US dollars; absent when the price is unknown
    std::optional<double> maxCost;
    double seconds = 0;
    double maxSeconds = 0;
};

} // namespace lathe::agent
