// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "core_run.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/candidate/candidate.h>
#include <lathe/llm/providers.h>
#include <lathe/session/paths.h>

#include <algorithm>
#include <boost/asio/post.hpp>

namespace lathe::session {

Result<CandidateId> RunHost::keepCandidate(const protocol::CandidateSpec& spec,
                                           const std::optional<CandidateId>& parent,
                                           const std::string& label)
{
    if (parent) {
        const auto row = m_core.m_store->candidate(*parent);
        if (row && row->contentHash == candidate::contentHash(spec)) {
            return *parent;
        }
    }
    const auto row =
        m_core.m_store->addCandidate({m_task, parent, Author::Agent, label, spec}, m_run);
    if (!row) {
        return tl::unexpected(row.error());
    }
    m_core.candidatesChanged(m_task);
    return row->id;
}

evaluation::JobId RunHost::evaluate(const CandidateId& candidate,
                                    protocol::Tier tier,
                                    protocol::Until until,
                                    EvaluationDone done)
{
    EvaluateOptions options;
    options.tier = tier;
    options.until = until;
    const JobId job = CoreState::nextJob();
    m_core.evaluate(job, candidate, options, false, std::move(done));
    return job;
}

void RunHost::cancel(evaluation::JobId job)
{
    m_core.cancel(job);
}

EvaluationPtr RunHost::best()
{
    const auto candidate = m_core.m_store->bestCandidate(m_task);
    if (!candidate || !*candidate) {
        return nullptr;
    }
    const auto kept = m_core.m_store->shownEvaluation(**candidate);
    if (!kept || !*kept) {
        return nullptr;
    }
    auto result = m_core.m_store->loadEvaluation(**kept);
    return result ? std::make_shared<const evaluation::EvaluationResult>(std::move(*result))
                  : nullptr;
}

void RunHost::onItem(const agent::TrajectoryItem& item)
{
    if (const auto it = m_core.m_runs.find(m_run); it != m_core.m_runs.end()) {
        it->second->row.steps = std::max(it->second->row.steps, item.step);
    }
    m_core.m_notifier->observe([item](Observer& observer) { observer.onTrajectory(item); });
}

void RunHost::onBudget(const agent::AgentBudget& budget)
{
    m_core.m_notifier->observe(
        [run = m_run, budget](Observer& observer) { observer.onBudget(run, budget); });
}

void RunHost::onFinished(const std::string& stopReason)
{
    m_core.runFinished(m_run, stopReason);
}

void CoreState::runFinished(const std::string& run, const std::string& stopReason)
{
    const auto it = m_runs.find(run);
    if (it == m_runs.end()) {
        return;
    }
    const auto ended = it->second;
    m_runs.erase(it);
    ended->row.stopReason = stopReason;
    if (const auto done = m_store->finishRun(run, stopReason, ended->row.steps); !done) {
        problem(done.error());
    }
    m_notifier->observe([row = ended->row](Observer& observer) { observer.onRunFinished(row); });
    boost::asio::post(m_io, [ended] {}); // destroyed there: we are inside one of its calls
}

void CoreState::startAgent(const TaskId& task,
                           const AgentOptions& options,
                           const Callback<RunRow>& started)
{
    const auto refuse = [&](const Error& error) {
        m_notifier->answer<RunRow>(started, tl::unexpected(error));
    };
    auto found = taskOf(task);
    if (!found) {
        return refuse(found.error());
    }
    agent::AgentRunOptions run;
    run.run = RunId::fresh();
    run.device = m_options.device;
    run.provider = options.provider;
    run.startCandidate = options.from;
    if (options.from) {
        auto start = m_store->source(*options.from);
        if (!start) {
            return refuse(start.error());
        }
        run.start = std::move(*start);
    } else {
        run.start = candidate::skeleton(found->spec, m_options.device);
    }
    run.task = std::move(*found);
    const auto folder = m_store->folder() / "runs" / run.run.text();
    if (const auto made = makeFolders(folder); !made) {
        return refuse(made.error());
    }
    run.workFolder = folder / "work";
    run.trajectoryFile = folder / "trajectory.jsonl";
    run.blobFolder = folder / "outputs";
    run.promptFolder = resourceFolder() / "prompts";
    if (!options.provider.starts_with("replay:")) {
        run.recordFile = folder / "recording.replay.jsonl";
    }
    run.limits.maxTurns = options.maxTurns;
    run.limits.maxSeconds = options.maxSeconds;
    run.limits.maxCost = options.maxCost;

    const auto entry = std::make_shared<Run>();
    entry->row.run = run.run.text();
    entry->row.task = task;
    entry->row.provider = options.provider;
    entry->row.replay = options.provider.starts_with("replay:");
    entry->row.startedAt = utcNow();
    entry->host = std::make_unique<RunHost>(*this, entry->row.run, task);
    auto created = agent::AgentRun::create(m_io, std::move(run), *entry->host);
    if (!created) {
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
        return refuse(created.error());
    }
    if (const auto added = m_store->addRun(entry->row); !added) {
        return refuse(added.error());
    }
    entry->agent = std::move(*created);
    m_runs[entry->row.run] = entry;
    m_notifier->answer<RunRow>(started, entry->row);
    entry->agent->start();
}

void CoreState::stopAgent(const std::string& run)
{
    if (const auto it = m_runs.find(run); it != m_runs.end()) {
        const auto kept = it->second; // stop() may finish the run while it is on the stack
        kept->agent->stop();
    }
}

void CoreState::steer(const std::string& run, const std::string& message)
{
    if (const auto it = m_runs.find(run); it != m_runs.end()) {
        it->second->agent->steer(message);
    }
}

void CoreState::runs(const TaskId& task, const Callback<std::vector<RunRow>>& done)
{
    auto rows = m_store->runs(task);
    if (rows) {
        for (auto& row : *rows) {
            if (const auto it = m_runs.find(row.run); it != m_runs.end()) {
                row.steps = it->second->row.steps;
            }
        }
    }
    m_notifier->answer(done, std::move(rows));
}

void CoreState::trajectory(const std::string& run,
                           const Callback<std::vector<agent::TrajectoryItem>>& done)
{
    using Items = std::vector<agent::TrajectoryItem>;
    if (!isSafeRelativePath(run)) {
        m_notifier->answer<Items>(done,
                                  fail(ErrorCode::InvalidArgument, "\"" + run + "\" is not a run"));
        return;
    }
    m_notifier->answer<Items>(
        done, agent::readTrajectory(m_store->folder() / "runs" / run / "trajectory.jsonl"));
}

void CoreState::providers(const Callback<std::vector<Session::ProviderRow>>& done)
{
    std::vector<Session::ProviderRow> rows;
    for (const auto& provider :
         llm::listProviders(llm::profilesFile(), {resourceFolder() / "demo"})) {
        rows.push_back({provider.name, provider.title, provider.usable, provider.why});
    }
    m_notifier->answer<std::vector<Session::ProviderRow>>(done, std::move(rows));
}

} // namespace lathe::session
