// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/protocol/messages.h>

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::protocol;

namespace {

EvaluateRequest sample()
{
    EvaluateRequest request;
    request.task.key = "starter/x";
    request.task.source = "import torch\n# \xff not UTF-8";
    request.task.variants = {{"small", {{"rows", "4"}}, "cpu", true, false},
                             {"odd", {}, "any", false, true}};
    request.task.mutates = {1};
    request.task.tolerance.relative = 0.5;
    request.task.inputs = {{2, "labels", "classes", "transposed"}};
    request.task.outputs = {{1, "ties", "input:0", -2, {0.25, {}}}};
    request.task.free = {{"rows", 2, 64, 4}};
    request.task.buffers = "compare";
    request.task.backward = true;
    request.candidate = CandidateSpec{
        "c1", "c0", "native", {{"model_new.py", "a"}, {"kernels/k.cpp", "b"}}, {"-O2"}};
    request.parent = CandidateSpec{"c0", "", "native", {{"model_new.py", "p"}}, {}};
    request.tier = Tier::Quick;
    request.until = Until::Bench;
    request.variants = {"small"};
    request.replaySeed = 0xffffffffffffffffull;
    return request;
}

TEST(Request, TravelsWhole)
{
    Frame frame = encodeRequest(7, sample());
    EXPECT_EQ(frame.attachments.size(), 4u);
    EXPECT_EQ(requestMethod(frame).value(), "evaluate");
    const auto back = decodeEvaluateRequest(frame);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->task.source, sample().task.source);
    ASSERT_EQ(back->task.variants.size(), 2u);
    EXPECT_EQ(back->task.variants[0].constants[0].literal, "4");
    EXPECT_TRUE(back->task.variants[0].headline);
    EXPECT_TRUE(back->task.variants[1].hidden);
    EXPECT_EQ(back->task.tolerance.relative, 0.5);
    EXPECT_FALSE(back->task.tolerance.absolute);
    ASSERT_EQ(back->task.inputs.size(), 1u);
    EXPECT_EQ(back->task.inputs[0].index, 2);
    EXPECT_EQ(back->task.inputs[0].domain, "labels");
    EXPECT_EQ(back->task.inputs[0].below, "classes");
    EXPECT_EQ(back->task.inputs[0].layout, "transposed");
    ASSERT_EQ(back->task.outputs.size(), 1u);
    EXPECT_EQ(back->task.outputs[0].compare, "ties");
    EXPECT_EQ(back->task.outputs[0].of, "input:0");
    EXPECT_EQ(back->task.outputs[0].axis, -2);
    EXPECT_EQ(back->task.outputs[0].tolerance.relative, 0.25);
    ASSERT_EQ(back->task.free.size(), 1u);
    EXPECT_EQ(back->task.free[0].multiple, 4);
    EXPECT_EQ(back->task.buffers, "compare");
    EXPECT_TRUE(back->task.backward);
    ASSERT_TRUE(back->candidate);
    EXPECT_EQ(back->candidate->files[1].path, "kernels/k.cpp");
    EXPECT_EQ(back->candidate->files[1].text, "b");
    EXPECT_EQ(back->candidate->flags, std::vector<std::string>{"-O2"});
    ASSERT_TRUE(back->parent);
    EXPECT_EQ(back->parent->files[0].text, "p");
    EXPECT_EQ(back->tier, Tier::Quick);
    EXPECT_EQ(back->until, Until::Bench);
    EXPECT_EQ(back->replaySeed, 0xffffffffffffffffull);
}

TEST(Request, UnknownMembersAreIgnoredWrongTypesAreNot)
{
    const auto decode = [](std::string json) {
        Frame frame{FrameType::Request, 1, std::move(json), {"src"}};
        return decodeEvaluateRequest(frame);
    };
    EXPECT_TRUE(
        decode(R"({"method":"evaluate","future":[1],"task":{"attachment":0,"colour":"red"}})"));
    EXPECT_TRUE(decode(R"({"method":"evaluate","tier":null,"task":{"attachment":0}})"));
    EXPECT_FALSE(decode(R"({"method":"evaluate","tier":"fast","task":{"attachment":0}})"));
    EXPECT_FALSE(decode(R"({"method":"evaluate","timeoutSeconds":"9","task":{"attachment":0}})"));
    EXPECT_FALSE(decode(R"({"method":"evaluate","deviceIndex":1e300,"task":{"attachment":0}})"));
    EXPECT_FALSE(decode(R"({"method":"evaluate","task":{"attachment":1}})"));
    EXPECT_FALSE(decode(R"({"method":"evaluate","task":{"attachment":0,"mutates":["x"]}})"));
    EXPECT_FALSE(decode(R"({"method":"evaluate","task":{"attachment":0},
        "candidate":{"files":[{"path":"../../etc/passwd","attachment":0}]}})"));
    EXPECT_FALSE(decode(R"({"task":{"attachment":0}})"));
    EXPECT_FALSE(decode("[]"));
    EXPECT_FALSE(decode(""));
}

TEST(Request, ExecKeepsItsCommand)
{
    Frame frame = encodeRequest(3, ExecRequest{sample(), {"perf", "stat"}});
    EXPECT_EQ(requestMethod(frame).value(), "exec");
    const auto back = decodeExecRequest(frame);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->command, (std::vector<std::string>{"perf", "stat"}));
    EXPECT_EQ(back->what.candidate->id, "c1");
}

template <class T>
T throughTheWire(const Event& event)
{
    Frame frame = encodeEvent(9, event);
    auto back = decodeEvent(frame);
    EXPECT_TRUE(back);
    return std::get<T>(std::move(back.value()));
}

TEST(Events, TravelWhole)
{
    BuildReport report;
    report.status = "failed";
    report.diagnostics = {{"k.cpp", 3, 5, "error", "no \xff"}};
    report.kernels = {{"f", 32, std::nullopt, std::nullopt, 8}};
    report.log = std::string(3 << 20, 'x');
    const auto build = throughTheWire<BuildEvent>(BuildEvent{report});
    EXPECT_EQ(build.report.log.size(), std::size_t{3} << 20);
    EXPECT_EQ(build.report.diagnostics[0].line, 3);
    EXPECT_EQ(build.report.kernels[0].registers, 32);
    EXPECT_FALSE(build.report.kernels[0].sharedBytes);

    const auto gate = throughTheWire<GateEvent>(
        GateEvent{{"numerics", GateStatus::Warn, "why", R"({"maxAbs":0.5})"}});
    EXPECT_EQ(gate.gate.status, GateStatus::Warn);
    EXPECT_EQ(gate.gate.detailJson, R"({"maxAbs":0.5})");

    TimingRow row;
    row.arm = "eager";
    row.medianUs = 12.5;
    row.samplesUs = {1, 2, 3};
    EXPECT_EQ(throughTheWire<TimingEvent>(TimingEvent{row}).row.samplesUs.size(), 3u);
    EXPECT_EQ(
        throughTheWire<ComparisonEvent>(ComparisonEvent{{"a", "b", "v", "warm", 2, 1, 3, "faster"}})
            .comparison.high,
        3);
    const auto trace = throughTheWire<TraceEvent>(TraceEvent{"eager", "v", "evidence", 4, "[]"});
    EXPECT_EQ(trace.calls, 4);
    EXPECT_EQ(trace.chromeJson, "[]");
    EXPECT_EQ(throughTheWire<LogEvent>(LogEvent{"tool", "hi"}).text, "hi");
    EXPECT_EQ(throughTheWire<StageEvent>(StageEvent{"build", "g++", 0.5}).fraction, 0.5);
    EXPECT_EQ(throughTheWire<WarningEvent>(WarningEvent{"w"}).text, "w");
}

TEST(Events, StayBelowTheJsonLimitWhateverIsInThem)
{
    EXPECT_TRUE(encodeFrame(encodeEvent(1, LogEvent{"candidate", std::string(5 << 20, '\x01')})));
    TimingRow row;
    row.samplesUs.assign(1'000'000, 1.0 / 3.0);
    EXPECT_TRUE(encodeFrame(encodeEvent(1, TimingEvent{row})));
}

TEST(Summary, TravelsWhole)
{
    EvaluateDone done;
    done.verdict = Verdict::LoadFailed;
    done.reason = "why";
    done.target.torch = "2.11";
    done.conditions.threads = 2;
    done.limitJson = R"({"bytes":12})";
    done.aaFloorPercent = 0.25;
    done.seeds = {1, 0xffffffffffffffffull};
    done.samplingSeconds = 0.5;
    const auto back = decodeDone(encodeDone(5, done));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->verdict, Verdict::LoadFailed);
    EXPECT_EQ(back->target.torch, "2.11");
    EXPECT_EQ(back->conditions.threads, 2);
    EXPECT_EQ(back->limitJson, R"({"bytes":12})");
    EXPECT_EQ(back->aaFloorPercent, 0.25);
    EXPECT_EQ(back->seeds, done.seeds);
    EXPECT_FALSE(decodeDone(encodeDone(5, EvaluateDone{}))->verdict);

    const Error error = decodeFailure(encodeFailure(5, {ErrorCode::Refused, "no", "detail"}));
    EXPECT_EQ(error.code, ErrorCode::Refused);
    EXPECT_EQ(error.detail, "detail");

    WorkerHello hello;
    hello.pid = 42;
    hello.devices = {"cpu"};
    hello.capabilities = {{"nvcc", "missing", "", "install it"}};
    const auto greeted = decodeHello(encodeHello(hello));
    ASSERT_TRUE(greeted);
    EXPECT_EQ(greeted->version, kProtocolVersion);
    EXPECT_EQ(greeted->capabilities[0].fix, "install it");
}

} // namespace
