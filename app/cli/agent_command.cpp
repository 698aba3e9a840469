// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "agent_session.h"
#include "commands.h"
#include "trajectory_printer.h"

#include <lathe/agent/agent_run.h>
#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace lathe::cli {

namespace {

/// "replay:FILE" names the file as seen from here, whatever folder the session works in.
std::string absoluteProvider(const std::string& provider)
{
    constexpr std::string_view kReplay = "replay:";
    if (!provider.starts_with(kReplay))
        return provider;
    std::error_code ignored;
    const std::filesystem::path file(provider.substr(kReplay.size()));
    return std::string(kReplay)
           + (std::filesystem::exists(file, ignored)
                  ? std::filesystem::absolute(file, ignored).string()
                  : file.string());
}

} // namespace

int runAgentTask(const AgentCommandOptions& options)
{
    Loop loop;
    auto opened = openTask(loop, options, options.task);
    if (!opened)
        return reportError(opened.error(), Phase::Input, options.json);
    Host& host = *opened->host;
    const session::TaskDetail& task = opened->task;
    session::AgentOptions agentOptions;
    agentOptions.provider = absoluteProvider(options.provider);
    agentOptions.maxTurns = options.turns;
    agentOptions.maxSeconds = options.maxSeconds;
    agentOptions.maxCost = options.cost;
    if (!options.from.empty()) {
        auto from = host.addSolution(task, options.from, options.format);
        if (!from)
            return reportError(from.error(), Phase::Input, options.json);
        agentOptions.from = *from;
    }
    const bool replay = agentOptions.provider.starts_with("replay:");
    TrajectoryPrinter printer(replay);
    const bool ndjson = options.progress == "ndjson";
    if (replay && !options.json)
        Terminal::line("The model's words are recorded; every tool runs live on this machine.");
    auto outcome =
        runAgent(host, task.row.id, agentOptions, [&](const session::TrajectoryItem& item) {
            if (ndjson && !item.partial)
                std::fputs((trajectoryJson(item) + "\n").c_str(), stderr);
            if (!options.json)
                printer.print(item);
        });
    if (!outcome)
        return reportError(outcome.error(),
                           outcome.error().code == ErrorCode::Cancelled ? Phase::Work
                                                                        : Phase::Input,
                           options.json);
    if (!outcome->problem.empty())
        std::fprintf(stderr, "lathe: %s\n", outcome->problem.c_str());
    if (options.json) {
        nlohmann::ordered_json document = {{"schema", "lathe.agent/1"},
                                           {"run", outcome->run.run},
                                           {"task", task.task.spec.key},
                                           {"provider", outcome->run.provider},
                                           {"replay", outcome->run.replay},
                                           {"stopReason", outcome->run.stopReason},
                                           {"steps", outcome->run.steps},
                                           {"candidates", nlohmann::ordered_json::array()}};
        for (const session::CandidateRow& row : outcome->candidates)
            document["candidates"].push_back(
                {{"id", row.id.text()},
                 {"number", row.number},
                 {"verdict",
                  row.verdict ? nlohmann::ordered_json(protocol::toString(*row.verdict))
                              : nlohmann::ordered_json()}});
        if (outcome->best)
            document["best"] = evaluation::toDocument(*outcome->best);
        Terminal::line(dumpJson(document, 2));
    } else {
        const Terminal terminal;
        Terminal::line(fmt::format("\nrun {}: {} after {} steps",
                                   outcome->run.run,
                                   outcome->run.stopReason,
                                   outcome->run.steps));
        printCandidates(terminal, outcome->candidates);
    }
    return exitCodeOf(outcome->run);
}

int runTrajectoryShow(const TrajectoryOptions& options)
{
    Result<std::vector<agent::TrajectoryItem>> items = fail(ErrorCode::NotFound, "");
    std::error_code ignored;
    if (std::filesystem::is_regular_file(options.run, ignored)) {
        items = agent::readTrajectory(options.run);
    } else {
        Loop loop;
        auto host = Host::open(loop, options, false);
        if (!host)
            return reportError(host.error(), Phase::Input, options.json);
        items = await<std::vector<agent::TrajectoryItem>>(
            loop, [&](session::Callback<std::vector<agent::TrajectoryItem>> done) {
                (*host)->session().trajectory(options.run, std::move(done));
            });
    }
    if (!items)
        return reportError(items.error(), Phase::Input, options.json);
    if (options.json) {
        Terminal::raw("{\"schema\": \"lathe.trajectory.items/1\", \"items\": [");
        for (std::size_t i = 0; i < items->size(); ++i)
            Terminal::raw((i > 0 ? ",\n" : "\n") + trajectoryJson((*items)[i]));
        Terminal::line("\n]}");
        return kCorrect;
    }
    if (items->empty())
        Terminal::line("no step is recorded yet");
    TrajectoryPrinter printer(false);
    for (const agent::TrajectoryItem& item : *items)
        printer.print(item);
    return kCorrect;
}

} // namespace lathe::cli
