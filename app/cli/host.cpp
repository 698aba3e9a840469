// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "host.h"

#include <lathe/candidate/candidate.h>

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace lathe::cli {

Host::Host(Loop& theLoop)
    : loop(theLoop)
{}

Host::~Host() = default;

Result<std::unique_ptr<Host>> Host::open(Loop& loop, const CommonOptions& options, bool startWorker)
{
    auto device = deviceOf(options);
    if (!device)
        return tl::unexpected(device.error());
    session::SessionOptions sessionOptions;
    sessionOptions.workspace = workspaceOf(options);
    sessionOptions.device = *device;
    sessionOptions.startWorker = startWorker;
    sessionOptions.allowUnsandboxed = options.allowUnsandboxed;
    std::unique_ptr<Host> host(new Host(loop));
    auto session = session::Session::open(
        sessionOptions,
        [&loop](std::function<void()> work) { loop.post(std::move(work)); },
        host.get());
    if (!session)
        return tl::unexpected(session.error());
    host->m_session = std::move(*session);
    return host;
}

Result<session::TaskDetail> Host::openTask(const std::string& reference)
{
    return await<session::TaskDetail>(loop, [&](session::Callback<session::TaskDetail> done) {
        m_session->openTask(reference, std::move(done));
    });
}

Result<OpenTask> openTask(Loop& loop, const CommonOptions& options, const std::string& reference)
{
    auto host = Host::open(loop, options);
    if (!host)
        return tl::unexpected(host.error());
    auto task = (*host)->openTask(reference);
    if (!task)
        return tl::unexpected(task.error());
    return OpenTask{std::move(*host), std::move(*task)};
}

Result<CandidateId> Host::addSpec(const TaskId& task,
                                  protocol::CandidateSpec spec,
                                  const std::string& label,
                                  const std::optional<CandidateId>& parent)
{
    session::CandidateDraft draft;
    draft.task = task;
    draft.parent = parent;
    draft.label = label;
    draft.spec = std::move(spec);
    auto row =
        await<session::CandidateRow>(loop, [&](session::Callback<session::CandidateRow> done) {
            m_session->createCandidate(std::move(draft), std::move(done));
        });
    if (!row)
        return tl::unexpected(row.error());
    return row->id;
}

Result<CandidateId> Host::addSolution(const session::TaskDetail& task,
                                      const std::string& solution,
                                      const std::string& format)
{
    std::filesystem::path path(solution);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) {
        const auto& shipped = task.task.solutions;
        const auto named = std::find_if(shipped.begin(), shipped.end(), [&](const auto& p) {
            return p.filename() == solution;
        });
        if (named != shipped.end()) {
            path = *named;
        } else if (auto stored = findCandidate(solution)) {
            if (stored->task == task.row.id)
                return stored->id;
            return fail(ErrorCode::InvalidArgument,
                        "Candidate " + solution + " belongs to another task than "
                            + task.task.spec.key + ".");
        } else if (stored.error().code == ErrorCode::InvalidArgument) {
            return tl::unexpected(stored.error()); // more than one
        } else {
            std::string names;
            for (const auto& p : shipped)
                names += (names.empty() ? "" : ", ") + p.filename().string();
            return fail(
                ErrorCode::NotFound,
                "There is no solution " + solution + ": give a folder, a .py file, a candidate's id"
                    + (names.empty() ? std::string(".") : ", or a shipped one (" + names + ")."));
        }
    }
    auto spec = candidate::loadSolution(path, format);
    if (!spec)
        return tl::unexpected(spec.error());
    const std::filesystem::path whole = std::filesystem::absolute(path, ignored).lexically_normal();
    const std::string label =
        whole.has_filename() ? whole.stem().string() : whole.parent_path().filename().string();
    return addSpec(task.row.id, std::move(*spec), label, std::nullopt);
}

Result<ResultPtr>
Host::runJob(const std::function<session::JobId(session::Callback<ResultPtr>)>& start)
{
    session::JobId job = 0;
    loop.onInterrupt = [&] { m_session->cancel(job); };
    auto result = await<ResultPtr>(
        loop, [&](session::Callback<ResultPtr> done) { job = start(std::move(done)); });
    loop.onInterrupt = nullptr;
    if (loop.interrupted())
        return fail(ErrorCode::Cancelled, "Interrupted: what was running has been ended.");
    return result;
}

Result<ResultPtr> Host::evaluate(const CandidateId& candidate,
                                 const session::EvaluateOptions& options)
{
    return runJob([&](session::Callback<ResultPtr> done) {
        return m_session->evaluate(candidate, options, std::move(done));
    });
}

Result<ResultPtr> Host::baseline(const TaskId& task, const session::EvaluateOptions& options)
{
    return runJob([&](session::Callback<ResultPtr> done) {
        return m_session->baseline(task, options, std::move(done));
    });
}

Result<session::CandidateRow> Host::findCandidate(const std::string& text)
{
    auto tasks = await<std::vector<session::TaskRow>>(
        loop, [&](session::Callback<std::vector<session::TaskRow>> done) {
            m_session->tasks(std::move(done));
        });
    if (!tasks)
        return tl::unexpected(tasks.error());
    const std::size_t hash = text.rfind('#');
    int number = 0;
    if (hash != std::string::npos)
        std::from_chars(text.data() + hash + 1, text.data() + text.size(), number);
    std::vector<session::CandidateRow> found;
    for (const session::TaskRow& task : *tasks) {
        if (task.candidates == 0)
            continue;
        auto rows = await<std::vector<session::CandidateRow>>(
            loop, [&](session::Callback<std::vector<session::CandidateRow>> done) {
                m_session->candidates(task.id, std::move(done));
            });
        if (!rows)
            return tl::unexpected(rows.error());
        const std::string key = text.substr(0, hash);
        for (const session::CandidateRow& row : *rows) {
            const bool byNumber = number > 0 && row.number == number
                                  && (task.key == key || task.key.ends_with("/" + key));
            if (byNumber || (text.size() >= 8 && row.id.text().starts_with(text)))
                found.push_back(row);
        }
    }
    if (found.size() == 1)
        return found.front();
    if (found.empty())
        return fail(ErrorCode::NotFound, "There is no candidate " + text + " in this workspace.");
    return fail(ErrorCode::InvalidArgument,
                text + " names more than one candidate: give more of its id.");
}

session::WorkerStatus Host::awaitWorker(double seconds)
{
    loop.runFor(seconds, [&] {
        return m_worker.state == session::WorkerState::Ready
               || m_worker.state == session::WorkerState::Busy
               || m_worker.state == session::WorkerState::Failed;
    });
    return m_worker;
}

void Host::onWorkerStatus(const session::WorkerStatus& status)
{
    m_worker = status;
}

void Host::onEvaluation(const ResultPtr& snapshot)
{
    if (snapshot && onProgress)
        onProgress(*snapshot);
}

void Host::onTrajectory(const session::TrajectoryItem& item)
{
    if (onItem)
        onItem(item);
}

void Host::onBudget(const std::string&, const session::AgentBudget& budget)
{
    if (onBudgetChanged)
        onBudgetChanged(budget);
}

void Host::onRunFinished(const session::RunRow& row)
{
    if (onFinished)
        onFinished(row);
}

void Host::onProblem(const Error& error)
{
    std::fprintf(stderr, "lathe: %s\n", error.message.c_str());
}

} // namespace lathe::cli
