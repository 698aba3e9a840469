// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_driver.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <map>
#include <sys/stat.h>

namespace lathe::test {
namespace {

using namespace lathe::protocol;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const kCountingKernel = R"(#include <lathe/kernel.h>
static int64_t calls = 0;
static void count(lathe::Tensor x, lathe::Tensor y)
{
    ++calls;
    for (int64_t i = 0; i < x.numel(); ++i)
        y.data<float>()[i] = x.data<const float>()[i];
    y.data<float>()[0] = static_cast<float>(calls);
}
LATHE_EXPORT(count, count)
)";

const char* const kThreeCalls = R"(import torch
import lathe_native
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lathe_native.count(x, y)
        lathe_native.count(x, y)
        lathe_native.count(x, y)
        return y
)";

const ScratchFolder& countingFolder()
{
    static const ScratchFolder folder;
    static const bool built =
        (folder.buildKernels(kCountingKernel), folder.write("model_new.py", kThreeCalls), true);
    EXPECT_TRUE(built);
    return folder;
}

std::unique_ptr<PhaseDriver> countingPhase()
{
    auto phase = ZygoteDriver::shared().fork("candidate", 1);
    phase->call(loadCandidate(countingFolder().path(), "native"));
    const UniqueFd first = memoryOf<float>({0, 100}), second = memoryOf<float>({0, 200});
    phase->call(bindInputs({floats({2})}, {}, 0), {first.get()});
    phase->call(bindInputs({floats({2})}, {}, 1), {second.get()});
    return phase;
}

std::vector<float> outputOf(PhaseDriver& phase)
{
    const UniqueFd out = emptyMemory(8);
    phase.call(fillTensors(2), {out.get()});
    return valuesOf<float>(out, 2);
}

ArmWriter timeSets(const std::vector<std::int64_t>& sets, std::int64_t calls)
{
    ArmWriter writer(ArmMessage::Time);
    writer.integers(FieldTag::Ints, sets).integer(FieldTag::Int, calls);
    return writer;
}

struct TraceAnswer
{
    nlohmann::json events;
    std::vector<double> seconds;
};

TraceAnswer traceOf(PhaseDriver& phase, std::int64_t calls)
{
    auto traced = phase.call(
        ArmWriter(ArmMessage::Trace).integer(FieldTag::Int, 0).integer(FieldTag::Int2, calls));
    EXPECT_EQ(traced->type(), ArmMessage::Traced);
    EXPECT_EQ(phase.fds().size(), 1u);
    std::string text(static_cast<std::size_t>(traced->integer(FieldTag::Int)), ' ');
    readMemory(phase.fds().at(0), text.data(), text.size());
    auto json = parseJson(text);
    EXPECT_TRUE(json.has_value());
    return {(*json)["traceEvents"], *traced->floats(FieldTag::Floats)};
}

/// Spans of a category by name.
std::map<std::string, int> countSpans(const nlohmann::json& events, const std::string& category)
{
    std::map<std::string, int> counts;
    for (const auto& event : events)
        if (event.value("cat", "") == category)
            ++counts[event["name"].get<std::string>()];
    return counts;
}

TEST(ArmTiming, TimeCallsForwardExactlyAsOftenAsAskedAndRotates)
{
    auto phase = countingPhase();
    auto timed = phase->call(timeSets({0, 1}, 5));
    EXPECT_EQ(timed->type(), ArmMessage::Timed);
    auto seconds = timed->floats(FieldTag::Floats);
    ASSERT_EQ(seconds->size(), 1u); // no events on the CPU
    EXPECT_GT(seconds->at(0), 0);
    // 5 calls of 3 kernels; the fifth call used set 0 again.
    EXPECT_THAT(outputOf(*phase), ElementsAre(15.f, 100.f));
    phase->call(timeSets({0, 1}, 2));
    EXPECT_THAT(outputOf(*phase), ElementsAre(21.f, 200.f));
    EXPECT_THAT(phase->failureOf(timeSets({}, 2)), HasSubstr("wire:"));
    EXPECT_THAT(phase->failureOf(timeSets({9}, 2)), HasSubstr("no input set 9"));
}

TEST(ArmTiming, MutableInputsAreFreshInEveryTimedCall)
{
    ScratchFolder folder;
    folder.write("model_new.py",
                 "import torch\nclass ModelNew(torch.nn.Module):\n"
                 "    def forward(self, x):\n        return x.add_(1) * 1\n");
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadCandidate(folder.path(), "modelnew"));
    const UniqueFd x = memoryOf<float>({1, 2});
    phase->call(bindInputs({floats({2})}, {0}), {x.get()});
    ArmWriter prepare(ArmMessage::Flush);
    prepare.integers(FieldTag::Ints, {0})
        .integer(FieldTag::Int2, 4)
        .integer(FieldTag::Int, 1 << 20);
    phase->call(prepare);
    for (int round = 0; round < 2; ++round) {
        phase->call(timeSets({0}, 4));
        EXPECT_THAT(outputOf(*phase), ElementsAre(2.f, 3.f));
    }
}

TEST(ArmTiming, TraceShowsThreeSpansForThreeKernelCalls)
{
    auto phase = countingPhase();
    auto one = traceOf(*phase, 1);
    EXPECT_EQ(countSpans(one.events, "kernel"), (std::map<std::string, int>{{"count", 3}}));
    EXPECT_EQ(countSpans(one.events, "runtime"), (std::map<std::string, int>{{"forward 1", 1}}));
    EXPECT_EQ(countSpans(one.events, "operator").count("aten::empty_like"), 1u);
    auto two = traceOf(*phase, 2);
    EXPECT_EQ(countSpans(two.events, "kernel")["count"], 6);

    // The parts lie inside the whole, and the reported sums are those of the spans.
    double kernelUs = 0, start = 0, end = 0;
    for (const auto& event : two.events)
        if (event.value("cat", "") == "runtime") {
            start = start == 0 ? event["ts"].get<double>() : start;
            end = event["ts"].get<double>() + event["dur"].get<double>();
        }
    for (const auto& event : two.events)
        if (event.value("cat", "") == "kernel") {
            kernelUs += event["dur"].get<double>();
            EXPECT_GE(event["ts"].get<double>(), start);
            EXPECT_LE(event["ts"].get<double>() + event["dur"].get<double>(), end + 0.01);
        }
    EXPECT_NEAR(two.seconds.at(0) * 1e6, kernelUs, 0.01);
    EXPECT_NEAR(two.seconds.at(1) * 1e6, end - start, 0.01);
}

TEST(ArmTiming, CompiledReferenceShowsItsGeneratedKernelsAndAgreesWithEager)
{
    ScratchFolder folder;
    const std::string path = folder.write("reference.py", R"(import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x * 2) + 1
def get_inputs():
    return [torch.arange(-4.0, 4.0)]
)");
    auto phase = ZygoteDriver::shared().fork("compile:default", 2);
    phase->call(loadReference(path, {}, false, "default"));
    phase->call(ArmWriter(ArmMessage::MakeInputs).integer(FieldTag::Int, 1));
    auto run = phase->call(runSet(0), {}, 200);
    ASSERT_EQ(run->type(), ArmMessage::Described);
    const UniqueFd out = emptyMemory(32);
    phase->call(fillTensors(2), {out.get()});
    EXPECT_THAT(valuesOf<float>(out, 8), ElementsAre(1.f, 1.f, 1.f, 1.f, 1.f, 3.f, 5.f, 7.f));
    auto traced = traceOf(*phase, 2);
    const auto kernels = countSpans(traced.events, "kernel");
    ASSERT_EQ(kernels.size(), 1u);
    EXPECT_THAT(kernels.begin()->first, HasSubstr("cpp_fused"));
    EXPECT_EQ(kernels.begin()->second, 2);
    EXPECT_GT(traced.seconds.at(0), 0);
}

TEST(ArmTiming, RunOnceRunsTheSameFromFiles)
{
    ScratchFolder folder;
    folder.write(
        "model_new.py",
        "import torch\nclass ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n        print('seen', x.tolist())\n        return x\n");
    auto load = loadCandidate(folder.path(), "modelnew").packet(1);
    auto bind = bindInputs({floats({2})}).packet(2);
    const float x[2] = {1.5f, 2.5f};
    folder.write("load.packet", *load);
    folder.write("bind.packet", *bind);
    folder.write("input_0.bin", std::string(reinterpret_cast<const char*>(x), sizeof x));
    const std::string command = std::string(LATHE_ARM)
                                + " run-once --calls 2 --python " LATHE_TEST_PYTHON " --folder "
                                + folder.path() + " > " + folder.path() + "/out 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0);
    EXPECT_EQ(readFile(folder.path() + "/out").value_or(""), "seen [1.5, 2.5]\nseen [1.5, 2.5]\n");
    folder.write("model_new.py", "raise ValueError('broken')\n");
    EXPECT_NE(std::system(command.c_str()), 0);
    EXPECT_THAT(readFile(folder.path() + "/out").value_or(""),
                HasSubstr("import: ValueError: broken"));
}

} // namespace
} // namespace lathe::test
