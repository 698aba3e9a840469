// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "core_state.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <thread>

namespace lathe::session {
namespace {

using WorkGuard = boost::asio::executor_work_guard<boost::asio::io_context::executor_type>;

class SessionImpl final : public Session
{
public:
    SessionImpl(SessionOptions options,
                std::shared_ptr<Store> store,
                std::shared_ptr<Notifier> notifier)
        : m_workspace(options.workspace)
        , m_notifier(notifier)
        , m_guard(boost::asio::make_work_guard(m_io))
    {
        m_thread = std::thread(
            [this, options = std::move(options), store = std::move(store), notifier]() mutable {
                m_core = std::make_unique<CoreState>(
                    m_io, std::move(options), std::move(store), notifier);
                m_io.run();
            });
    }

    ~SessionImpl() override
    {
        boost::asio::post(m_io, [this] {
            m_core.reset();
            m_io.stop();
        });
        m_thread.join();
        m_notifier->silence();
    }
    SessionImpl(const SessionImpl&) = delete;
    SessionImpl& operator=(const SessionImpl&) = delete;

    void tasks(Callback<std::vector<TaskRow>> done) override
    {
        post([done](CoreState& core) { core.tasks(done); });
    }
    void openTask(std::string reference, Callback<TaskDetail> done) override
    {
        post([reference, done](CoreState& core) { core.openTask(reference, done); });
    }
    void candidates(TaskId task, Callback<std::vector<CandidateRow>> done) override
    {
        post([task, done](CoreState& core) { core.candidates(task, done); });
    }
    void source(CandidateId candidate, Callback<protocol::CandidateSpec> done) override
    {
        post([candidate, done](CoreState& core) { core.source(candidate, done); });
    }
    void createCandidate(CandidateDraft draft, Callback<CandidateRow> done) override
    {
        post([draft = std::move(draft), done](CoreState& core) {
            core.createCandidate(draft, done);
        });
    }
    void labelCandidate(CandidateId candidate, std::string label, Callback<void> done) override
    {
        post([candidate, label, done](CoreState& core) {
            core.labelCandidate(candidate, label, done);
        });
    }
    void pin(TaskId task, CandidateId candidate, Callback<void> done) override
    {
        post([task, candidate, done](CoreState& core) { core.pin(task, candidate, done); });
    }

    JobId
    evaluate(CandidateId candidate, EvaluateOptions options, Callback<EvaluationPtr> done) override
    {
        const JobId job = CoreState::nextJob();
        post([job, candidate, options, done = answering(done)](CoreState& core) {
            core.evaluate(job, candidate, options, true, done);
        });
        return job;
    }
    JobId baseline(TaskId task, EvaluateOptions options, Callback<EvaluationPtr> done) override
    {
        const JobId job = CoreState::nextJob();
        post([job, task, options, done = answering(done)](CoreState& core) {
            core.baseline(job, task, options, done);
        });
        return job;
    }
    void cancel(JobId job) override
    {
        post([job](CoreState& core) { core.cancel(job); });
    }
    void evaluationOf(CandidateId candidate, Callback<EvaluationPtr> done) override
    {
        post([candidate, done](CoreState& core) { core.evaluationOf(candidate, done); });
    }
    void prepare(TaskId task) override
    {
        post([task](CoreState& core) { core.prepare(task); });
    }
    JobId exec(CandidateId candidate,
               std::vector<std::string> command,
               EvaluateOptions options,
               std::function<void(std::string)> onOutput,
               Callback<int> done) override
    {
        const JobId job = CoreState::nextJob();
        post([job, candidate, command, options, onOutput, done](CoreState& core) {
            core.exec(job, candidate, command, options, onOutput, done);
        });
        return job;
    }

    void accept(CandidateId candidate, std::string note, Callback<AcceptRecord> done) override
    {
        post([candidate, note, done](CoreState& core) { core.accept(candidate, note, done); });
    }
    void withdrawAccept(CandidateId candidate, std::string note, Callback<void> done) override
    {
        post([candidate, note, done](CoreState& core) {
            core.withdrawAccept(candidate, note, done);
        });
    }
    void exportCandidate(CandidateId candidate,
                         std::string as,
                         std::filesystem::path folder,
                         Callback<std::vector<std::filesystem::path>> done) override
    {
        post([candidate, as, folder, done](CoreState& core) {
            core.exportCandidate(candidate, as, folder, done);
        });
    }

    void saveDraft(TaskId task,
                   std::optional<CandidateId> parent,
                   std::vector<protocol::CandidateFile> files) override
    {
        post([task, draft = Draft{std::move(parent), std::move(files), {}}](CoreState& core) {
            core.saveDraft(task, draft);
        });
    }
    void loadDraft(TaskId task, Callback<std::optional<Draft>> done) override
    {
        post([task, done](CoreState& core) { core.loadDraft(task, done); });
    }
    void discardDraft(TaskId task) override
    {
        post([task](CoreState& core) { core.discardDraft(task); });
    }

    void startAgent(TaskId task, AgentOptions options, Callback<RunRow> started) override
    {
        post(
            [task, options, started](CoreState& core) { core.startAgent(task, options, started); });
    }
    void stopAgent(std::string run) override
    {
        post([run](CoreState& core) { core.stopAgent(run); });
    }
    void steer(std::string run, std::string message) override
    {
        post([run, message](CoreState& core) { core.steer(run, message); });
    }
    void runs(TaskId task, Callback<std::vector<RunRow>> done) override
    {
        post([task, done](CoreState& core) { core.runs(task, done); });
    }
    void trajectory(std::string run, Callback<std::vector<TrajectoryItem>> done) override
    {
        post([run, done](CoreState& core) { core.trajectory(run, done); });
    }
    void providers(Callback<std::vector<ProviderRow>> done) override
    {
        post([done](CoreState& core) { core.providers(done); });
    }
    [[nodiscard]] std::filesystem::path workspace() const override { return m_workspace; }

private:
    template <class F>
    void post(F f)
    {
        boost::asio::post(m_io, [this, f = std::move(f)]() mutable { f(*m_core); });
    }

    /// The end of a job, told on the executor.
    [[nodiscard]] CoreState::EvaluationDone answering(const Callback<EvaluationPtr>& done) const
    {
        return [notifier = m_notifier, done](Result<EvaluationPtr> result) {
            notifier->answer(done, std::move(result));
        };
    }

    std::filesystem::path m_workspace;
    std::shared_ptr<Notifier> m_notifier;
    boost::asio::io_context m_io{1};
    WorkGuard m_guard;
    std::unique_ptr<CoreState> m_core; ///< core thread only
    std::thread m_thread;
};

} // namespace

Result<std::unique_ptr<Session>>
Session::open(SessionOptions options, Executor executor, Observer* observer)
{
    auto store = Store::open(options.workspace);
    if (!store) {
        return tl::unexpected(store.error());
    }
    auto notifier = std::make_shared<Notifier>(std::move(executor), observer);
    return std::make_unique<SessionImpl>(
        std::move(options), std::shared_ptr<Store>(std::move(*store)), std::move(notifier));
}

} // namespace lathe::session
