// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "core_state.h"

#include <lathe/base/clock.h>
#include <lathe/base/text.h>

#include <boost/asio/post.hpp>

namespace lathe::session {
namespace {

constexpr auto kShowInterval = std::chrono::milliseconds(50);

void applyOptions(protocol::EvaluateRequest& request, const EvaluateOptions& options)
{
    request.tier = options.tier;
    request.until = options.until;
    request.variants = options.variants;
    request.against = options.against;
    request.minSeconds = options.minSeconds;
    request.maxNoisePercent = options.maxNoisePercent;
    request.timeoutSeconds = options.timeoutSeconds;
    request.replaySeed = options.replaySeed;
}

} // namespace

Result<protocol::EvaluateRequest>
CoreState::requestFor(const TaskId& task, const EvaluateOptions& options, std::string* taskHash)
{
    auto found = taskOf(task);
    if (!found) {
        return tl::unexpected(found.error());
    }
    protocol::EvaluateRequest request;
    request.task = std::move(found->spec);
    if (taskHash != nullptr) {
        *taskHash = found->hash;
    }
    const auto colon = m_options.device.find(':');
    request.device = m_options.device.substr(0, colon);
    if (colon != std::string::npos) {
        request.deviceIndex = std::atoi(m_options.device.c_str() + colon + 1);
    }
    applyOptions(request, options);
    return request;
}

/// The candidate, and its parent when that is something else.
Result<void> CoreState::addCandidateTo(protocol::EvaluateRequest& request, const CandidateRow& row)
{
    auto spec = m_store->source(row.id);
    if (!spec) {
        return tl::unexpected(spec.error());
    }
    request.candidate = std::move(*spec);
    if (!row.parent) {
        return {};
    }
    const auto parent = m_store->candidate(*row.parent);
    if (!parent || parent->contentHash == row.contentHash) {
        return {};
    }
    auto parentSpec = m_store->source(*row.parent);
    if (!parentSpec) {
        return tl::unexpected(parentSpec.error());
    }
    request.parent = std::move(*parentSpec);
    return {};
}

std::string CoreState::rerunOf(const protocol::EvaluateRequest& request,
                               const CandidateId& candidate) const
{
    std::string command = candidate.empty() ? "lathe baseline " : "lathe eval ";
    command += shellQuote(request.task.key);
    if (!candidate.empty()) {
        command += " " + candidate.text();
    }
    if (m_options.device != "cpu") {
        command += " --device " + shellQuote(m_options.device);
    }
    command += " --workspace " + shellQuote(m_store->folder().string()) + " --tier "
               + protocol::toString(request.tier);
    if (request.until != protocol::Until::Profile) {
        command += std::string(" --until ") + protocol::toString(request.until);
    }
    for (const auto& variant : request.variants) {
        command += " --variant " + shellQuote(variant);
    }
    if (!request.against.empty()) {
        command += " --against " + shellQuote(join(request.against, ","));
    }
    if (m_options.allowUnsandboxed) {
        command += " --allow-unsandboxed";
    }
    if (request.replaySeed) {
        command += " --replay-seed " + std::to_string(*request.replaySeed);
    }
    return command;
}

void CoreState::evaluate(JobId id,
                         const CandidateId& candidate,
                         const EvaluateOptions& options,
                         bool byPerson,
                         EvaluationDone done)
{
    const auto row = m_store->candidate(candidate);
    if (!row) {
        done(tl::unexpected(row.error()));
        return;
    }
    if (byPerson) {
        supersede(row->task);
    }
    auto job = std::make_shared<Job>();
    auto request = requestFor(row->task, options, &job->taskHash);
    const auto added =
        request ? addCandidateTo(*request, *row) : Result<void>(tl::unexpected(request.error()));
    if (!added) {
        done(tl::unexpected(added.error()));
        return;
    }
    job->id = id;
    job->task = row->task;
    job->candidate = candidate;
    job->byPerson = byPerson;
    job->options = options;
    job->done = std::move(done);
    job->result.parent =
        request->parent ? request->parent->id : (row->parent ? row->parent->text() : std::string());
    job->result.candidateFormat = request->candidate->format;
    startJob(job, std::move(*request));
}

void CoreState::baseline(JobId id,
                         const TaskId& task,
                         const EvaluateOptions& options,
                         EvaluationDone done)
{
    auto job = std::make_shared<Job>();
    auto request = requestFor(task, options, &job->taskHash);
    if (!request) {
        done(tl::unexpected(request.error()));
        return;
    }
    request->method = "baseline";
    job->id = id;
    job->task = task;
    job->options = options;
    job->options.thenFull = false;
    job->done = std::move(done);
    startJob(job, std::move(*request));
}

void CoreState::startJob(const std::shared_ptr<Job>& job, protocol::EvaluateRequest request)
{
    if (!m_workerProblem.empty()) {
        job->done(fail(ErrorCode::Unsupported, m_workerProblem));
        return;
    }
    job->result.id = EvaluationId::fresh();
    job->result.task = request.task.key;
    job->result.candidate = job->candidate;
    job->result.tier = request.tier;
    job->result.replayed = request.replaySeed.has_value();
    job->result.startedAt = utcNow();
    job->result.rerun = rerunOf(request, job->candidate);
    job->result.stage = "waiting for the worker";
    job->showTimer = std::make_shared<boost::asio::steady_timer>(m_io);
    m_jobs[job->id] = job;
    evaluation::JobHandlers handlers;
    handlers.onEvent = [this, job](const protocol::Event& event) {
        job->result.apply(event);
        show(job);
    };
    handlers.onDone = [this, job](const Result<protocol::EvaluateDone>& done) {
        jobDone(job, done);
    };
    job->workerJob = m_worker->start(std::move(request), std::move(handlers));
    showNow(job);
    candidatesChanged(job->task);
    tasksChanged();
}

/// A person's newer evaluation of a task ends the older ones of it; an agent's go on.
void CoreState::supersede(const TaskId& task)
{
    std::vector<JobId> older;
    for (const auto& [id, job] : m_jobs) {
        if (job->byPerson && job->task == task && !job->isExec && !job->candidate.empty()) {
            older.push_back(id);
        }
    }
    for (const JobId id : older) {
        cancel(id);
    }
}

void CoreState::cancel(JobId id)
{
    const auto it = m_jobs.find(id);
    if (it != m_jobs.end()) {
        it->second->options.thenFull = false;
        m_worker->cancel(it->second->workerJob);
    }
    m_following.erase(id);
}

void CoreState::show(const std::shared_ptr<Job>& job)
{
    if (job->showPending) {
        return;
    }
    const auto since = std::chrono::steady_clock::now() - job->lastShown;
    if (since >= kShowInterval) {
        showNow(job);
        return;
    }
    job->showPending = true;
    job->showTimer->expires_after(kShowInterval - since);
    job->showTimer->async_wait([this, job](boost::system::error_code error) {
        if (!error && job->showPending) {
            showNow(job);
        }
    });
}

void CoreState::showNow(const std::shared_ptr<Job>& job)
{
    job->showPending = false;
    job->lastShown = std::chrono::steady_clock::now();
    const auto snapshot = std::make_shared<const evaluation::EvaluationResult>(job->result);
    m_notifier->observe([snapshot](Observer& observer) { observer.onEvaluation(snapshot); });
}

void CoreState::jobDone(const std::shared_ptr<Job>& job, const Result<protocol::EvaluateDone>& done)
{
    m_jobs.erase(job->id);
    job->showPending = false;
    job->showTimer->cancel();
    const EvaluationDone callback = std::move(job->done);
    if (!done) {
        if (callback) {
            callback(tl::unexpected(done.error()));
        }
        if (!m_closing) {
            candidatesChanged(job->task);
            tasksChanged();
        }
        return;
    }
    job->result.finish(*done);
    if (!job->result.replayed && job->result.verdict) {
        if (const auto kept = m_store->addEvaluation(job->result, job->task, job->taskHash);
            !kept) {
            job->result.warnings.push_back("this evaluation is not kept: " + kept.error().message);
            problem(kept.error());
        }
    }
    showNow(job);
    if (callback) {
        callback(std::make_shared<const evaluation::EvaluationResult>(job->result));
    }
    if (job->options.thenFull && job->result.verdict == protocol::Verdict::Correct && !m_closing) {
        followWithFull(job);
    }
    candidatesChanged(job->task);
    tasksChanged();
}

/// Behind a correct quick tier: all variants, all gates. Keeps the job's id, so that cancel reaches
/// it.
void CoreState::followWithFull(const std::shared_ptr<Job>& job)
{
    EvaluateOptions options = job->options;
    options.thenFull = false;
    options.tier = protocol::Tier::Full;
    options.variants.clear();
    options.onFull = nullptr;
    auto done = [this, onFull = job->options.onFull](Result<EvaluationPtr> result) {
        if (onFull) {
            m_notifier->answer<EvaluationPtr>(onFull, std::move(result));
        } else if (!result && result.error().code != ErrorCode::Cancelled) {
            problem(result.error());
        }
    };
    m_following.insert(job->id);
    boost::asio::post(
        m_io, [this, id = job->id, candidate = job->candidate, task = job->task, options, done] {
            if (m_following.erase(id) == 0) {
                done(fail(ErrorCode::Cancelled, "the evaluation was stopped"));
            } else if (isRunning(task)) {
                const Error error{ErrorCode::Cancelled,
                                  "the full tier was not started: another evaluation of the task "
                                  "was running; run the candidate again for it",
                                  {}};
                problem(error);
                done(tl::unexpected(error));
            } else {
                evaluate(id, candidate, options, true, done);
            }
        });
}

void CoreState::exec(JobId id,
                     const CandidateId& candidate,
                     std::vector<std::string> command,
                     const EvaluateOptions& options,
                     std::function<void(std::string)> onOutput,
                     const Callback<int>& done)
{
    const auto refuse = [&](const Error& error) {
        m_notifier->answer<int>(done, tl::unexpected(error));
    };
    const auto row = m_store->candidate(candidate);
    if (!row) {
        return refuse(row.error());
    }
    if (command.empty() || !m_workerProblem.empty()) {
        return refuse(
            {command.empty() ? ErrorCode::InvalidArgument : ErrorCode::Unsupported,
             command.empty() ? "no tool named; say which program to run" : m_workerProblem,
             {}});
    }
    auto request = requestFor(row->task, options, nullptr);
    const auto added =
        request ? addCandidateTo(*request, *row) : Result<void>(tl::unexpected(request.error()));
    if (!added) {
        return refuse(added.error());
    }
    auto job = std::make_shared<Job>();
    job->id = id;
    job->task = row->task;
    job->candidate = candidate;
    job->isExec = true;
    m_jobs[id] = job;
    evaluation::JobHandlers handlers;
    handlers.onEvent = [this, onOutput = std::move(onOutput)](const protocol::Event& event) {
        const auto* log = std::get_if<protocol::LogEvent>(&event);
        if (log != nullptr && onOutput) {
            m_notifier->run([onOutput, text = log->text] { onOutput(text); });
        }
    };
    handlers.onDone = [this, id, done](const Result<protocol::EvaluateDone>& result) {
        m_jobs.erase(id);
        m_notifier->answer<int>(
            done, result ? Result<int>(result->exitCode) : tl::unexpected(result.error()));
    };
    protocol::ExecRequest what;
    what.what = std::move(*request);
    what.command = std::move(command);
    job->workerJob = m_worker->exec(std::move(what), std::move(handlers));
}

void CoreState::prepare(const TaskId& task)
{
    m_prepared = task;
    m_openTasks.insert(task);
    sendPrepare();
}

void CoreState::sendPrepare()
{
    if (m_prepared.empty() || !m_worker) {
        return;
    }
    auto request = requestFor(m_prepared, {}, nullptr);
    if (!request) {
        problem(request.error());
        return;
    }
    request->method = "prepare";
    m_worker->prepare(std::move(*request));
}

} // namespace lathe::session
