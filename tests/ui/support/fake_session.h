// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace lathe::test {

/// A session with scripted answers. Every answer goes through the executor, as the real one's do. A
/// candidate whose text holds "BREAK" does not build, one that holds "WRONG" is wrong; evaluations
/// wait until step() plays them on.
class FakeSession : public session::Session
{
public:
    FakeSession(std::filesystem::path workspace,
                session::Executor executor,
                session::Observer& observer);

    /// Adds a candidate that is judged already.
    CandidateId seed(const std::string& label,
                     std::optional<CandidateId> parent,
                     protocol::Verdict verdict,
                     double ratio);
    /// Plays the next event of the running evaluation; false when nothing runs.
    bool step();
    void playAll();
    void stream(const agent::TrajectoryItem& item)
    {
        post([this, item] { m_observer.onTrajectory(item); });
    }
    void finishRun(const std::string& reason);
    void setWorker(session::WorkerStatus status)
    {
        post([this, status] { m_observer.onWorkerStatus(status); });
    }

    std::vector<std::string> calls; ///< what was asked, in order
    std::optional<Draft> draft;
    std::vector<session::CandidateRow> rows;
    std::map<std::string, protocol::CandidateSpec> sources;
    std::map<std::string, std::shared_ptr<const evaluation::EvaluationResult>> results;
    std::vector<agent::TrajectoryItem> items;
    task::Task shown;

    void tasks(session::Callback<std::vector<session::TaskRow>> done) override;
    void openTask(std::string reference, session::Callback<session::TaskDetail> done) override;
    void candidates(TaskId task,
                    session::Callback<std::vector<session::CandidateRow>> done) override;
    void source(CandidateId candidate, session::Callback<protocol::CandidateSpec> done) override;
    void createCandidate(session::CandidateDraft draft,
                         session::Callback<session::CandidateRow> done) override;
    void
    labelCandidate(CandidateId candidate, std::string label, session::Callback<void> done) override;
    void pin(TaskId task, CandidateId candidate, session::Callback<void> done) override;
    session::JobId
    evaluate(CandidateId candidate,
             session::EvaluateOptions options,
             session::Callback<std::shared_ptr<const evaluation::EvaluationResult>> done) override;
    session::JobId
    baseline(TaskId task,
             session::EvaluateOptions options,
             session::Callback<std::shared_ptr<const evaluation::EvaluationResult>> done) override;
    void cancel(session::JobId job) override;
    void evaluationOf(
        CandidateId candidate,
        session::Callback<std::shared_ptr<const evaluation::EvaluationResult>> done) override;
    void prepare(TaskId) override { calls.emplace_back("prepare"); }
    session::JobId exec(CandidateId,
                        std::vector<std::string>,
                        session::EvaluateOptions,
                        std::function<void(std::string)>,
                        session::Callback<int> done) override;
    void accept(CandidateId candidate,
                std::string note,
                session::Callback<session::AcceptRecord> done) override;
    void
    withdrawAccept(CandidateId candidate, std::string note, session::Callback<void> done) override;
    void exportCandidate(CandidateId candidate,
                         std::string as,
                         std::filesystem::path folder,
                         session::Callback<std::vector<std::filesystem::path>> done) override;
    void saveDraft(TaskId task,
                   std::optional<CandidateId> parent,
                   std::vector<protocol::CandidateFile> files) override;
    void loadDraft(TaskId task, session::Callback<std::optional<Draft>> done) override;
    void discardDraft(TaskId task) override;
    void startAgent(TaskId task,
                    session::AgentOptions options,
                    session::Callback<session::RunRow> started) override;
    void stopAgent(std::string run) override;
    void steer(std::string run, std::string message) override;
    void runs(TaskId task, session::Callback<std::vector<session::RunRow>> done) override;
    void trajectory(std::string run,
                    session::Callback<std::vector<agent::TrajectoryItem>> done) override;
    void providers(session::Callback<std::vector<ProviderRow>> done) override;
    [[nodiscard]] std::filesystem::path workspace() const override { return m_workspace; }

private:
    struct Job
    {
        session::JobId id = 0;
        CandidateId candidate;
        evaluation::EvaluationResult result;
        std::deque<std::function<void(Job&)>> script;
        session::Callback<std::shared_ptr<const evaluation::EvaluationResult>> done;
        session::Callback<std::shared_ptr<const evaluation::EvaluationResult>> onFull;
    };
    void post(std::function<void()> work) { m_executor(std::move(work)); }
    void publish(const Job& job);
    void script(Job& job, protocol::Tier tier);
    void judged(const Job& job);
    session::CandidateRow* row(const CandidateId& id);
    session::TaskRow taskRow() const;

    std::filesystem::path m_workspace;
    session::Executor m_executor;
    session::Observer& m_observer;
    TaskId m_task = TaskId::fresh();
    std::optional<Job> m_job;
    std::optional<session::RunRow> m_run;
    session::JobId m_nextJob = 1;
};

} // namespace lathe::test
