// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "agent_session.h"
#include "commands.h"
#include "progress.h"
#include "trajectory_printer.h"

#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::cli {

namespace {

constexpr const char* kDemoTask = "starter/rmsnorm_residual";

/// The shipped recording, usable on this machine.
Result<session::Session::ProviderRow> findRecording(Host& host)
{
    using Rows = std::vector<session::Session::ProviderRow>;
    auto rows = await<Rows>(host.loop, [&](session::Callback<Rows> done) {
        host.session().providers(std::move(done));
    });
    if (!rows)
        return tl::unexpected(rows.error());
    std::string why;
    for (const auto& row : *rows) {
        if (!row.name.starts_with("replay:"))
            continue;
        if (row.usable)
            return row;
        why = row.why;
    }
    return fail(
        ErrorCode::Unsupported,
        "The shipped demonstration recording was not found (LATHE_RESOURCES names the folder).",
        why);
}

} // namespace

int runDemo(CommonOptions options)
{
    if (options.workspace.empty())
        options.workspace = (workspaceOf(options).parent_path() / "demo-workspace").string();
    Loop loop;
    auto host = Host::open(loop, options);
    if (!host)
        return reportError(host.error(), Phase::Input, options.json);
    auto recording = findRecording(**host);
    if (!recording)
        return reportError(recording.error(), Phase::Work, options.json);
    auto task = (*host)->openTask(kDemoTask);
    if (!task)
        return reportError(task.error(), Phase::Work, options.json);
    const Terminal terminal;
    if (!options.json) {
        Terminal::line(terminal.styled("Lathe demonstration: ", Tone::Strong) + task->task.spec.key
                       + ", " + task->task.title);
        Terminal::line("recorded │ what the model says (" + recording->title + ")");
        Terminal::line("live     │ every compile, check and measurement, now, on this machine");
        Terminal::line("workspace " + options.workspace);
    }
    const session::WorkerStatus worker = (*host)->awaitWorker(60);
    if (worker.state == session::WorkerState::Failed)
        return reportError({ErrorCode::Unsupported,
                            "The worker does not start: " + worker.text,
                            "lathe doctor says what is missing."},
                           Phase::Work,
                           options.json);
    if (loop.interrupted())
        return kInterrupted;
    if (!options.json)
        Terminal::line("worker    " + worker.text + "\n");
    Progress progress(options.progress == "ndjson");
    (*host)->onProgress = [&](const evaluation::EvaluationResult& snapshot) {
        progress.update(snapshot);
    };
    TrajectoryPrinter printer(true);
    session::AgentOptions agentOptions;
    agentOptions.provider = recording->name;
    auto outcome =
        runAgent(**host, task->row.id, agentOptions, [&](const session::TrajectoryItem& item) {
            progress.finish();
            if (!options.json)
                printer.print(item);
        });
    progress.finish();
    if (!outcome)
        return reportError(outcome.error(), Phase::Work, options.json);
    if (options.json) {
        nlohmann::ordered_json document = {{"schema", "lathe.demo/1"},
                                           {"recording", recording->name},
                                           {"title", recording->title},
                                           {"run", outcome->run.run},
                                           {"stopReason", outcome->run.stopReason},
                                           {"steps", outcome->run.steps},
                                           {"candidates", outcome->candidates.size()}};
        if (outcome->best)
            document["best"] = evaluation::toDocument(*outcome->best);
        Terminal::line(dumpJson(document, 2));
        return exitCodeOf(outcome->run);
    }
    Terminal::line(
        fmt::format("\nThe run ended: {}. Candidates, judged live:", outcome->run.stopReason));
    printCandidates(terminal, outcome->candidates);
    if (outcome->best) {
        Terminal::line();
        printEvaluation(terminal, *outcome->best, "the best of them");
    }
    Terminal::line(
        "\nNext: lathe eval starter/rmsnorm_residual cpu_fused, lathe gui, lathe --help");
    return exitCodeOf(outcome->run);
}

} // namespace lathe::cli
