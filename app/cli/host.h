// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loop.h"
#include "options.h"

#include <lathe/session/session.h>

#include <functional>
#include <memory>
#include <string>

namespace lathe::cli {

using ResultPtr = std::shared_ptr<const evaluation::EvaluationResult>;

/// One open session and the loop its callbacks arrive on. Main thread.
class Host : public session::Observer
{
public:
    static Result<std::unique_ptr<Host>>
    open(Loop& loop, const CommonOptions& options, bool startWorker = true);
    ~Host() override;

    Loop& loop;
    session::Session& session() { return *m_session; }

    Result<session::TaskDetail> openTask(const std::string& reference);
    /// Enters a solution from disk, a shipped solution of the task by its name, or a stored
    /// candidate by its id.
    Result<CandidateId> addSolution(const session::TaskDetail& task,
                                    const std::string& solution,
                                    const std::string& format);
    Result<CandidateId> addSpec(const TaskId& task,
                                protocol::CandidateSpec spec,
                                const std::string& label,
                                const std::optional<CandidateId>& parent);
    /// Evaluates to the end; Ctrl-C cancels.
    Result<ResultPtr> evaluate(const CandidateId& candidate,
                               const session::EvaluateOptions& options);
    Result<ResultPtr> baseline(const TaskId& task, const session::EvaluateOptions& options);
    /// A stored candidate by id, unambiguous beginning of one, or "TASK#NUMBER".
    Result<session::CandidateRow> findCandidate(const std::string& text);
    /// Waits until the worker is ready or has failed.
    session::WorkerStatus awaitWorker(double seconds);

    std::function<void(const evaluation::EvaluationResult&)> onProgress;
    std::function<void(const session::TrajectoryItem&)> onItem;
    std::function<void(const session::AgentBudget&)> onBudgetChanged;
    std::function<void(const session::RunRow&)> onFinished;

    void onWorkerStatus(const session::WorkerStatus& status) override;
    void onEvaluation(const ResultPtr& snapshot) override;
    void onTrajectory(const session::TrajectoryItem& item) override;
    void onBudget(const std::string& run, const session::AgentBudget& budget) override;
    void onRunFinished(const session::RunRow& row) override;
    void onProblem(const Error& error) override;

private:
    explicit Host(Loop& theLoop);
    Result<ResultPtr>
    runJob(const std::function<session::JobId(session::Callback<ResultPtr>)>& start);
    session::WorkerStatus m_worker;
    std::unique_ptr<session::Session> m_session;
};

/// What the commands that work on a task begin with.
struct OpenTask
{
    std::unique_ptr<Host> host;
    session::TaskDetail task;
};
Result<OpenTask> openTask(Loop& loop, const CommonOptions& options, const std::string& reference);

} // namespace lathe::cli
