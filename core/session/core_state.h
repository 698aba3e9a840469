// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store.h"

#include <lathe/agent/agent_run.h>
#include <lathe/evaluation/worker_client.h>
#include <lathe/session/session.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <set>

namespace lathe::session {

using EvaluationPtr = std::shared_ptr<const evaluation::EvaluationResult>;

/// Hands observer calls and callbacks to the executor; observer calls stop when the session is
/// gone.
class Notifier
{
public:
    Notifier(Executor executor, Observer* observer)
        : m_executor(std::move(executor))
        , m_observer(observer)
    {}
    template <class F>
    void observe(F f) const
    {
        if (m_observer != nullptr) {
            m_executor([alive = m_alive, observer = m_observer, f = std::move(f)] {
                if (*alive) {
                    f(*observer);
                }
            });
        }
    }
    template <class T>
    void answer(const Callback<T>& callback, Result<T> result) const
    {
        if (callback) {
            m_executor(
                [callback, result = std::move(result)]() mutable { callback(std::move(result)); });
        }
    }
    void run(std::function<void()> f) const { m_executor(std::move(f)); }
    void silence() const { *m_alive = false; }

private:
    Executor m_executor;
    Observer* m_observer;
    std::shared_ptr<std::atomic<bool>> m_alive = std::make_shared<std::atomic<bool>>(true);
};

/// Everything mutable of a session. Made, used and destroyed on the core thread.
class CoreState
{
public:
    CoreState(boost::asio::io_context& io,
              SessionOptions options,
              std::shared_ptr<Store> store,
              std::shared_ptr<Notifier> notifier);
    ~CoreState();

    // core_tasks.cpp
    void tasks(const Callback<std::vector<TaskRow>>& done);
    void openTask(const std::string& reference, const Callback<TaskDetail>& done);
    void saveDraft(const TaskId& task, Session::Draft draft);
    void loadDraft(const TaskId& task, const Callback<std::optional<Session::Draft>>& done);
    void discardDraft(const TaskId& task);
    void flushDrafts();

    // core_candidates.cpp
    void candidates(const TaskId& task, const Callback<std::vector<CandidateRow>>& done);
    void source(const CandidateId& id, const Callback<protocol::CandidateSpec>& done);
    void createCandidate(const CandidateDraft& draft, const Callback<CandidateRow>& done);
    void
    labelCandidate(const CandidateId& id, const std::string& label, const Callback<void>& done);
    void pin(const TaskId& task, const CandidateId& id, const Callback<void>& done);
    void evaluationOf(const CandidateId& id, const Callback<EvaluationPtr>& done);
    void accept(const CandidateId& id, const std::string& note, const Callback<AcceptRecord>& done);
    void withdrawAccept(const CandidateId& id, const std::string& note, const Callback<void>& done);
    void exportCandidate(const CandidateId& id,
                         const std::string& as,
                         const std::filesystem::path& folder,
                         const Callback<std::vector<std::filesystem::path>>& done);

    // core_evaluations.cpp
    using EvaluationDone = std::function<void(Result<EvaluationPtr>)>;
    void evaluate(JobId job,
                  const CandidateId& id,
                  const EvaluateOptions& options,
                  bool byPerson,
                  EvaluationDone done);
    void
    baseline(JobId job, const TaskId& task, const EvaluateOptions& options, EvaluationDone done);
    void exec(JobId job,
              const CandidateId& id,
              std::vector<std::string> command,
              const EvaluateOptions& options,
              std::function<void(std::string)> onOutput,
              const Callback<int>& done);
    void cancel(JobId job);
    void prepare(const TaskId& task);
    void startWorker();

    // core_agents.cpp
    void
    startAgent(const TaskId& task, const AgentOptions& options, const Callback<RunRow>& started);
    void stopAgent(const std::string& run);
    void steer(const std::string& run, const std::string& message);
    void runs(const TaskId& task, const Callback<std::vector<RunRow>>& done);
    void trajectory(const std::string& run,
                    const Callback<std::vector<agent::TrajectoryItem>>& done);
    void providers(const Callback<std::vector<Session::ProviderRow>>& done);

    static JobId nextJob();
    [[nodiscard]] const Notifier& notifier() const { return *m_notifier; }

private:
    friend class RunHost;
    struct Job
    {
        JobId id = 0;
        JobId workerJob = 0;
        TaskId task;
        CandidateId candidate;
        bool byPerson = true;
        bool isExec = false;
        EvaluateOptions options;
        std::string taskHash;
        evaluation::EvaluationResult result;
        EvaluationDone done;
        std::chrono::steady_clock::time_point lastShown;
        std::shared_ptr<boost::asio::steady_timer> showTimer;
        bool showPending = false;
    };

    Result<task::Task> taskOf(const TaskId& id);
    void enterShippedTasks();
    void watchOthers();
    void problem(const Error& error) const;
    void tasksChanged() const;
    void candidatesChanged(const TaskId& task) const;
    [[nodiscard]] bool isRunning(const TaskId& task) const;
    TaskRow withStatus(TaskRow row) const;
    std::string whoAmI() const;

    Result<protocol::EvaluateRequest>
    requestFor(const TaskId& task, const EvaluateOptions& options, std::string* taskHash);
    Result<void> addCandidateTo(protocol::EvaluateRequest& request, const CandidateRow& row);
    void startJob(const std::shared_ptr<Job>& job, protocol::EvaluateRequest request);
    void supersede(const TaskId& task);
    void show(const std::shared_ptr<Job>& job);
    void showNow(const std::shared_ptr<Job>& job);
    void jobDone(const std::shared_ptr<Job>& job, const Result<protocol::EvaluateDone>& done);
    void followWithFull(const std::shared_ptr<Job>& job);
    std::string rerunOf(const protocol::EvaluateRequest& request,
                        const CandidateId& candidate) const;
    void onWorkerPhase(evaluation::WorkerPhase phase, const std::string& text);
    void sendPrepare();
    void runFinished(const std::string& run, const std::string& stopReason);

    boost::asio::io_context& m_io;
    SessionOptions m_options;
    std::shared_ptr<Store> m_store;
    std::shared_ptr<Notifier> m_notifier;
    std::unique_ptr<evaluation::WorkerClient> m_worker;
    std::string m_workerProblem; ///< why there is no worker command
    std::map<JobId, std::shared_ptr<Job>> m_jobs;
    std::set<JobId> m_following; ///< the quick tier is done, the full one about to begin
    TaskId m_prepared;
    std::map<TaskId, Session::Draft> m_drafts; ///< not yet written
    boost::asio::steady_timer m_draftTimer;
    boost::asio::steady_timer m_watchTimer;
    std::int64_t m_dataVersion = 0;
    std::set<TaskId> m_openTasks;
    struct Run;
    std::map<std::string, std::shared_ptr<Run>> m_runs;
    bool m_closing = false;
};

} // namespace lathe::session
