// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "agent_session.h"

#include <algorithm>

namespace lathe::cli {

namespace {

Result<std::vector<session::CandidateRow>>
candidatesOf(Host& host, const TaskId& task, const std::string& run)
{
    auto rows = await<std::vector<session::CandidateRow>>(
        host.loop, [&](session::Callback<std::vector<session::CandidateRow>> done) {
            host.session().candidates(task, std::move(done));
        });
    if (rows)
        std::erase_if(*rows, [&](const session::CandidateRow& row) { return row.runId != run; });
    return rows;
}

ResultPtr bestOf(Host& host, const std::vector<session::CandidateRow>& rows)
{
    const session::CandidateRow* best = nullptr;
    for (const session::CandidateRow& row : rows) {
        if (row.verdict != protocol::Verdict::Correct)
            continue;
        if (best == nullptr
            || (row.best ? row.best->ratio : 0) > (best->best ? best->best->ratio : 0))
            best = &row;
    }
    if (best == nullptr)
        return nullptr;
    auto result = await<ResultPtr>(host.loop, [&](session::Callback<ResultPtr> done) {
        host.session().evaluationOf(best->id, std::move(done));
    });
    return result ? *result : nullptr;
}

} // namespace

Result<AgentOutcome> runAgent(Host& host,
                              const TaskId& task,
                              const session::AgentOptions& options,
                              const std::function<void(const session::TrajectoryItem&)>& onItem)
{
    // Shared with callbacks that may outlive this function when the user gives up waiting.
    auto finished = std::make_shared<std::optional<session::RunRow>>();
    host.onItem = onItem;
    host.onFinished = [finished](const session::RunRow& row) { *finished = row; };
    auto started = await<session::RunRow>(host.loop, [&](session::Callback<session::RunRow> done) {
        host.session().startAgent(task, options, std::move(done));
    });
    if (!started) {
        host.onItem = nullptr;
        return tl::unexpected(started.error());
    }
    host.loop.onInterrupt = [&host, run = started->run] { host.session().stopAgent(run); };
    if (host.loop.interrupted())
        host.session().stopAgent(started->run);
    const bool ended = host.loop.runUntil(
        [&] { return finished->has_value() && (*finished)->run == started->run; });
    host.loop.onInterrupt = nullptr;
    host.onItem = nullptr;
    host.onFinished = nullptr;
    if (!ended)
        return fail(ErrorCode::Cancelled, "Interrupted.");
    AgentOutcome outcome;
    outcome.run = **finished;
    // An interrupted run has made candidates as well.
    if (auto rows = candidatesOf(host, task, outcome.run.run))
        outcome.candidates = std::move(*rows);
    else
        outcome.problem = "The run's candidates cannot be listed: " + rows.error().message;
    outcome.best = bestOf(host, outcome.candidates);
    return outcome;
}

int exitCodeOf(const session::RunRow& run)
{
    if (run.stopReason == "submitted" || run.stopReason.ends_with("_limit"))
        return kCorrect;
    return run.stopReason == "cancelled" ? kInterrupted : kNotCorrect;
}

void printCandidates(const Terminal& terminal, const std::vector<session::CandidateRow>& rows)
{
    Table table({">#", "candidate", "verdict", "against the best baseline", "label"});
    for (const session::CandidateRow& row : rows) {
        const bool good = row.verdict == protocol::Verdict::Correct;
        const std::string verdict =
            row.verdict ? (good ? "✓ " : "✗ ") + std::string(protocol::toString(*row.verdict))
                        : "- not judged";
        table.add({std::to_string(row.number),
                   row.id.text(),
                   verdict,
                   row.best ? ratioText(row.best->ratio, row.best->low, row.best->high) + " "
                                  + row.best->verdict
                            : "",
                   row.label},
                  good          ? Tone::Plain
                  : row.verdict ? Tone::Bad
                                : Tone::Muted);
    }
    table.print(terminal);
}

} // namespace lathe::cli
