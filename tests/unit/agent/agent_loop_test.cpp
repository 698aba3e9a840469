// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The loop against the scripted server over a socket, and from recordings; the judge is a function
// of the files.
#include "fake_host.h"
#include "model_server/model_server.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/llm/recording.h>

#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::agent {
namespace {

using nlohmann::ordered_json;
using protocol::Tier;
using protocol::Until;
using protocol::Verdict;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey = "sk-loop-test-0123456789abcdef";

/// Files that say "broken" do not build, "wrong" are wrong; "fast" runs at 4x eager, anything else
/// at 2x.
evaluation::EvaluationResult judge(const protocol::CandidateSpec& spec, Until until)
{
    std::string all;
    for (const auto& f : spec.files) {
        all += f.text;
    }
    evaluation::EvaluationResult r;
    r.build.status = all.find("broken") == std::string::npos ? "ok" : "failed";
    if (r.build.status == "failed") {
        r.verdict = Verdict::BuildFailed;
        r.build.diagnostics.push_back({"kernels/k.cpp", 1, 1, "error", "broken"});
        return r;
    }
    if (until == Until::Build) {
        return r;
    }
    r.verdict = all.find("wrong") == std::string::npos ? Verdict::Correct : Verdict::Wrong;
    if (r.verdict == Verdict::Correct && until != Until::Verify) {
        const double ratio = all.find("fast") == std::string::npos ? 2 : 4;
        protocol::TimingRow row;
        row.arm = "candidate";
        row.variant = "v";
        row.protocol = "warm";
        row.medianUs = 100 / ratio;
        r.timings.push_back(row);
        r.comparisons.push_back({"candidate", "eager", "v", "warm", ratio, ratio, ratio, "faster"});
    }
    return r;
}

class AgentLoopTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-loop-");
        ::setenv("LATHE_LOOP_KEY", kKey, 1);
    }
    void TearDown() override
    {
        run.reset();
        std::filesystem::remove_all(folder);
        ::unsetenv("LATHE_LOOP_KEY");
    }

    AgentRunOptions options(const std::string& provider)
    {
        AgentRunOptions o;
        o.run = RunId("r" + std::to_string(++runs));
        o.task.spec.key = "starter/x";
        o.task.spec.source = "class Model: pass\n";
        o.task.spec.variants = {{"seen", {{"rows", "2"}}, "any", true, false},
                                {"unseen", {{"rows", "7919"}}, "any", false, true}};
        o.start.files = {{"model_new.py", "start"}};
        o.provider = provider;
        o.workFolder = folder / (o.run.text() + "-work");
        o.trajectoryFile = folder / (o.run.text() + ".jsonl");
        o.blobFolder = folder / "blobs";
        o.promptFolder = std::filesystem::path(LATHE_SOURCE_DIR) / "resources" / "prompts";
        o.profilesFile = folder / "endpoints.json";
        o.recordFile = folder / (o.run.text() + ".replay.jsonl");
        o.replayPace = 0;
        return o;
    }

    void serve(const std::string& script)
    {
        server = std::make_unique<testing::ModelServer>(
            io, *testing::parseScript(ordered_json::parse(script), "."));
        const ordered_json profile = {{"name", "s"},
                                      {"baseUrl", server->baseUrl()},
                                      {"model", "m"},
                                      {"keyEnv", "LATHE_LOOP_KEY"},
                                      {"origin", "scripted"},
                                      {"price", {{"prompt", 1}, {"completion", 1}}}};
        ASSERT_TRUE(
            writeFileAtomic(folder / "endpoints.json", dumpJson(ordered_json::array({profile}))));
    }

    /// Starts and runs to the end.
    void go(AgentRunOptions o)
    {
        auto created = AgentRun::create(io, std::move(o), host);
        ASSERT_TRUE(created) << created.error().message;
        run = std::move(*created);
        run->start();
        ASSERT_TRUE(runUntil([&] { return !host.finished.empty(); }));
    }
    template <class Condition>
    bool runUntil(Condition condition)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!condition() && std::chrono::steady_clock::now() < end) {
            io.run_one_for(std::chrono::milliseconds(50));
        }
        return condition();
    }
    [[nodiscard]] std::vector<std::string> results() const
    {
        std::vector<std::string> out;
        for (const auto& item : host.ofKind("tool_result")) {
            out.push_back(item.title + ":" + item.status);
        }
        return out;
    }

    int runs = 0;
    std::filesystem::path folder;
    boost::asio::io_context io;
    std::unique_ptr<testing::ModelServer> server;
    FakeHost host{io, judge};
    std::unique_ptr<AgentRun> run;
};

std::string write(const std::string& text)
{
    return R"({"name":"write_file","arguments":{"path":"kernels/k.cpp","content":")" + text
           + R"("}})";
}

std::string turn(const std::string& calls)
{
    return R"({"text":"t","calls":[)" + calls + "]}";
}

const std::string kStory =
    R"({"turns":[)" + turn(write("broken") + R"(,{"name":"compile"})") + ","
    + turn(write("wrong") + R"(,{"name":"verify","arguments":{"tier":"full"}})") + ","
    + turn(write("right") + R"(,{"name":"benchmark","arguments":{"expect":2.0,"label":"first"}})")
    + "," + turn(write("fast") + R"(,{"name":"benchmark","arguments":{"expect":1.3}})") + ","
    + turn(R"({"name":"best_so_far"},{"name":"submit"})") + "]}";

TEST_F(AgentLoopTest, GoesFromACompileErrorToASubmission)
{
    serve(kStory);
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("submitted"));
    EXPECT_THAT(results(),
                ElementsAre("write_file:ok",
                            "compile:failed",
                            "write_file:ok",
                            "verify:failed",
                            "write_file:ok",
                            "benchmark:ok",
                            "write_file:ok",
                            "benchmark:ok",
                            "best_so_far:ok",
                            "submit:ok"));
    ASSERT_EQ(host.asked.size(), 5u);
    EXPECT_EQ(host.asked[0].until, Until::Build);
    EXPECT_EQ(host.asked[1].tier, Tier::Full);
    EXPECT_EQ(host.asked[1].until, Until::Verify);
    EXPECT_EQ(host.asked[2].until, Until::Bench);
    EXPECT_EQ(host.asked[4].tier, Tier::Accept);
    EXPECT_EQ(host.asked[4].candidate,
              host.asked[3].candidate); // submit judges the same candidate again
    EXPECT_EQ(host.labels[2], "first");
    EXPECT_EQ(host.budget.turns, 5);
    EXPECT_GT(host.budget.cost.value_or(0), 0);
    const auto benchmarks = host.ofKind("tool_result");
    EXPECT_TRUE(ordered_json::parse(benchmarks[5].headJson)["expectation"]["held"]);
    const auto second = ordered_json::parse(benchmarks[7].headJson)["expectation"];
    EXPECT_DOUBLE_EQ(second["measured"], 2.0); // 4x eager after 2x eager
    EXPECT_FALSE(second["held"]);
}

TEST_F(AgentLoopTest, ModelSeesResultsAndNothingHidden)
{
    serve(kStory);
    go(options("s"));
    ASSERT_EQ(server->requests().size(), 5u);
    const auto& last = server->requests().back().body;
    EXPECT_THAT(last, HasSubstr("kernels/k.cpp:1:1: error: broken"));
    EXPECT_THAT(last, HasSubstr("class Model: pass"));
    EXPECT_THAT(last, Not(HasSubstr("7919")));
    const auto json = nlohmann::json::parse(last);
    std::size_t calls = 0;
    std::size_t answers = 0;
    for (const auto& m : json["messages"]) {
        calls += m.value("tool_calls", nlohmann::json::array()).size();
        answers += m["role"] == "tool" ? 1 : 0;
    }
    EXPECT_EQ(calls, answers);
    // the prefix of each request is the request before it
    const auto& first = server->requests().front().body;
    const auto prefix = first.substr(0, first.find("],\"tools\""));
    EXPECT_EQ(last.substr(0, prefix.size()), prefix);
}

TEST_F(AgentLoopTest, TrajectoryIsWhatWasSeenAndHoldsNoKey)
{
    serve(kStory);
    auto o = options("s");
    const auto file = o.trajectoryFile;
    go(std::move(o));
    const auto items = readTrajectory(file);
    ASSERT_TRUE(items) << items.error().message;
    ASSERT_EQ(items->size(), host.items.size());
    for (std::size_t i = 0; i < items->size(); ++i) {
        EXPECT_EQ((*items)[i].seq, host.items[i].seq);
        EXPECT_EQ((*items)[i].kind, host.items[i].kind);
        EXPECT_EQ((*items)[i].text, host.items[i].text);
    }
    EXPECT_EQ(items->back().kind, "stopped");
    EXPECT_EQ(items->back().title, "submitted");
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) {
            EXPECT_THAT(*readFile(entry.path()), Not(HasSubstr(kKey))) << entry.path();
        }
    }
}

TEST_F(AgentLoopTest, RecordingReplaysWithLiveTools)
{
    serve(kStory);
    auto live = options("s");
    const auto recording = live.recordFile;
    go(std::move(live));
    const auto before = host.items;
    server.reset();
    run.reset();
    FakeHost second(io, judge);
    auto created = AgentRun::create(io, options("replay:" + recording.string()), second);
    ASSERT_TRUE(created) << created.error().message;
    (*created)->start();
    ASSERT_TRUE(runUntil([&] { return !second.finished.empty(); }));
    EXPECT_THAT(second.finished, ElementsAre("submitted"));
    EXPECT_EQ(second.asked.size(), 5u);
    EXPECT_TRUE(second.ofKind("divergence").empty());
    ASSERT_EQ(second.items.size(), before.size());
    EXPECT_THAT(second.items[0].text, HasSubstr("not from a model"));
    for (std::size_t i = 1; i < before.size(); ++i) {
        EXPECT_EQ(second.items[i].text, before[i].text);
    }
}

TEST_F(AgentLoopTest, ShippedDemonstrationReplaysToItsEnd)
{
    const auto file =
        std::filesystem::path(LATHE_SOURCE_DIR) / "resources/demo/rmsnorm_residual.replay.jsonl";
    // What g++ and the real judge find, told from the sources: see resources/demo/rmsnorm_residual.
    FakeHost demo(io, [](const protocol::CandidateSpec& spec, Until until) {
        std::string kernel;
        for (const auto& f : spec.files) {
            kernel += f.text;
        }
        auto translated = spec;
        const bool broken = kernel.find("t->contiguous()") != std::string::npos;
        const bool noTail = kernel.find("kBlock") != std::string::npos
                            && kernel.find("what is left of the row") == std::string::npos;
        translated.files = {{"model_new.py", broken ? "broken" : noTail ? "wrong" : "right"}};
        return judge(translated, until);
    });
    auto created = AgentRun::create(io, options("replay:" + file.string()), demo);
    ASSERT_TRUE(created) << created.error().message;
    (*created)->start();
    ASSERT_TRUE(runUntil([&] { return !demo.finished.empty(); }));
    EXPECT_THAT(demo.finished, ElementsAre("submitted"));
    EXPECT_TRUE(demo.ofKind("divergence").empty());
    EXPECT_THAT(demo.items.at(0).text, HasSubstr("not from a model"));
}

TEST_F(AgentLoopTest, DivergenceIsShownAndTheReplayGoesOn)
{
    serve(kStory);
    auto live = options("s");
    const auto recording = live.recordFile;
    go(std::move(live));
    run.reset();
    FakeHost second(io, [](const protocol::CandidateSpec& spec, Until until) {
        auto r = judge(spec, until);
        if (r.verdict == Verdict::Wrong) {
            r.verdict = Verdict::Crashed; // this machine's g++ makes the wrong kernel crash
        }
        return r;
    });
    auto created = AgentRun::create(io, options("replay:" + recording.string()), second);
    ASSERT_TRUE(created);
    (*created)->start();
    ASSERT_TRUE(runUntil([&] { return !second.finished.empty(); }));
    EXPECT_THAT(second.finished, ElementsAre("submitted"));
    const auto divergences = second.ofKind("divergence");
    ASSERT_EQ(divergences.size(), 1u);
    EXPECT_EQ(divergences[0].title, "verify: wrong when recorded, crashed now");
}

TEST_F(AgentLoopTest, RejectedSubmissionGoesOn)
{
    serve(R"({"turns":[)" + turn(write("wrong") + R"(,{"name":"submit"})") + ","
          + turn(write("right") + R"(,{"name":"submit"})") + "]}");
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("submitted"));
    EXPECT_THAT(results(),
                ElementsAre("write_file:ok", "submit:failed", "write_file:ok", "submit:ok"));
}

TEST_F(AgentLoopTest, LimitsLeaveOneMeasurementForTheLastCandidate)
{
    serve(R"({"turns":[)" + turn(write("right") + R"(,{"name":"verify"})") + ","
          + turn(write("fast")) + "," + turn(R"({"name":"submit"})") + "]}");
    auto o = options("s");
    o.limits.maxTurns = 2;
    go(std::move(o));
    EXPECT_THAT(host.finished, ElementsAre("turn_limit"));
    ASSERT_EQ(host.asked.size(), 2u);
    EXPECT_EQ(host.asked[1].until, Until::Bench);
    EXPECT_EQ(server->requests().size(), 2u);
}

TEST_F(AgentLoopTest, NothingIsMeasuredTwiceAtALimit)
{
    serve(R"({"turns":[)" + turn(write("right") + R"(,{"name":"benchmark"})") + ","
          + turn(R"({"name":"submit"})") + "]}");
    auto o = options("s");
    o.limits.maxTurns = 1;
    go(std::move(o));
    EXPECT_THAT(host.finished, ElementsAre("turn_limit"));
    EXPECT_EQ(host.asked.size(), 1u);
}

TEST_F(AgentLoopTest, TokenAndCostLimitsStopBeforeTheNextCall)
{
    serve(R"({"turns":[)" + turn(R"({"name":"list_files"})") + ","
          + turn(R"({"name":"list_files"})") + "]}");
    auto o = options("s");
    o.limits.maxTokens = 1;
    go(std::move(o));
    EXPECT_THAT(host.finished, ElementsAre("token_limit"));
    EXPECT_EQ(server->requests().size(), 1u);
    host.finished.clear();
    run.reset();
    o = options("s");
    o.limits.maxCost = 1e-9;
    go(std::move(o));
    EXPECT_THAT(host.finished, ElementsAre("cost_limit"));
}

TEST_F(AgentLoopTest, CutAndMalformedCallsNeverRun)
{
    serve(R"({"turns":[{"calls":[{"name":"submit","arguments":{}}],"finishReason":"length"},
        {"calls":[{"name":"write_file","arguments":"{\"path\":\"kernels/k.cpp\",\"content\":\"x"}]},
        {"calls":[{"name":"no_such_tool","arguments":{}}]},{"text":"never asked"}]})");
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("repeated_format_errors"));
    EXPECT_TRUE(host.asked.empty());
    EXPECT_EQ(server->requests().size(), 3u);
    const auto json = nlohmann::json::parse(server->requests()[2].body);
    EXPECT_EQ(json["messages"][4]["tool_calls"][0]["function"]["arguments"], "{}");
    EXPECT_FALSE(std::filesystem::exists(folder / "r1-work" / "kernels" / "k.cpp"));
}

TEST_F(AgentLoopTest, TalkWithoutToolsEndsAfterThreeTurns)
{
    serve(R"({"turns":[{"text":"a"},{"text":"b"},{"text":"c"},{"text":"d"}]})");
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("repeated_format_errors"));
    EXPECT_EQ(server->requests().size(), 3u);
}

TEST_F(AgentLoopTest, CirclesEndAsStuck)
{
    const auto same = turn(R"({"name":"list_files"})");
    serve(R"({"turns":[)" + same + "," + same + "," + same + "," + same + "," + same + "]}");
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("stuck"));
    EXPECT_EQ(server->requests().size(), 4u);
}

TEST_F(AgentLoopTest, ProviderErrorsAndRefusalsAreReasons)
{
    serve(
        R"({"turns":[{"text":"x","faults":[{"kind":"http","status":401,"body":"{\"error\":{\"message\":\"no\"}}"}]}]})");
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("provider_error"));
    host.finished.clear();
    run.reset();
    serve(R"({"turns":[{"text":"x","finishReason":"content_filter"}]})");
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("refusal"));
}

TEST_F(AgentLoopTest, OverflowShortensOldResultsOnceAndAsksAgain)
{
    const std::string big(3000, 'x');
    serve(
        R"({"turns":[)"
        + turn(
            write(big)
            + R"(,{"name":"read_file","arguments":{"path":"kernels/k.cpp"}},{"name":"read_file","arguments":{"path":"kernels/k.cpp","to_line":1}})")
        + R"(,{"text":"t","calls":[{"name":"submit"}],"faults":[{"kind":"http","status":400,"body":"{\"error\":{\"message\":\"maximum context length is 10\"}}"}]}]})");
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("submitted"));
    EXPECT_EQ(server->requests().size(), 3u);
    EXPECT_LT(server->requests()[2].body.size(), server->requests()[1].body.size());
    EXPECT_FALSE(host.ofKind("note").empty());
}

TEST_F(AgentLoopTest, SteeringComesBeforeTheNextTurn)
{
    serve(kStory);
    host.whenItem = [&](const TrajectoryItem& item) {
        if (item.kind == "tool_result" && item.title == "compile") {
            run->steer("try a smaller block");
        }
    };
    go(options("s"));
    EXPECT_THAT(host.finished, ElementsAre("submitted"));
    EXPECT_THAT(server->requests()[0].body, Not(HasSubstr("smaller block")));
    const auto json = nlohmann::json::parse(server->requests()[1].body);
    EXPECT_EQ(json["messages"].back()["content"], "try a smaller block");
    EXPECT_EQ(host.ofKind("steer").size(), 1u);
}

TEST_F(AgentLoopTest, StopCancelsTheEvaluation)
{
    serve(kStory);
    host.hold = true;
    auto created = AgentRun::create(io, options("s"), host);
    ASSERT_TRUE(created);
    run = std::move(*created);
    run->start();
    ASSERT_TRUE(runUntil([&] { return !host.asked.empty(); }));
    run->stop();
    EXPECT_EQ(host.cancelled.size(), 1u);
    ASSERT_TRUE(runUntil([&] { return !host.finished.empty(); }));
    EXPECT_THAT(host.finished, ElementsAre("cancelled"));
    run->stop();
    io.poll();
    EXPECT_EQ(host.finished.size(), 1u);
}

TEST_F(AgentLoopTest, StopClosesTheModelRequest)
{
    serve(R"({"turns":[{"text":"x","faults":[{"kind":"stall","after":2}]}]})");
    auto created = AgentRun::create(io, options("s"), host);
    ASSERT_TRUE(created);
    run = std::move(*created);
    run->start();
    ASSERT_TRUE(runUntil([&] { return server->openConnections() == 1; }));
    run->stop();
    ASSERT_TRUE(runUntil([&] { return server->openConnections() == 0 && !host.finished.empty(); }));
    EXPECT_THAT(host.finished, ElementsAre("cancelled"));
}

TEST_F(AgentLoopTest, SaysWhatIsMissing)
{
    serve(kStory);
    EXPECT_THAT(AgentRun::create(io, options("nobody"), host).error().message, HasSubstr("nobody"));
    ::unsetenv("LATHE_LOOP_KEY");
    EXPECT_THAT(AgentRun::create(io, options("s"), host).error().message,
                HasSubstr("LATHE_LOOP_KEY"));
    EXPECT_EQ(AgentRun::create(io, options("replay:/no/such/file"), host).error().code,
              ErrorCode::NotFound);
}

TEST_F(AgentLoopTest, KilledRunLeavesAReadableTrajectory)
{
    auto o = options("s");
    const auto file = o.trajectoryFile;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        boost::asio::io_context own;
        testing::ModelServer here(own, *testing::parseScript(ordered_json::parse(kStory), "."));
        const ordered_json profile = {{"name", "s"}, {"baseUrl", here.baseUrl()}, {"model", "m"}};
        FakeHost killed(own, judge);
        killed.whenItem = [](const TrajectoryItem& item) {
            if (item.kind == "tool_result" && item.title == "verify") {
                ::kill(::getpid(), SIGKILL);
            }
        };
        if (!writeFileAtomic(folder / "endpoints.json", dumpJson(ordered_json::array({profile})))) {
            ::_exit(1);
        }
        const auto victim = AgentRun::create(own, std::move(o), killed);
        (*victim)->start();
        own.run();
        ::_exit(2);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const auto items = readTrajectory(file);
    ASSERT_TRUE(items) << items.error().message;
    EXPECT_EQ(items->back().kind, "tool_result");
    EXPECT_EQ(items->back().title, "verify");
}

} // namespace
} // namespace lathe::agent
