// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <sys/wait.h>

namespace lathe::test {
namespace {

using namespace lathe::protocol;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const kKernels = R"(#include <lathe/kernel.h>
#include <cstdlib>
static void scale(lathe::Tensor x, lathe::Tensor weight, lathe::Tensor y, double factor)
{
    lathe::check(x.isContiguous() && y.sameShape(x), "x and y must be alike");
    const float* in = x.data<const float>();
    const float* w = weight.data<const float>();
    float* out = y.data<float>();
    const int64_t columns = x.size(-1);
#pragma omp parallel for
    for (int64_t i = 0; i < x.numel(); ++i)
        out[i] = in[i] * w[i % columns] * static_cast<float>(factor);
}
static void doubled(lathe::Tensor x, lathe::Tensor y)
{
    lathe::check(x.dtype() == lathe::DType::BFloat16, "bfloat16 wanted");
    for (int64_t i = 0; i < x.numel(); ++i)
        y.data<lathe::BFloat16>()[i] = lathe::BFloat16(2 * float(x.data<lathe::BFloat16>()[i]));
}
static void poke(lathe::Tensor x) { x.data<float>()[1] = 7; }
static void crash(lathe::Tensor, int64_t address) { *reinterpret_cast<volatile int*>(address) = 1; }
static void leave() { std::_Exit(0); }
LATHE_EXPORT(scale, scale)
LATHE_EXPORT(doubled, doubled)
LATHE_EXPORT(poke, poke)
LATHE_EXPORT(crash, crash)
LATHE_EXPORT(leave, leave)
)";

std::string modelNew(const std::string& forward)
{
    return R"(import torch
import lathe_native

class ModelNew(torch.nn.Module):
    def __init__(self, factor=2.0):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(2))
        self.factor = factor

    def forward(self, x):
)" + forward;
}

/// The kernels are compiled once for all cases.
const ScratchFolder& kernelFolder()
{
    static const ScratchFolder folder;
    static const bool built = (folder.buildKernels(kKernels), true);
    EXPECT_TRUE(built);
    return folder;
}

/// A phase with the candidate loaded (weight {3, 5}) and x = {1, 2, 10, 20} bound as set 0.
std::unique_ptr<PhaseDriver> loadedPhase(const std::string& forward,
                                         const std::vector<std::int64_t>& mutableIndexes = {})
{
    kernelFolder().write("model_new.py", modelNew(forward));
    auto phase = ZygoteDriver::shared().fork("candidate", 2);
    const UniqueFd weight = memoryOf<float>({3, 5}), x = memoryOf<float>({1, 2, 10, 20});
    phase->call(loadCandidate(kernelFolder().path(), "native", {}, {"weight"}, {floats({2})}),
                {weight.get()});
    phase->call(bindInputs({floats({2, 2})}, mutableIndexes), {x.get()});
    return phase;
}

std::vector<float> outputOf(PhaseDriver& phase, std::size_t count)
{
    const UniqueFd out = emptyMemory(count * sizeof(float));
    phase.call(fillTensors(2), {out.get()});
    return valuesOf<float>(out, count);
}

int statusOf(const PhaseDriver& phase)
{
    auto status = ZygoteDriver::shared().exitStatus(phase.pid());
    EXPECT_TRUE(status.has_value());
    return status.value_or(-1);
}

TEST(ArmCandidate, NativeKernelComputesWithTheGivenWeights)
{
    auto phase = loadedPhase("        y = torch.empty_like(x)\n"
                             "        lathe_native.scale(x, self.weight, y, self.factor)\n"
                             "        return y\n");
    phase->call(runSet());
    EXPECT_THAT(outputOf(*phase, 4), ElementsAre(6.f, 20.f, 60.f, 200.f)); // x * {3, 5} * 2
}

TEST(ArmCandidate, KernelSeesBFloat16)
{
    auto phase = loadedPhase("        h = x.to(torch.bfloat16)\n"
                             "        y = torch.empty_like(h)\n"
                             "        lathe_native.doubled(h, y)\n"
                             "        return y.float()\n");
    phase->call(runSet());
    EXPECT_THAT(outputOf(*phase, 4), ElementsAre(2.f, 4.f, 20.f, 40.f));
}

TEST(ArmCandidate, KernelMistakesBecomePythonErrorsWithTheLine)
{
    auto failureOf = [](const std::string& line) {
        auto phase = loadedPhase("        y = torch.empty_like(x)\n        " + line
                                 + "\n        return y\n");
        phase->send(runSet());
        auto failed = phase->receive(60);
        EXPECT_TRUE(failed && failed->type() == ArmMessage::Failed);
        EXPECT_EQ(failed->integer(FieldTag::Int), 12) << failed->text(FieldTag::Text3);
        EXPECT_THAT(failed->text(FieldTag::Text4), HasSubstr("model_new.py"));
        return failed->text(FieldTag::Text) + ": " + failed->text(FieldTag::Text2);
    };
    EXPECT_EQ(failureOf("lathe_native.scale(x, self.weight, y[:1], 1.0)"),
              "forward: RuntimeError: scale: x and y must be alike");
    EXPECT_EQ(failureOf("lathe_native.scale(x, self.weight, y)"),
              "forward: RuntimeError: scale: takes 4 arguments, got 3");
    EXPECT_EQ(failureOf("lathe_native.scale(x.double(), self.weight, y, 1)"),
              "forward: RuntimeError: scale: the tensor holds float64, the kernel reads float32");
    EXPECT_EQ(failureOf("lathe_native.scale(x, self.weight, y, 'two')"),
              "forward: TypeError: scale: argument 3 is a str; kernels take tensors, int, float, "
              "bool and None");
    EXPECT_EQ(failureOf("lathe_native.scail(x)"),
              "forward: AttributeError: lathe_native has no kernel 'scail'; the library exports: "
              "crash, doubled, leave, "
              "poke, scale");
}

TEST(ArmCandidate, WritingAReadOnlyInputIsSaidAndKillsThePhase)
{
    auto phase = loadedPhase("        lathe_native.poke(x)\n        return x * 1\n");
    EXPECT_THAT(phase->failureOf(runSet()), HasSubstr("contract: The candidate wrote to input 0"));
    const int status = statusOf(*phase);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    const std::string printed = phase->output();
    EXPECT_THAT(printed, HasSubstr("SIGSEGV in kernel poke"));
    EXPECT_THAT(printed, HasSubstr("model_new.py")); // the Python stack
}

TEST(ArmCandidate, MutableInputsAreFreshInEveryCallAndCanBeReadBack)
{
    auto phase = loadedPhase("        x.add_(1)\n        return x\n", {0});
    for (int i = 0; i < 2; ++i) {
        auto run = phase->call(runSet());
        // The output is the input, and so is what is shown of it afterwards.
        EXPECT_THAT(*run->integers(FieldTag::Ints), ElementsAre(0, 0));
        EXPECT_THAT(outputOf(*phase, 4), ElementsAre(2.f, 3.f, 11.f, 21.f));
    }
    const UniqueFd after = emptyMemory(16);
    phase->call(fillTensors(1), {after.get()});
    EXPECT_THAT(valuesOf<float>(after, 4), ElementsAre(2.f, 3.f, 11.f, 21.f));
}

TEST(ArmCandidate, CrashAndExitAreReportedByTheZygote)
{
    auto crashed = loadedPhase("        lathe_native.crash(x, 64)\n        return x * 1\n");
    crashed->send(runSet());
    EXPECT_FALSE(crashed->receive(20).has_value());
    EXPECT_FALSE(crashed->lastWasTimeout());
    const int signal = statusOf(*crashed);
    EXPECT_TRUE(WIFSIGNALED(signal) && WTERMSIG(signal) == SIGSEGV);

    auto left = loadedPhase("        lathe_native.leave()\n        return x * 1\n");
    left->send(runSet());
    EXPECT_FALSE(left->receive(20).has_value());
    const int code = statusOf(*left);
    EXPECT_TRUE(WIFEXITED(code) && WEXITSTATUS(code) == 0);
}

TEST(ArmCandidate, WeightsThatDoNotFitAreNamed)
{
    kernelFolder().write("model_new.py", modelNew("        return x\n"));
    const UniqueFd memory = memoryOf<float>({1, 2, 3});
    auto failureOf = [&](const std::string& name, std::vector<std::int64_t> shape) {
        return ZygoteDriver::shared().fork()->failureOf(
            loadCandidate(kernelFolder().path(), "native", {}, {name}, {floats(std::move(shape))}),
            {memory.get()});
    };
    const std::string wrongName = failureOf("gamma", {2});
    EXPECT_THAT(wrongName, HasSubstr("load: the weights do not match"));
    EXPECT_THAT(wrongName, HasSubstr("ModelNew has, but the reference has not: weight"));
    EXPECT_THAT(wrongName, HasSubstr("the reference has, but ModelNew has not: gamma"));
    EXPECT_THAT(failureOf("weight", {3}), HasSubstr("weight has shape [2], the reference's [3]"));
}

TEST(ArmCandidate, HooksConvertWeightsPrepareAndDecline)
{
    ScratchFolder folder;
    folder.write("model_new.py", R"(import torch
class ModelNew(torch.nn.Module):
    def load_reference_state(self, state):
        self.sum = state['a'] + state['b']
    def prepare(self):
        self.sum = self.sum * 10
    def supports(self, x):
        return x.shape[0] < 3
    def forward(self, x):
        return x * self.sum
)");
    auto phase = ZygoteDriver::shared().fork();
    const UniqueFd a = memoryOf<float>({1}), b = memoryOf<float>({2}),
                   x = memoryOf<float>({1, 2, 3});
    phase->call(
        loadCandidate(folder.path(), "modelnew", {}, {"a", "b"}, {floats({1}), floats({1})}),
        {a.get(), b.get()});
    phase->call(bindInputs({floats({2})}), {x.get()});
    phase->call(runSet());
    EXPECT_THAT(outputOf(*phase, 2), ElementsAre(30.f, 60.f));
    EXPECT_THAT(phase->failureOf(bindInputs({floats({3})}), {x.get()}), HasSubstr("declined:"));
}

TEST(ArmCandidate, OutputsThatCouldStillComputeAreRefused)
{
    auto lazy = loadedPhase(
        "        class Lazy(torch.Tensor): pass\n        return (x * 1).as_subclass(Lazy)\n");
    EXPECT_THAT(lazy->failureOf(runSet()), HasSubstr("contract: Output 0 is of a subclass"));
    auto object = loadedPhase("        return {'y': object()}\n");
    EXPECT_THAT(object->failureOf(runSet()),
                HasSubstr("contract: The result of forward holds a object"));
    auto sparse = loadedPhase("        return x.to_sparse()\n");
    EXPECT_THAT(sparse->failureOf(runSet()), HasSubstr("contract: Output 0 is not a dense tensor"));
}

TEST(ArmCandidate, AFileNamedTorchShadowsNothing)
{
    ScratchFolder folder;
    folder.write("torch.py", "raise RuntimeError('shadowed')\n");
    folder.write("random.py", "raise RuntimeError('shadowed')\n");
    folder.write("own_module.py", "answer = 42\n");
    folder.write("model_new.py",
                 "import torch, random, own_module\n"
                 "class ModelNew(torch.nn.Module):\n"
                 "    def forward(self, x):\n        return x + own_module.answer\n");
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadCandidate(folder.path(), "modelnew"));
    const UniqueFd x = memoryOf<float>({1});
    phase->call(bindInputs({floats({1})}), {x.get()});
    phase->call(runSet());
    EXPECT_THAT(outputOf(*phase, 1), ElementsAre(43.f));
}

} // namespace
} // namespace lathe::test
