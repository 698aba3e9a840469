// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <lathe/base/clock.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <future>
#include <optional>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace lathe::worker {
namespace {

using protocol::EvaluateRequest;
using protocol::Frame;
using protocol::FrameType;

/// Does what the task's key says; counts what it was asked.
class ScriptedJudge final : public Judge
{
public:
    Result<protocol::EvaluateDone> evaluate(const EvaluateRequest& request,
                                            const EventSink& sink,
                                            const process::CancelSource& cancel) override
    {
        const std::string& key = request.task.key;
        sink(protocol::StageEvent{"verify", "at work on " + key});
        if (key == "hang") {
            pollfd entry = {cancel.fd(), POLLIN, 0};
            ::poll(&entry, 1, 60'000);
            return fail(ErrorCode::Cancelled, "cancelled by the caller");
        }
        if (key == "flood") {
            const std::string text(900'000, 'x');
            for (int i = 0; i < 120; ++i) { // 108 MB: over the outbox's limit
                sink(protocol::TraceEvent{"eager", "default", "evidence", 1, text});
            }
        }
        if (key == "error") {
            return fail(ErrorCode::Refused, "cannot be judged");
        }
        protocol::EvaluateDone done;
        done.verdict = protocol::Verdict::Correct;
        done.reason = key;
        return done;
    }
    Result<protocol::EvaluateDone> exec(const protocol::ExecRequest& request,
                                        const EventSink&,
                                        const process::CancelSource&) override
    {
        protocol::EvaluateDone done;
        done.exitCode = static_cast<int>(request.command.size());
        return done;
    }
    Result<void> prepare(const EvaluateRequest&) override { return {}; }
    void idle() override {}
};

class ScriptedBench final : public Bench
{
public:
    explicit ScriptedBench(std::atomic<bool>& gone)
        : m_gone(gone)
    {}
    ~ScriptedBench() override { m_gone = true; }
    ScriptedBench(const ScriptedBench&) = delete;
    ScriptedBench& operator=(const ScriptedBench&) = delete;
    protocol::WorkerHello hello() override
    {
        protocol::WorkerHello hello;
        hello.software = "scripted";
        return hello;
    }
    Judge& judge() override { return m_judge; }

private:
    std::atomic<bool>& m_gone;
    ScriptedJudge m_judge;
};

/// The server on two pipes and the core's end of them.
class ServerTest : public testing::Test
{
protected:
    ServerTest()
    {
        int in[2];
        int out[2];
        EXPECT_EQ(::pipe2(in, O_CLOEXEC), 0);
        EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
        m_serverIn = UniqueFd(in[0]);
        m_toServer = UniqueFd(in[1]);
        m_fromServer = UniqueFd(out[0]);
        m_serverOut = UniqueFd(out[1]);
    }
    ~ServerTest() override
    {
        m_toServer.reset();
        if (m_thread.joinable()) {
            m_thread.join();
        }
    }
    void start(Server::BenchFactory factory = {})
    {
        if (!factory) {
            factory = [this]() -> Result<std::unique_ptr<Bench>> {
                return std::make_unique<ScriptedBench>(m_gone);
            };
        }
        m_thread = std::thread([this, factory] {
            Server server(m_serverIn.get(), m_serverOut.get(), -1, factory);
            m_exit.set_value(server.run());
            m_serverOut.reset();
        });
    }
    void sendBytes(std::string_view bytes)
    {
        while (!bytes.empty()) {
            const ssize_t written = ::write(m_toServer.get(), bytes.data(), bytes.size());
            ASSERT_GT(written, 0);
            bytes.remove_prefix(static_cast<std::size_t>(written));
        }
    }
    void send(const Frame& frame) { sendBytes(protocol::encodeFrame(frame).value()); }
    void evaluate(std::uint64_t id, const std::string& key, double timeoutSeconds = 600)
    {
        EvaluateRequest request;
        request.task.key = key;
        request.task.variants.push_back({"default", {}, "any", true, false});
        request.timeoutSeconds = timeoutSeconds;
        send(protocol::encodeRequest(id, request));
    }
    /// The next frame; nothing at the end of the stream.
    std::optional<Frame> next()
    {
        Frame frame;
        while (true) {
            const auto complete = m_decoder.next(frame);
            EXPECT_TRUE(complete.has_value());
            if (!complete || *complete) {
                return frame;
            }
            char buffer[65536];
            const ssize_t bytes = ::read(m_fromServer.get(), buffer, sizeof buffer);
            if (bytes <= 0) {
                return std::nullopt;
            }
            m_decoder.feed({buffer, static_cast<std::size_t>(bytes)});
        }
    }
    /// The frame that ends a request, of whichever request ends next.
    Frame nextEnd()
    {
        while (auto frame = next()) {
            if (frame->type == FrameType::Done || frame->type == FrameType::Failure) {
                return std::move(*frame);
            }
        }
        ADD_FAILURE() << "the stream ended";
        return {};
    }
    int exitStatus() { return m_exit.get_future().get(); }

    UniqueFd m_serverIn, m_toServer, m_fromServer, m_serverOut;
    protocol::FrameDecoder m_decoder;
    std::promise<int> m_exit;
    std::atomic<bool> m_gone{false};
    std::thread m_thread;
};

TEST_F(ServerTest, SaysHelloFirstAndAnswersInOrder)
{
    start();
    evaluate(7, "first");
    evaluate(8, "second");
    auto hello = next();
    ASSERT_TRUE(hello.has_value());
    EXPECT_EQ(protocol::decodeHello(*hello)->software, "scripted");
    auto event = next();
    EXPECT_EQ(event->type, FrameType::Event);
    EXPECT_EQ(event->request, 7u);
    const Frame first = nextEnd();
    EXPECT_EQ(first.request, 7u);
    EXPECT_EQ(protocol::decodeDone(first)->reason, "first");
    EXPECT_EQ(nextEnd().request, 8u);
    send({FrameType::Shutdown, 0, "{}", {}});
    EXPECT_EQ(exitStatus(), 0);
    EXPECT_TRUE(m_gone);
}

TEST_F(ServerTest, ExecAndPrepareAreAnswered)
{
    start();
    protocol::ExecRequest exec;
    exec.what.task.key = "k";
    exec.command = {"tool", "a", "b"};
    send(protocol::encodeRequest(1, exec));
    EXPECT_EQ(protocol::decodeDone(nextEnd())->exitCode, 3);
    EvaluateRequest prepare;
    prepare.method = "prepare";
    send(protocol::encodeRequest(2, prepare));
    EXPECT_FALSE(protocol::decodeDone(nextEnd())->verdict.has_value());
}

TEST_F(ServerTest, CancelsTheRunningAndTheWaiting)
{
    start();
    evaluate(1, "hang");
    evaluate(2, "never");
    evaluate(3, "hang");
    while (next()->type != FrameType::Event) { // 1 is at work
    }
    send({FrameType::Cancel, 2, "{}", {}});
    const Frame waiting = nextEnd();
    EXPECT_EQ(waiting.request, 2u);
    EXPECT_EQ(protocol::decodeFailure(waiting).code, ErrorCode::Cancelled);
    send({FrameType::Cancel, 1, "{}", {}});
    const Frame running = nextEnd();
    EXPECT_EQ(running.request, 1u);
    EXPECT_EQ(protocol::decodeFailure(running).code, ErrorCode::Cancelled);
    send({FrameType::Cancel, 99, "{}", {}}); // nobody's: ignored
    send({FrameType::Cancel, 3, "{}", {}});
    EXPECT_EQ(nextEnd().request, 3u);
}

TEST_F(ServerTest, NewerSupersedesOlderWhereItSaysSo)
{
    start();
    evaluate(1, "hang");
    while (next()->type != FrameType::Event) {
    }
    EvaluateRequest request;
    request.task.key = "newer";
    request.task.variants.push_back({"default", {}, "any", true, false});
    Frame frame = protocol::encodeRequest(2, request);
    frame.json.insert(1, "\"supersedes\": 1, ");
    send(frame);
    EXPECT_EQ(nextEnd().request, 1u);
    EXPECT_EQ(protocol::decodeDone(nextEnd())->reason, "newer");
}

TEST_F(ServerTest, RefusesWhatItDoesNotKnowAndGoesOn)
{
    start();
    send({FrameType::Request, 1, R"({"method": "dance"})", {}});
    EXPECT_NE(protocol::decodeFailure(nextEnd()).message.find("dance"), std::string::npos);
    send({FrameType::Request, 2, "not json", {}});
    EXPECT_EQ(nextEnd().request, 2u);
    send({FrameType::Event, 3, "{}", {}});
    EXPECT_EQ(protocol::decodeFailure(nextEnd()).code, ErrorCode::Protocol);
    evaluate(4, "error");
    EXPECT_EQ(protocol::decodeFailure(nextEnd()).code, ErrorCode::Refused);
    evaluate(5, "fine");
    EXPECT_EQ(nextEnd().type, FrameType::Done);
}

TEST_F(ServerTest, QueueIsBounded)
{
    start();
    evaluate(1, "hang");
    while (next()->type != FrameType::Event) {
    }
    for (std::uint64_t id = 2; id <= 10; ++id) {
        evaluate(id, "waits");
    }
    const Frame refused = nextEnd();
    EXPECT_EQ(refused.request, 10u); // one runs, eight wait
    EXPECT_EQ(protocol::decodeFailure(refused).code, ErrorCode::Refused);
    evaluate(1, "again");
    EXPECT_EQ(protocol::decodeFailure(nextEnd()).code, ErrorCode::Protocol);
}

TEST_F(ServerTest, EndOfInputEndsARunningRequest)
{
    start();
    evaluate(1, "hang");
    while (next()->type != FrameType::Event) {
    }
    m_toServer.reset();
    EXPECT_EQ(exitStatus(), 0);
    EXPECT_TRUE(m_gone);
}

TEST_F(ServerTest, GarbageEndsItWithAFailure)
{
    start();
    ASSERT_EQ(next()->type, FrameType::Hello);
    sendBytes(std::string(64, '\xff'));
    EXPECT_EQ(nextEnd().request, 0u);
    EXPECT_EQ(exitStatus(), 3);
}

TEST_F(ServerTest, APeerThatDoesNotReadStillGetsItsCancelHeard)
{
    start();
    evaluate(1, "flood");
    evaluate(2, "waits");
    // Nothing is read: the evaluation thread stands at the outbox's limit, the poll loop must not.
    ::usleep(200'000);
    send({FrameType::Cancel, 2, "{}", {}});
    std::size_t events = 0;
    bool cancelled = false;
    bool done = false;
    while (!cancelled || !done) {
        const auto frame = next();
        ASSERT_TRUE(frame.has_value());
        events += frame->type == FrameType::Event ? 1 : 0;
        cancelled = cancelled || (frame->type == FrameType::Failure && frame->request == 2);
        done = done || (frame->type == FrameType::Done && frame->request == 1);
    }
    EXPECT_EQ(events, 121u); // the stage and every trace
}

TEST_F(ServerTest, SaysWhyItCannotStart)
{
    start([]() -> Result<std::unique_ptr<Bench>> { return fail(ErrorCode::Io, "no room"); });
    const Frame frame = nextEnd();
    EXPECT_EQ(protocol::decodeFailure(frame).message, "no room");
    EXPECT_EQ(exitStatus(), 1);
}

} // namespace
} // namespace lathe::worker
