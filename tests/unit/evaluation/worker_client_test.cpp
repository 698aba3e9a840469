// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/evaluation/worker_client.h>

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>

namespace lathe::evaluation {
namespace {

using Done = Result<protocol::EvaluateDone>;

class WorkerClientTest : public ::testing::Test
{
protected:
    WorkerClientOptions options(std::vector<std::string> arguments = {})
    {
        WorkerClientOptions out;
        out.command = {LATHE_FAKE_WORKER};
        out.command.insert(out.command.end(), arguments.begin(), arguments.end());
        out.onPhase = [this](WorkerPhase phase, const std::string& text) {
            m_phases.push_back(phase);
            m_text = text;
        };
        return out;
    }

    static protocol::EvaluateRequest request(const std::string& marker)
    {
        protocol::EvaluateRequest out;
        out.task.key = "t";
        out.task.variants = {{"base", {}, "any", true, false}};
        out.candidate = protocol::CandidateSpec{};
        out.candidate->files = {{"model_new.py", "# " + marker}};
        return out;
    }

    JobId start(WorkerClient& client, const std::string& marker, double timeoutSeconds = 600)
    {
        auto what = request(marker);
        what.timeoutSeconds = timeoutSeconds;
        JobHandlers handlers;
        handlers.onEvent = [this](const protocol::Event&) { ++m_events; };
        handlers.onDone = [this](Done done) { m_done.push_back(std::move(done)); };
        return client.start(std::move(what), std::move(handlers));
    }

    /// Runs the loop until the condition holds; false after 20 s.
    template <class Condition>
    bool runUntil(Condition condition)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (!condition() && std::chrono::steady_clock::now() < end) {
            m_io.restart();
            m_io.run_one_for(std::chrono::milliseconds(50));
        }
        return condition();
    }

    boost::asio::io_context m_io;
    std::vector<Done> m_done;
    std::vector<WorkerPhase> m_phases;
    std::string m_text;
    int m_events = 0;
};

TEST_F(WorkerClientTest, EvaluatesAndKeepsTheSameProcess)
{
    WorkerClient client(m_io, options());
    start(client, "");
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 1; }));
    ASSERT_TRUE(m_done[0]) << m_done[0].error().message;
    EXPECT_EQ(m_done[0]->verdict, protocol::Verdict::Correct);
    EXPECT_GT(m_events, 5);
    const int pid = client.pid();
    EXPECT_EQ(client.hello()->pid, pid);
    start(client, "fake:wrong");
    start(client, "fake:build_failed");
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 3; }));
    EXPECT_EQ(m_done[1]->verdict, protocol::Verdict::Wrong);
    EXPECT_EQ(m_done[2]->verdict, protocol::Verdict::BuildFailed);
    EXPECT_EQ(client.pid(), pid);
}

TEST_F(WorkerClientTest, ACrashFailsTheJobAndTheNextGetsAFreshWorker)
{
    WorkerClient client(m_io, options({"--stderr=last words"}));
    start(client, "fake:crash");
    start(client, "");
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 2; }));
    ASSERT_FALSE(m_done[0]);
    EXPECT_NE(m_done[0].error().message.find("killed by signal 9"), std::string::npos)
        << m_done[0].error().message;
    EXPECT_EQ(m_done[0].error().detail, "last words");
    EXPECT_TRUE(m_done[1]);
}

TEST_F(WorkerClientTest, KillFromOutsideInMidFlight)
{
    WorkerClient client(m_io, options());
    start(client, "fake:hang");
    ASSERT_TRUE(runUntil([&] { return m_events > 0; }));
    const int pid = client.pid();
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 1; }));
    EXPECT_FALSE(m_done[0]);
    start(client, "");
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 2; }));
    EXPECT_TRUE(m_done[1]);
    EXPECT_NE(client.pid(), pid);
}

TEST_F(WorkerClientTest, ExitCodeIsNamed)
{
    WorkerClient client(m_io, options());
    start(client, "fake:exit");
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 1; }));
    EXPECT_NE(m_done[0].error().message.find("exit code 3"), std::string::npos)
        << m_done[0].error().message;
}

TEST_F(WorkerClientTest, CancelEndsTheJobAndTheWorkerLives)
{
    WorkerClient client(m_io, options());
    const JobId running = start(client, "fake:hang");
    const JobId waiting = start(client, "fake:hang");
    start(client, "");
    ASSERT_TRUE(runUntil([&] { return m_events > 0; }));
    const int pid = client.pid();
    client.cancel(waiting);
    client.cancel(running);
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 3; }));
    EXPECT_EQ(m_done[0].error().code, ErrorCode::Cancelled);
    EXPECT_EQ(m_done[1].error().code, ErrorCode::Cancelled);
    EXPECT_TRUE(m_done[2]);
    EXPECT_EQ(client.pid(), pid);
}

TEST_F(WorkerClientTest, AWorkerDeafToCancelIsKilled)
{
    auto how = options();
    how.cancelGraceSeconds = 0.2;
    WorkerClient client(m_io, how);
    const JobId job = start(client, "fake:stubborn");
    ASSERT_TRUE(runUntil([&] { return m_events > 0; }));
    const int pid = client.pid();
    client.cancel(job);
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 1; }));
    EXPECT_EQ(m_done[0].error().code, ErrorCode::Cancelled);
    start(client, "");
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 2; }));
    EXPECT_TRUE(m_done[1]);
    EXPECT_NE(client.pid(), pid);
}

TEST_F(WorkerClientTest, ADeadlineEndsTheJob)
{
    auto how = options();
    how.deadlineGraceSeconds = 0;
    WorkerClient client(m_io, how);
    start(client, "fake:hang", 0.2);
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 1; }));
    EXPECT_EQ(m_done[0].error().code, ErrorCode::Timeout);
}

TEST_F(WorkerClientTest, ViolationsKillTheWorker)
{
    WorkerClient client(m_io, options());
    start(client, "fake:garbage");
    start(client, "fake:stranger");
    start(client, "fake:failure");
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 3; }));
    EXPECT_EQ(m_done[0].error().code, ErrorCode::Protocol);
    EXPECT_NE(m_done[0].error().message.find("not its protocol"), std::string::npos);
    EXPECT_EQ(m_done[1].error().code, ErrorCode::Protocol);
    EXPECT_NE(m_done[1].error().message.find("never made"), std::string::npos);
    EXPECT_EQ(m_done[2].error().code, ErrorCode::Refused);
    EXPECT_EQ(m_done[2].error().detail, "because it was told to");
}

TEST_F(WorkerClientTest, StartFailuresAreTold)
{
    const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
        {{"--version=99"}, "protocol version 99"},
        {{"--exit=7"}, "exit code 7"},
        {{"--garbage"}, "not its protocol"},
        {{"--no-hello"}, "did not say hello"},
    };
    for (const auto& [arguments, text] : cases) {
        auto how = options(arguments);
        how.helloTimeoutSeconds = 0.5;
        WorkerClient client(m_io, how);
        m_done.clear();
        start(client, "");
        ASSERT_TRUE(runUntil([&] { return m_done.size() == 1; })) << text;
        ASSERT_FALSE(m_done[0]);
        EXPECT_NE(m_done[0].error().message.find(text), std::string::npos)
            << m_done[0].error().message;
        EXPECT_EQ(client.phase(), WorkerPhase::Failed);
    }
}

TEST_F(WorkerClientTest, AMissingProgramIsTold)
{
    auto how = options();
    how.command = {"/nonexistent/lathe-worker", "serve"};
    WorkerClient client(m_io, how);
    start(client, "");
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 1; }));
    EXPECT_EQ(m_done[0].error().code, ErrorCode::Unsupported);
    EXPECT_NE(m_text.find("lathe doctor"), std::string::npos);
}

TEST_F(WorkerClientTest, DestructionKillsTheWorkerAndEndsTheJobs)
{
    int pid = -1;
    {
        WorkerClient client(m_io, options());
        start(client, "fake:stubborn");
        ASSERT_TRUE(runUntil([&] { return m_events > 0; }));
        pid = client.pid();
    }
    ASSERT_EQ(m_done.size(), 1u);
    EXPECT_EQ(m_done[0].error().code, ErrorCode::Cancelled);
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST_F(WorkerClientTest, ToolOutputComesThrough)
{
    WorkerClient client(m_io, options());
    protocol::ExecRequest what;
    what.what = request("");
    what.command = {"false", "--flag"};
    std::string output;
    JobHandlers handlers;
    handlers.onEvent = [&](const protocol::Event& event) {
        if (const auto* log = std::get_if<protocol::LogEvent>(&event)) {
            output += log->text;
        }
    };
    handlers.onDone = [this](Done done) { m_done.push_back(std::move(done)); };
    client.exec(std::move(what), std::move(handlers));
    ASSERT_TRUE(runUntil([&] { return m_done.size() == 1; }));
    EXPECT_EQ(output, "false --flag\n");
    EXPECT_EQ(m_done[0]->exitCode, 1);
}

} // namespace
} // namespace lathe::evaluation
