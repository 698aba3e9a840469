// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/trajectory.h>
#include <lathe/base/id.h>
#include <lathe/base/result.h>
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/evaluation/evaluator.h>
#include <lathe/protocol/messages.h>
#include <lathe/task/task.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The one facade that GUI and CLI use. It owns the core thread, the store, the worker and the
/// agent. Every method may be called from any thread and returns at once; every callback and
/// observer call is handed to the executor.
namespace lathe::session {

/// Runs a closure where the owner wants it (Qt: queued on the GUI thread; CLI: its own loop).
/// Called on the core thread.
using Executor = std::function<void(std::function<void()>)>;

struct SessionOptions
{
    std::filesystem::path workspace;              ///< created when absent
    std::vector<std::filesystem::path> taskRoots; ///< empty: task::defaultRoots()
    std::vector<std::string>
        workerCommand; ///< empty: found (LATHE_WORKER, beside the executable, libexec)
    std::string device = "cpu";
    bool startWorker = true; ///< start it in the background at open
    /// Where no sandbox can be had, candidates run with the user's own rights; results say so.
    bool allowUnsandboxed = false;
    std::string userName; ///< for accept records; empty: the login name
};

enum class Author : std::uint8_t { Human, Agent, Import };
const char* toString(Author author);

struct TaskRow
{
    TaskId id;
    std::string key;
    std::string title;
    std::string suite;
    int candidates = 0;
    std::optional<evaluation::Speedup>
        best; ///< best correct, finished full or accept evaluation against the best baseline
    std::string status; ///< "not run", "correct", "wrong", "running"
};

struct TaskDetail
{
    TaskRow row;
    task::Task task;
};

struct AcceptRecord
{
    std::string id;
    EvaluationId evaluation;
    std::string who;
    std::string when; ///< RFC 3339
    std::string note;
    bool provisional = false; ///< of a full-tier evaluation, or not every variant was timed
    std::string because;      ///< why it is provisional, a clause for a person; else empty
    std::string publicKey;    ///< hex Ed25519
    std::string signature;    ///< hex, over the canonical JSON of the record and the evaluation
                              ///< document's hash
    bool signatureValid = false;
    bool withdrawn = false;
};

struct CandidateRow
{
    CandidateId id;
    TaskId task;
    std::optional<CandidateId> parent;
    int number = 0; ///< 1, 2, ... within the task
    Author author = Author::Human;
    std::string label; ///< short human name ("two rows at once")
    std::string createdAt;
    std::string contentHash;
    std::string runId; ///< agent run that made it, or empty
    bool running = false;
    std::optional<EvaluationId> evaluation; ///< the one that evaluationOf gives
    std::optional<protocol::Tier> tier;
    std::optional<protocol::Verdict> verdict;
    std::string reason;
    std::optional<evaluation::Speedup> best; ///< against the best baseline
    std::optional<evaluation::Speedup> vsParent;
    std::optional<AcceptRecord> accepted;
    bool pinned = false;
};

struct CandidateDraft
{
    TaskId task;
    std::optional<CandidateId> parent;
    Author author = Author::Human;
    std::string label;
    protocol::CandidateSpec spec; ///< id is filled in by the session
};

struct EvaluateOptions
{
    protocol::Tier tier = protocol::Tier::Quick;
    protocol::Until until = protocol::Until::Profile;
    std::vector<std::string> variants;
    std::vector<std::string> against;
    double minSeconds = 0;
    double maxNoisePercent = 1.0;
    double timeoutSeconds = 600;
    std::optional<std::uint64_t> replaySeed;
    /// After a correct quick tier, run the full tier behind it (F5): the callback gets the quick
    /// result, onFull the full one or why there is none (Cancelled: something newer came first);
    /// the same JobId cancels both.
    bool thenFull = false;
    std::function<void(Result<std::shared_ptr<const evaluation::EvaluationResult>>)> onFull;
};

using agent::AgentBudget;
using agent::TrajectoryItem;

struct AgentOptions
{
    std::string provider;            ///< endpoint profile's name, or "replay:FILE"
    std::optional<CandidateId> from; ///< where to start; absent: the task's skeleton
    int maxTurns = 200;
    double maxSeconds = 3600;
    std::optional<double> maxCost;
};

struct RunRow
{
    std::string run;
    TaskId task;
    std::string provider;
    bool replay = false; ///< model output is recorded; tools ran live
    std::string startedAt;
    std::string stopReason; ///< empty while running
    int steps = 0;
};

enum class WorkerState : std::uint8_t { Stopped, Starting, Ready, Busy, Failed };

struct WorkerStatus
{
    WorkerState state = WorkerState::Stopped;
    std::string text; ///< one line: device, sandbox; or why it failed and what to do
    std::optional<protocol::WorkerHello> hello;
};

/// Told of everything that changes, on the executor. Default: ignore.
class Observer
{
public:
    virtual ~Observer() = default;
    virtual void onWorkerStatus(const WorkerStatus&) {}
    virtual void onTasksChanged() {}
    virtual void onCandidatesChanged(const TaskId&) {}
    /// A snapshot of a running or just finished evaluation (not for every event: at most every 50
    /// ms while running).
    virtual void onEvaluation(const std::shared_ptr<const evaluation::EvaluationResult>&) {}
    virtual void onTrajectory(const TrajectoryItem&) {}
    virtual void onBudget(const std::string& /*run*/, const AgentBudget&) {}
    virtual void onRunFinished(const RunRow&) {}
    virtual void onProblem(const Error&) {} ///< something failed that no callback reports
};

template <class T>
using Callback = std::function<void(Result<T>)>;
using JobId = evaluation::JobId;

class Session
{
public:
    /// Opens (or creates) the workspace and starts the core thread; the worker starts in the
    /// background. Takes under 50 ms. The observer must outlive the session and may be null.
    static Result<std::unique_ptr<Session>>
    open(SessionOptions options, Executor executor, Observer* observer);
    virtual ~Session() =
        default; ///< stops agent and worker (kills process groups), flushes the store

    virtual void tasks(Callback<std::vector<TaskRow>> done) = 0;
    /// Opens a task by key, folder or .py file and enters it into the workspace.
    virtual void openTask(std::string reference, Callback<TaskDetail> done) = 0;
    virtual void candidates(TaskId task, Callback<std::vector<CandidateRow>> done) = 0;
    virtual void source(CandidateId candidate, Callback<protocol::CandidateSpec> done) = 0;
    virtual void createCandidate(CandidateDraft draft, Callback<CandidateRow> done) = 0;
    virtual void labelCandidate(CandidateId candidate, std::string label, Callback<void> done) = 0;
    /// Pins one candidate of its task as the baseline everything shows deltas to; unpins with an
    /// empty id.
    virtual void pin(TaskId task, CandidateId candidate, Callback<void> done) = 0;

    /// Evaluates; progress through Observer::onEvaluation, the end here. A newer evaluate of the
    /// same task supersedes a running quick or full one started by a person.
    virtual JobId evaluate(CandidateId candidate,
                           EvaluateOptions options,
                           Callback<std::shared_ptr<const evaluation::EvaluationResult>> done) = 0;
    /// Health check, speed of light and all baselines of a task.
    virtual JobId baseline(TaskId task,
                           EvaluateOptions options,
                           Callback<std::shared_ptr<const evaluation::EvaluationResult>> done) = 0;
    virtual void cancel(JobId job) = 0;
    /// The evaluation that a candidate is shown by, with its traces and log: the latest finished
    /// one, or, where that found it correct without measuring, the latest measured one before it.
    /// NotFound when there is none.
    virtual void
    evaluationOf(CandidateId candidate,
                 Callback<std::shared_ptr<const evaluation::EvaluationResult>> done) = 0;
    /// Tells the worker that this task is open, so that arms and compiled baselines warm up. Never
    /// blocks.
    virtual void prepare(TaskId task) = 0;
    /// Runs a tool on the candidate with the exact inputs; output through log, exit code at the
    /// end.
    virtual JobId exec(CandidateId candidate,
                       std::vector<std::string> command,
                       EvaluateOptions options,
                       std::function<void(std::string)> onOutput,
                       Callback<int> done) = 0;

    /// Accepts the candidate's latest accept-tier (or, marked provisional, full-tier) evaluation:
    /// signed, reversible. Refused with the reason when it is not correct.
    virtual void accept(CandidateId candidate, std::string note, Callback<AcceptRecord> done) = 0;
    virtual void withdrawAccept(CandidateId candidate, std::string note, Callback<void> done) = 0;
    /// Writes the hand-off below folder; as: "kernelbench" or "cpp". Returns the files written.
    virtual void exportCandidate(CandidateId candidate,
                                 std::string as,
                                 std::filesystem::path folder,
                                 Callback<std::vector<std::filesystem::path>> done) = 0;

    /// Unsaved editor text, kept crash-safe per task (written within a second of the call).
    virtual void saveDraft(TaskId task,
                           std::optional<CandidateId> parent,
                           std::vector<protocol::CandidateFile> files) = 0;
    struct Draft
    {
        std::optional<CandidateId> parent;
        std::vector<protocol::CandidateFile> files;
        std::string savedAt;
    };
    virtual void loadDraft(TaskId task, Callback<std::optional<Draft>> done) = 0;
    virtual void discardDraft(TaskId task) = 0;

    virtual void startAgent(TaskId task, AgentOptions options, Callback<RunRow> started) = 0;
    /// Ends the run at once: cancels the model request, kills the running tool or evaluation.
    virtual void stopAgent(std::string run) = 0;
    /// Puts a message before the next step.
    virtual void steer(std::string run, std::string message) = 0;
    virtual void runs(TaskId task, Callback<std::vector<RunRow>> done) = 0;
    virtual void trajectory(std::string run, Callback<std::vector<TrajectoryItem>> done) = 0;
    /// Names of endpoint profiles and shipped recordings ("replay:..."), with whether each is
    /// usable and why not.
    struct ProviderRow
    {
        std::string name;
        std::string title;
        bool usable = false;
        std::string why;
    };
    virtual void providers(Callback<std::vector<ProviderRow>> done) = 0;

    [[nodiscard]] virtual std::filesystem::path workspace() const = 0;
};

} // namespace lathe::session
