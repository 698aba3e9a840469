// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/session/session.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::session {
namespace {

namespace fs = std::filesystem;
using protocol::Tier;
using protocol::Verdict;
using EvaluationPtr = std::shared_ptr<const evaluation::EvaluationResult>;

EvaluateOptions atTier(Tier tier)
{
    EvaluateOptions options;
    options.tier = tier;
    return options;
}

EvaluateOptions quickThenFull()
{
    EvaluateOptions options;
    options.thenFull = true;
    return options;
}

EvaluateOptions replayed(std::uint64_t seed)
{
    EvaluateOptions options;
    options.replaySeed = seed;
    return options;
}

/// Stands for the owner's event loop: closures of the core thread run in the test's thread.
class Loop
{
public:
    void post(std::function<void()> closure)
    {
        const std::lock_guard lock(m_mutex);
        m_queue.push_back(std::move(closure));
        m_ready.notify_one();
    }
    template <class Condition>
    bool runUntil(Condition condition)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!condition()) {
            std::function<void()> next;
            {
                std::unique_lock lock(m_mutex);
                if (!m_ready.wait_until(lock, end, [&] { return !m_queue.empty(); })) {
                    return false;
                }
                next = std::move(m_queue.front());
                m_queue.pop_front();
            }
            next();
        }
        return true;
    }

private:
    std::mutex m_mutex;
    std::condition_variable m_ready;
    std::deque<std::function<void()>> m_queue;
};

class Recorder : public Observer
{
public:
    void onWorkerStatus(const WorkerStatus& status) override { last = status; }
    void onCandidatesChanged(const TaskId&) override { ++candidateChanges; }
    void onEvaluation(const EvaluationPtr& result) override { seen.push_back(result); }
    void onProblem(const Error& error) override { problems.push_back(error.message); }
    WorkerStatus last;
    int candidateChanges = 0;
    std::vector<EvaluationPtr> seen;
    std::vector<std::string> problems;
};

class SessionTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        m_folder = *makeTempFolder(fs::temp_directory_path(), "lathe-session-");
        ::setenv("XDG_CONFIG_HOME",
                 (m_folder / "config").c_str(),
                 1); // NOLINT(concurrency-mt-unsafe): no thread yet
        const auto task = m_folder / "tasks/suite/scale";
        fs::create_directories(task);
        std::ofstream(task / "reference.py")
            << "rows = 4\nclass Model:\n    pass\ndef get_inputs():\n    return []\n"
               "def get_init_inputs():\n    return []\n";
        std::ofstream(task / "task.json")
            << R"({"title": "Scale", "variants": [{"name": "a", "headline": true}, {"name": "b"}]})";
        open();
    }
    void TearDown() override
    {
        m_session.reset();
        fs::remove_all(m_folder);
    }

    void open()
    {
        SessionOptions options;
        options.workspace = m_folder / "ws";
        options.taskRoots = {m_folder / "tasks"};
        options.workerCommand = {LATHE_FAKE_WORKER, "--log=" + (m_folder / "log").string()};
        options.userName = "tester";
        auto session = Session::open(
            options, [this](std::function<void()> f) { m_loop.post(std::move(f)); }, &m_observer);
        ASSERT_TRUE(session) << session.error().message;
        m_session = std::move(*session);
        TaskDetail detail = get<TaskDetail>([&](auto done) { m_session->openTask("scale", done); });
        m_task = detail.row.id;
    }

    /// Calls and waits for the answer.
    template <class T, class F>
    Result<T> ask(F call)
    {
        std::optional<Result<T>> answer;
        call([&answer](Result<T> result) { answer = std::move(result); });
        if (!m_loop.runUntil([&] { return answer.has_value(); })) {
            return fail(ErrorCode::Timeout, "no answer");
        }
        return std::move(*answer);
    }
    template <class T, class F>
    T get(F call)
    {
        auto result = ask<T>(call);
        if (!result) {
            ADD_FAILURE() << result.error().message;
            return T{};
        }
        return std::move(*result);
    }

    CandidateRow add(const std::string& text, std::optional<CandidateId> parent = {})
    {
        CandidateDraft draft{m_task,
                             std::move(parent),
                             Author::Human,
                             "c",
                             {"", "", "native", {{"model_new.py", "# " + text}}, {}}};
        return get<CandidateRow>([&](auto done) { m_session->createCandidate(draft, done); });
    }
    Result<EvaluationPtr> evaluate(const CandidateRow& row, EvaluateOptions options = {})
    {
        return ask<EvaluationPtr>([&](auto done) { m_session->evaluate(row.id, options, done); });
    }
    CandidateRow row(const CandidateId& id)
    {
        for (auto& candidate : get<std::vector<CandidateRow>>(
                 [&](auto done) { m_session->candidates(m_task, done); })) {
            if (candidate.id == id) {
                return candidate;
            }
        }
        ADD_FAILURE() << "no such candidate";
        return {};
    }
    std::string workerLog() { return readFile(m_folder / "log").value_or(""); }

    fs::path m_folder;
    Loop m_loop;
    Recorder m_observer;
    std::unique_ptr<Session> m_session;
    TaskId m_task;
};

TEST_F(SessionTest, EvaluatesKeepsAndShows)
{
    const auto first = add("fake:ratio=1.5");
    const auto result = evaluate(first);
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ((*result)->verdict, Verdict::Correct);
    EXPECT_EQ((*result)->timings.size(),
              3u); // the quick tier measures the headline variant: candidate and two baselines
    ASSERT_FALSE(m_observer.seen.empty());
    EXPECT_TRUE(m_observer.seen.back()->finished);
    const auto shown = row(first.id);
    EXPECT_EQ(shown.tier, Tier::Quick);
    EXPECT_NEAR(
        shown.best->ratio, 1.2, 1e-9); // the fake's compiled arm is 1.25 times as fast as eager
    EXPECT_EQ(shown.best->against, "compile:default");
    EXPECT_FALSE(shown.running);

    const auto second = add("fake:ratio=3", first.id);
    ASSERT_TRUE(evaluate(second, atTier(Tier::Full)));
    EXPECT_NE(workerLog().find("evaluate suite/scale full parent"), std::string::npos);
    EXPECT_TRUE(row(second.id).vsParent);
    const auto tasks = get<std::vector<TaskRow>>([&](auto done) { m_session->tasks(done); });
    ASSERT_EQ(tasks.size(), 1u);
    EXPECT_EQ(tasks[0].status, "correct");
    EXPECT_EQ(tasks[0].candidates, 2);

    m_session.reset();
    open();
    const auto kept =
        get<EvaluationPtr>([&](auto done) { m_session->evaluationOf(second.id, done); });
    EXPECT_EQ(kept->traces.size(), 2u);
    EXPECT_NE(kept->rerun.find("--tier full"), std::string::npos);
}

TEST_F(SessionTest, VerdictsAreValuesAndFailuresAreErrors)
{
    EXPECT_EQ((*evaluate(add("fake:wrong")))->verdict, Verdict::Wrong);
    const auto failed = add("fake:build_failed");
    EXPECT_EQ((*evaluate(failed))->verdict, Verdict::BuildFailed);
    EXPECT_EQ(row(failed.id).verdict, Verdict::BuildFailed);
    const auto crash = add("fake:crash");
    const auto crashed = evaluate(crash);
    ASSERT_FALSE(crashed);
    EXPECT_NE(crashed.error().message.find("signal 9"), std::string::npos);
    EXPECT_FALSE(row(crash.id).verdict); // nothing is kept of it
    EXPECT_TRUE(evaluate(add("fine")));
    EXPECT_EQ(ask<EvaluationPtr>([&](auto done) { m_session->evaluationOf(crash.id, done); })
                  .error()
                  .code,
              ErrorCode::NotFound);
}

TEST_F(SessionTest, ANewerEvaluationSupersedesThePersonsOlder)
{
    std::optional<Result<EvaluationPtr>> older;
    m_session->evaluate(
        add("fake:hang").id, {}, [&](Result<EvaluationPtr> result) { older = std::move(result); });
    const auto newer = evaluate(add("fine"));
    ASSERT_TRUE(newer);
    ASSERT_TRUE(older);
    EXPECT_EQ(older->error().code, ErrorCode::Cancelled);
}

TEST_F(SessionTest, TheFullTierFollowsACorrectQuickOne)
{
    const auto good = add("fine");
    ASSERT_EQ((*evaluate(good, quickThenFull()))->tier, Tier::Quick);
    ASSERT_TRUE(m_loop.runUntil([&] {
        return !m_observer.seen.empty() && m_observer.seen.back()->finished
               && m_observer.seen.back()->tier == Tier::Full;
    }));
    EXPECT_EQ(row(good.id).tier, Tier::Full);
    const auto bad = add("fake:wrong");
    ASSERT_TRUE(evaluate(bad, quickThenFull()));
    ASSERT_TRUE(evaluate(good));
    EXPECT_EQ(workerLog().find("full"), workerLog().rfind("full")); // only the good one's
}

TEST_F(SessionTest, CancelEndsTheJobAndSnapshotsAreThrottled)
{
    std::optional<Result<EvaluationPtr>> end;
    const JobId job = m_session->evaluate(
        add("fake:hang").id, {}, [&](Result<EvaluationPtr> result) { end = std::move(result); });
    ASSERT_TRUE(m_loop.runUntil(
        [&] { return !m_observer.seen.empty() && m_observer.seen.back()->stage == "building"; }));
    m_session->cancel(job);
    ASSERT_TRUE(m_loop.runUntil([&] { return end.has_value(); }));
    EXPECT_EQ(end->error().code, ErrorCode::Cancelled);
    EXPECT_LE(m_observer.seen.size(), 3u);
}

TEST_F(SessionTest, ReplayedResultsAreNotKept)
{
    const auto candidate = add("fine");
    const auto result = evaluate(candidate, replayed(7));
    ASSERT_TRUE(result);
    EXPECT_TRUE((*result)->replayed);
    EXPECT_FALSE(row(candidate.id).evaluation);
}

TEST_F(SessionTest, BaselineAndTools)
{
    const auto baseline = get<EvaluationPtr>(
        [&](auto done) { m_session->baseline(m_task, atTier(Tier::Full), done); });
    EXPECT_EQ(baseline->timings.size(), 4u); // two arms, two variants
    EXPECT_TRUE(baseline->candidate.empty());
    std::string output;
    const int code = get<int>([&](auto done) {
        m_session->exec(
            add("x").id, {"false"}, {}, [&](const std::string& text) { output += text; }, done);
    });
    EXPECT_EQ(code, 1);
    EXPECT_EQ(output, "false\n");
}

TEST_F(SessionTest, AcceptExportAndWithdraw)
{
    const auto candidate = add("fine");
    const auto refused =
        ask<AcceptRecord>([&](auto done) { m_session->accept(candidate.id, "", done); });
    EXPECT_EQ(refused.error().code, ErrorCode::Refused);
    ASSERT_TRUE(evaluate(candidate, atTier(Tier::Full)));
    const auto record =
        get<AcceptRecord>([&](auto done) { m_session->accept(candidate.id, "good", done); });
    EXPECT_TRUE(record.signatureValid);
    EXPECT_EQ(record.who, "tester");
    EXPECT_FALSE(row(candidate.id).accepted->withdrawn);
    const auto files = get<std::vector<fs::path>>([&](auto done) {
        m_session->exportCandidate(candidate.id, "kernelbench", m_folder / "out", done);
    });
    EXPECT_EQ(files.size(), 2u); // the file and report.json
    EXPECT_NE(readFile(m_folder / "out/report.json")->find("lathe.eval/1"), std::string::npos);
    ASSERT_TRUE(ask<void>([&](auto done) { m_session->withdrawAccept(candidate.id, "no", done); }));
    EXPECT_TRUE(row(candidate.id).accepted->withdrawn);
}

TEST_F(SessionTest, DraftsSurviveClosing)
{
    m_session->saveDraft(m_task, {}, {{"model_new.py", "half a li"}});
    m_session.reset();
    open();
    auto draft =
        get<std::optional<Session::Draft>>([&](auto done) { m_session->loadDraft(m_task, done); });
    ASSERT_TRUE(draft);
    EXPECT_EQ(draft->files.at(0).text, "half a li");
    m_session->discardDraft(m_task);
    EXPECT_FALSE(
        get<std::optional<Session::Draft>>([&](auto done) { m_session->loadDraft(m_task, done); }));
}

TEST_F(SessionTest, AChangeByAnotherProgramShows)
{
    add("one");
    const int before = m_observer.candidateChanges;
    SessionOptions options;
    options.workspace = m_folder / "ws";
    options.taskRoots = {m_folder / "tasks"};
    options.workerCommand = {LATHE_FAKE_WORKER};
    options.startWorker = false;
    Loop otherLoop;
    auto other = *Session::open(
        options, [&](std::function<void()> f) { otherLoop.post(std::move(f)); }, nullptr);
    bool added = false;
    CandidateDraft draft{
        m_task, {}, Author::Import, "theirs", {"", "", "native", {{"model_new.py", "x"}}, {}}};
    other->createCandidate(draft,
                           [&](const Result<CandidateRow>& result) { added = result.has_value(); });
    ASSERT_TRUE(otherLoop.runUntil([&] { return added; }));
    EXPECT_TRUE(m_loop.runUntil([&] { return m_observer.candidateChanges > before; }));
}

TEST_F(SessionTest, ClosingEndsTheWorkerAndTheJobs)
{
    std::optional<Result<EvaluationPtr>> end;
    m_session->evaluate(add("fake:stubborn").id, {}, [&](Result<EvaluationPtr> result) {
        end = std::move(result);
    });
    ASSERT_TRUE(m_loop.runUntil(
        [&] { return !m_observer.seen.empty() && m_observer.seen.back()->stage == "building"; }));
    ASSERT_TRUE(m_observer.last.hello);
    const auto pid = static_cast<pid_t>(m_observer.last.hello->pid);
    m_session.reset();
    EXPECT_NE(::kill(pid, 0), 0);
    ASSERT_TRUE(m_loop.runUntil([&] { return end.has_value(); }));
    EXPECT_EQ(end->error().code, ErrorCode::Cancelled);
}

TEST_F(SessionTest, AMissingWorkerIsToldAndTheRestWorks)
{
    m_session.reset();
    SessionOptions options;
    options.workspace = m_folder / "ws2";
    options.taskRoots = {m_folder / "tasks"};
    options.workerCommand = {"/nonexistent/worker"};
    m_session = *Session::open(
        options, [this](std::function<void()> f) { m_loop.post(std::move(f)); }, &m_observer);
    m_task = get<TaskDetail>([&](auto done) { m_session->openTask("suite/scale", done); }).row.id;
    EXPECT_FALSE(evaluate(add("x")));
    ASSERT_TRUE(m_loop.runUntil([&] { return m_observer.last.state == WorkerState::Failed; }));
    EXPECT_NE(m_observer.last.text.find("doctor"), std::string::npos);
}

} // namespace
} // namespace lathe::session
