// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/adapters/session_adapter.h>

#include <QObject>
#include <QString>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace lathe::ui {

class StoredSettings;

/// What is open and what is going on: the state behind the main window and the use-cases its
/// actions call. Every answer of the session that belongs to something no longer open is dropped.
/// GUI thread.
class Workbench : public QObject
{
    Q_OBJECT
public:
    /// device: "cpu", "cuda" or "cuda:1".
    Workbench(session::Session& session,
              SessionAdapter& adapter,
              const std::string& device = "cpu",
              QObject* parent = nullptr);
    ~Workbench() override;

    [[nodiscard]] const std::vector<session::TaskRow>& tasks() const { return m_tasks; }
    [[nodiscard]] const std::optional<session::TaskDetail>& task() const { return m_task; }
    [[nodiscard]] const std::vector<session::CandidateRow>& candidates() const
    {
        return m_candidates;
    }
    [[nodiscard]] const session::CandidateRow* candidate() const { return rowOf(m_open); }
    [[nodiscard]] const session::CandidateRow* parentCandidate() const;
    [[nodiscard]] const session::CandidateRow* rowOf(const CandidateId& id) const;
    [[nodiscard]] const EvaluationPtr& result() const { return m_result; }
    [[nodiscard]] const EvaluationPtr& parentResult() const { return m_parentResult; }
    /// The candidate that everything is compared with, or null, and what its last evaluation found.
    [[nodiscard]] const session::CandidateRow* pinnedCandidate() const;
    [[nodiscard]] const EvaluationPtr& pinResult() const { return m_pinResult; }
    [[nodiscard]] const std::string& device() const { return m_device; } ///< "cpu" or "cuda"
    /// The newest snapshot of what runs for the open candidate (null: nothing): where its stage is
    /// read.
    [[nodiscard]] const EvaluationPtr& running() const { return m_running; }
    [[nodiscard]] bool evaluating() const { return m_job != 0; }
    [[nodiscard]] bool agentRunning() const { return !m_run.empty(); }
    [[nodiscard]] const session::WorkerStatus& worker() const { return m_worker; }
    [[nodiscard]] const QString& variant() const { return m_variant; }
    /// Small things remembered in the workspace: window layout, last task and candidate.
    [[nodiscard]] StoredSettings& settings() { return *m_settings; }
    [[nodiscard]] session::Session& session() { return m_session; }

    /// Loads lists; opens the given task, else the last one, else the first.
    void start(const QString& reference);
    void openTask(const QString& reference);
    void openCandidate(const CandidateId& candidate);
    void setVariant(const QString& variant); ///< empty: all
    /// The text as a new candidate below the open one (or the open one again when the text is
    /// unchanged), judged by the quick and then the full tier.
    void run(std::vector<protocol::CandidateFile> files, bool changed);
    /// Keeps text that was not run as a candidate of its own, so that opening another loses
    /// nothing.
    void keepUnrun(std::vector<protocol::CandidateFile> files);
    void evaluateOpen(protocol::Tier tier);
    /// The solutions that came with the open task, as candidates.
    void addShippedSolutions();
    void stop();
    void startAgent(const QString& provider, bool fromOpenCandidate);
    void steer(const QString& message);
    void showLatestRun();
    void accept(const QString& note);
    void withdraw(const QString& note);
    void pinOpen();
    void exportOpen(const QString& format, const QString& folder);
    void saveDraft(std::vector<protocol::CandidateFile> files);
    void discardDraft();

Q_SIGNALS:
    void tasksChanged();
    void providersChanged(const std::vector<lathe::session::Session::ProviderRow>& providers);
    void taskOpened();
    void candidatesChanged();
    void candidateOpened(const std::vector<lathe::protocol::CandidateFile>& files);
    void parentLoaded(const std::vector<lathe::protocol::CandidateFile>& files);
    void candidateKept(); ///< the editors' text became a candidate and is open
    void draftFound(const std::vector<lathe::protocol::CandidateFile>& files);
    void resultChanged();
    void activityChanged();
    void workerChanged();
    void runShown(const lathe::session::RunRow& run,
                  const std::vector<lathe::agent::TrajectoryItem>& items);
    void trajectoryGrew(const lathe::agent::TrajectoryItem& item);
    void budgetChanged(const lathe::agent::AgentBudget& budget);
    void message(const QString& text, bool isProblem);
    void exported(const QStringList& files);

private:
    void connectAdapter();
    void loadTasks();
    void loadCandidates(bool chooseOne);
    void chooseCandidate(const std::optional<session::Session::Draft>& draft);
    void openSkeleton();
    void rememberOpen();
    void loadParent();
    void loadPinned();
    void evaluate(const CandidateId& candidate, session::EvaluateOptions options);
    void endJob();
    void created(const session::CandidateRow& row);
    void showRun(const session::RunRow& run);
    void report(const Error& error);
    void onEvaluation(const EvaluationPtr& result);
    void onRunFinished(const session::RunRow& run);

    session::Session& m_session;
    SessionAdapter& m_adapter;
    std::string m_device;
    std::unique_ptr<StoredSettings> m_settings;
    std::vector<session::TaskRow> m_tasks;
    std::optional<session::TaskDetail> m_task;
    std::vector<session::CandidateRow> m_candidates;
    CandidateId m_open;
    EvaluationPtr m_result;
    EvaluationPtr m_parentResult;
    EvaluationPtr m_pinResult;
    EvaluationPtr m_running;
    QString m_variant;
    session::JobId m_job = 0;
    CandidateId m_jobCandidate;
    std::string m_run; ///< running agent run, or empty
    std::string m_shownRun;
    session::WorkerStatus m_worker;
    std::uint64_t m_taskGeneration = 0;
    std::uint64_t m_openGeneration = 0;
    std::uint64_t m_jobGeneration = 0;
};

} // namespace lathe::ui
