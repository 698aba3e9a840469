// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::test {
namespace {

using namespace lathe::protocol;
using testing::ElementsAre;
using testing::HasSubstr;

const char* const kReference = R"(import torch
import torch.nn as nn

rows = 4
hidden = rows * 2
scale = 2.0

class Model(nn.Module):
    def __init__(self, hidden, scale):
        super().__init__()
        self.weight = nn.Parameter(torch.arange(hidden, dtype=torch.float32))
        self.scale = scale

    def forward(self, x, shift):
        return x * self.scale + self.weight + shift

def get_inputs():
    return [torch.rand(rows, hidden), 3]

def get_init_inputs():
    return [hidden, scale]
)";

/// The values that a set of the arm holds, by FillTensors.
std::vector<float> inputValues(PhaseDriver& phase, std::int64_t set, std::size_t count)
{
    const UniqueFd memory = emptyMemory(count * sizeof(float));
    phase.call(fillTensors(1, set), {memory.get()});
    return valuesOf<float>(memory, count);
}

TEST(ArmReference, ReadyNamesTorchAndTheZygoteHasOneThread)
{
    ZygoteDriver& zygote = ZygoteDriver::shared();
    EXPECT_THAT(zygote.torchVersion(), testing::StartsWith("2."));
    const std::string tasks = "/proc/" + std::to_string(zygote.pid()) + "/task";
    const auto threads = std::distance(std::filesystem::directory_iterator(tasks),
                                       std::filesystem::directory_iterator());
    EXPECT_EQ(threads, 1) << "a thread before the fork would be missing after it";
}

TEST(ArmReference, ReplacedConstantsReachWhatIsDerivedFromThem)
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    phase->call(
        loadReference(folder.write("reference.py", kReference), {"rows", "3", "scale", "-1.5"}));
    auto init = phase->call(ArmWriter(ArmMessage::GetInitInputs));
    auto values = init->values(FieldTag::Values);
    ASSERT_EQ(values->size(), 2u);
    EXPECT_EQ(values->at(0).integer, 6);
    EXPECT_EQ(values->at(1).real, -1.5);
    auto made = phase->call(
        ArmWriter(ArmMessage::MakeInputs).integer(FieldTag::Int, 5).integer(FieldTag::Int2, 0));
    auto infos = made->tensors(FieldTag::Tensors);
    ASSERT_EQ(infos->size(), 1u);
    EXPECT_THAT(infos->at(0).shape, ElementsAre(3, 6));
    auto arguments = made->values(FieldTag::Values);
    ASSERT_EQ(arguments->size(), 2u);
    EXPECT_EQ(arguments->at(0).kind, ArmValue::Kind::TensorRef);
    EXPECT_EQ(arguments->at(1).integer, 3);
}

TEST(ArmReference, ForwardOnBoundInputsGivesTheArithmetic)
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadReference(folder.write("reference.py", kReference), {"hidden", "2"}));
    auto weights = phase->call(ArmWriter(ArmMessage::GetWeights));
    EXPECT_THAT(*weights->strings(FieldTag::Strings), ElementsAre("weight"));
    const UniqueFd weight = emptyMemory(2 * sizeof(float));
    phase->call(fillTensors(0), {weight.get()});
    EXPECT_THAT(valuesOf<float>(weight, 2), ElementsAre(0.f, 1.f));

    const UniqueFd x = memoryOf<float>({1, 2, 3, 4});
    std::vector<ArmValue> arguments(2);
    arguments[0].kind = ArmValue::Kind::TensorRef;
    arguments[1].kind = ArmValue::Kind::Int;
    arguments[1].integer = 10;
    ArmWriter bind(ArmMessage::BindInputs);
    bind.integer(FieldTag::Int, 4)
        .tensors(FieldTag::Tensors, {floats({2, 2})})
        .values(FieldTag::Values, arguments);
    phase->call(bind, {x.get()});
    auto run = phase->call(runSet(4));
    EXPECT_EQ(run->type(), ArmMessage::Described);
    EXPECT_THAT(*run->integers(FieldTag::Ints), ElementsAre(-1));
    const UniqueFd out = emptyMemory(4 * sizeof(float));
    phase->call(fillTensors(2), {out.get()});
    EXPECT_THAT(valuesOf<float>(out, 4), ElementsAre(12.f, 15.f, 16.f, 19.f)); // 2x + {0, 1} + 10
}

TEST(ArmReference, SeedsDecideTheInputs)
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadReference(folder.write("reference.py", kReference)));
    for (const auto& [set, seed] : {std::pair{0, 1}, std::pair{1, 2}, std::pair{2, 1}})
        phase->call(ArmWriter(ArmMessage::MakeInputs)
                        .integer(FieldTag::Int, seed)
                        .integer(FieldTag::Int2, set));
    EXPECT_EQ(inputValues(*phase, 0, 32), inputValues(*phase, 2, 32));
    EXPECT_NE(inputValues(*phase, 0, 32), inputValues(*phase, 1, 32));
}

TEST(ArmReference, GoldenIsFloat64ThroughCastsInsideForward)
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    const std::string path = folder.write("reference.py", R"(import torch
class Model(torch.nn.Module):
    def forward(self, x):
        narrow = x.to(torch.bfloat16).float() / torch.full((1,), 3.0, dtype=torch.float32)
        return narrow.to(x.dtype), x.to(torch.float16)
def get_inputs():
    return [torch.ones(1)]
)");
    phase->call(loadReference(path, {}, true));
    const UniqueFd x = memoryOf<float>({1.001953125f}); // 1 + 2^-9: bfloat16 would lose it
    phase->call(bindInputs({floats({1})}), {x.get()});
    auto run = phase->call(runSet(0, true));
    auto infos = run->tensors(FieldTag::Tensors);
    EXPECT_EQ(infos->at(0).dtype, DType::Float64);
    auto structure = run->values(FieldTag::Values);
    EXPECT_EQ(structure->at(0).kind, ArmValue::Kind::Tuple);
    const UniqueFd first = emptyMemory(8), second = emptyMemory(8);
    phase->call(fillTensors(2), {first.get(), second.get()});
    EXPECT_EQ(valuesOf<double>(first, 1)[0], 1.001953125 / 3.0);
    // The same forward without golden rounds: that it can differ is what makes the line above a
    // test.
    phase->call(bindInputs({floats({1})}), {x.get()});
    phase->call(runSet(0));
    const UniqueFd narrow = emptyMemory(4), half = emptyMemory(2);
    phase->call(fillTensors(2), {narrow.get(), half.get()});
    EXPECT_EQ(valuesOf<float>(narrow, 1)[0], 1.0f / 3.0f);
}

TEST(ArmReference, FailuresNameStageFileAndLine)
{
    ScratchFolder folder;
    const std::string path =
        folder.write("reference.py", "import torch\nx = 1\nraise ValueError('no such luck')\n");
    auto phase = ZygoteDriver::shared().fork();
    phase->send(loadReference(path));
    auto failed = phase->receive(60);
    ASSERT_TRUE(failed && failed->type() == ArmMessage::Failed);
    EXPECT_EQ(failed->text(FieldTag::Text), "import");
    EXPECT_EQ(failed->text(FieldTag::Text2), "ValueError: no such luck");
    EXPECT_THAT(failed->text(FieldTag::Text3), HasSubstr("raise ValueError"));
    EXPECT_THAT(failed->text(FieldTag::Text3), testing::Not(HasSubstr("<lathe>")));
    EXPECT_EQ(failed->integer(FieldTag::Int), 3);
    EXPECT_EQ(failed->text(FieldTag::Text4), path);

    auto failureOf = [&](const std::string& text, const std::vector<std::string>& constants = {}) {
        return ZygoteDriver::shared().fork()->failureOf(
            loadReference(folder.write("other.py", text), constants));
    };
    EXPECT_THAT(failureOf("rows = 4\n", {"cols", "3"}),
                HasSubstr("constants: the task has no top-level constant cols"));
    EXPECT_THAT(failureOf("rows = 4\n", {"rows", "__import__('os')"}),
                HasSubstr("not a Python literal"));
    EXPECT_THAT(failureOf("def f(:\n"), HasSubstr("import: SyntaxError"));
    EXPECT_THAT(failureOf("import sys\nsys.exit(0)\n"), HasSubstr("import: SystemExit"));
    EXPECT_THAT(failureOf("x = 1\n"), HasSubstr("defines no Model"));
}

TEST(ArmReference, EndlessLoopIsKilledAndTheZygoteServesOn)
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    phase->send(loadReference(folder.write("reference.py", "while True: pass\n")));
    EXPECT_FALSE(phase->receive(0.5).has_value());
    EXPECT_TRUE(phase->lastWasTimeout());
    kill(phase->pid(), SIGKILL);
    auto status = ZygoteDriver::shared().exitStatus(phase->pid());
    ASSERT_TRUE(status.has_value());
    EXPECT_TRUE(WIFSIGNALED(*status) && WTERMSIG(*status) == SIGKILL);
    EXPECT_EQ(ZygoteDriver::shared().fork()->call(ArmWriter(ArmMessage::Null))->type(),
              ArmMessage::Ok);
}

TEST(ArmReference, BadRequestsAreAnsweredNotDiedOf)
{
    auto phase = ZygoteDriver::shared().fork();
    EXPECT_THAT(phase->failureOf(runSet(3)), HasSubstr("wire: No model"));
    EXPECT_THAT(phase->failureOf(ArmWriter(ArmMessage::Fork)), HasSubstr("wire:"));
    EXPECT_THAT(phase->failureOf(bindInputs({floats({4})})), HasSubstr("differ in number"));
    const UniqueFd small = emptyMemory(8);
    EXPECT_THAT(phase->failureOf(bindInputs({floats({4})}), {small.get()}),
                HasSubstr("8 bytes, the tensor needs 16"));
    EXPECT_THAT(phase->failureOf(ArmWriter(ArmMessage::Flush).integer(FieldTag::Int, -1)),
                HasSubstr("negative"));
    EXPECT_THAT(phase->failureOf(ArmWriter(ArmMessage::Time).integer(FieldTag::Int, -5)),
                HasSubstr("wire:"));
    EXPECT_EQ(phase->call(ArmWriter(ArmMessage::Null))->type(), ArmMessage::Ok);
}

TEST(ArmReference, OpenMpWorksAfterTheFork)
{
    ScratchFolder folder;
    const std::string path = folder.write("reference.py", R"(import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tensor([torch.get_num_threads()]), (x @ x).sum().reshape(1)
def get_inputs():
    return [torch.ones(512, 512)]
)");
    auto phase = ZygoteDriver::shared().fork("test", 2);
    phase->call(loadReference(path));
    phase->call(ArmWriter(ArmMessage::MakeInputs).integer(FieldTag::Int, 1));
    phase->call(runSet(0));
    const UniqueFd threads = emptyMemory(8), sum = emptyMemory(4);
    phase->call(fillTensors(2), {threads.get(), sum.get()});
    EXPECT_EQ(valuesOf<std::int64_t>(threads, 1)[0], 2);
    EXPECT_EQ(valuesOf<float>(sum, 1)[0], 134217728.f); // 512^3
}

TEST(ArmReference, AnotherUserIdCannotReachTheZygote)
{
    if (geteuid() != 0)
        GTEST_SKIP() << "needs root to change the user id";
    ScratchFolder folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
    const std::string path = folder.write("reference.py", R"(import os, signal
parent = os.getppid()
seen = [os.getuid(), os.getgroups() == []]
for attempt in (lambda: os.kill(parent, signal.SIGKILL), lambda: open(f'/proc/{parent}/mem', 'rb'), lambda: os.setuid(0)):
    try:
        attempt()
        seen.append('done')
    except PermissionError:
        seen.append('refused')
raise ValueError(str(seen))
)");
    auto phase = ZygoteDriver::shared().fork("test", 1, 61234);
    EXPECT_EQ(phase->failureOf(loadReference(path)),
              "import: ValueError: [61234, True, 'refused', 'refused', 'refused']");
}

} // namespace
} // namespace lathe::test
