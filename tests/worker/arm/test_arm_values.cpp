// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lathe::test {
namespace {

using namespace lathe::protocol;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

ArmValue number(std::int64_t value)
{
    ArmValue out;
    out.kind = ArmValue::Kind::Int;
    out.integer = value;
    return out;
}

ArmValue text(const std::string& value)
{
    ArmValue out;
    out.kind = ArmValue::Kind::String;
    out.text = value;
    return out;
}

ArmWriter makeInputs(int set,
                     const std::string& domain,
                     const std::string& below = {},
                     const std::string& layout = "given",
                     bool vary = true)
{
    ArmValue rule;
    rule.kind = ArmValue::Kind::Tuple;
    rule.items = {number(0), text(domain), text(below), text(layout)};
    return ArmWriter(ArmMessage::MakeInputs)
        .integer(FieldTag::Int, 7 + set)
        .integer(FieldTag::Int2, set)
        .values(FieldTag::Values, {rule})
        .integers(FieldTag::Ints, {vary ? 1 : 0});
}

std::string reference(const std::string& inputs, const std::string& forward = "return x")
{
    return "import torch\nclasses = 5\nclass Model(torch.nn.Module):\n    def forward(self, x):\n  "
           "      "
           + forward + "\ndef get_inputs():\n    return [" + inputs + "]\n";
}

/// One varied input of a set, as floats of `count` elements.
template <class T>
std::vector<T> drawn(const std::string& inputs,
                     const std::string& domain,
                     std::size_t count,
                     const std::string& below = {})
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadReference(folder.write("reference.py", reference(inputs))));
    phase->call(makeInputs(1, domain, below));
    const UniqueFd memory = emptyMemory(count * sizeof(T));
    phase->call(fillTensors(1, 1), {memory.get()});
    return valuesOf<T>(memory, count);
}

std::string
refusal(const std::string& inputs, const std::string& domain, const std::string& below = {})
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadReference(folder.write("reference.py", reference(inputs))));
    return phase->failureOf(makeInputs(0, domain, below, "given", false));
}

TEST(ArmValues, DrawsStayInsideTheDeclaredDomain)
{
    const auto labels = drawn<std::int64_t>("torch.full((64,), 2)", "labels", 64, "classes");
    EXPECT_THAT(labels, Each(testing::AllOf(testing::Ge(0), testing::Lt(5))));
    EXPECT_EQ(labels.front(), 0); // both ends are among them
    EXPECT_EQ(labels.back(), 4);

    const auto rows = drawn<float>("torch.softmax(torch.randn(4, 8), -1)", "probabilities", 32);
    for (int row = 0; row < 4; ++row) {
        double sum = 0;
        for (int i = 0; i < 8; ++i)
            sum += rows[static_cast<std::size_t>(row * 8 + i)];
        EXPECT_NEAR(sum, 1, 1e-5);
    }
    EXPECT_THAT(drawn<float>("torch.rand(50) + 0.1", "positive", 50), Each(testing::Gt(0.f)));

    const auto offsets = drawn<std::int64_t>("torch.tensor([0, 3, 3, 9, 20])", "sorted", 5);
    EXPECT_TRUE(std::is_sorted(offsets.begin(), offsets.end()));
    EXPECT_EQ(offsets.front(), 0);
    EXPECT_EQ(offsets.back(), 20);

    const auto mask = drawn<std::uint8_t>("torch.rand(6, 4) > 2", "mask", 24);
    EXPECT_THAT(mask, Each(testing::AnyOf(0, 1)));

    const auto lower =
        drawn<float>("torch.randn(3, 3).tril() + torch.eye(3) * 10", "triangular", 9);
    EXPECT_EQ(lower[1], 0.f);
    EXPECT_EQ(lower[2], 0.f);
    EXPECT_EQ(lower[5], 0.f);
    EXPECT_NE(lower[3], 0.f);
    EXPECT_GT(lower[0], 5.f); // the diagonal stays the task's own
}

TEST(ArmValues, InputsOutsideTheirDomainAreTheTasksFault)
{
    EXPECT_THAT(
        refusal("torch.tensor([1, 7])", "labels", "classes"),
        HasSubstr("input 0 is declared labels, but get_inputs() gives 7, which is not in 0 ... 4"));
    EXPECT_THAT(refusal("torch.tensor([1.0])", "indices", "4"), HasSubstr("the dtype float32"));
    EXPECT_THAT(refusal("torch.tensor([1.0, -2.0])", "positive"), HasSubstr("a value of -2"));
    EXPECT_THAT(refusal("torch.rand(3, 3) + 1", "probabilities"), HasSubstr("do not add up to 1"));
    EXPECT_THAT(refusal("torch.ones(3, 3)", "triangular"), HasSubstr("neither lower nor upper"));
    EXPECT_THAT(refusal("torch.arange(3)", "mask"), HasSubstr("more than two different values"));
    EXPECT_THAT(refusal("torch.tensor([2, 1])", "sorted"), HasSubstr("values that fall"));
    EXPECT_THAT(refusal("torch.tensor([1])", "labels", "absent"),
                HasSubstr("declared below absent"));
    EXPECT_THAT(refusal("3", "any"), HasSubstr("no tensor, it is a int"));
    EXPECT_EQ(refusal("torch.tensor([1, 4])", "labels", "classes"), "");
}

TEST(ArmValues, LayoutsReachForward)
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadReference(folder.write("reference.py", reference("torch.zeros(3, 5)"))));
    auto made = phase->call(makeInputs(0, "given", {}, "transposed", false));
    auto infos = made->tensors(FieldTag::Tensors);
    ASSERT_EQ(infos->size(), 1u);
    EXPECT_THAT(infos->at(0).shape, ElementsAre(3, 5));
    EXPECT_THAT(infos->at(0).strides, ElementsAre(1, 3));
    EXPECT_THAT(phase->failureOf(makeInputs(1, "given", {}, "channels_last", false)),
                HasSubstr("has 2 axes, not 4"));
}

/// The keys of the dictionary that Run describes, with the names inside each.
std::vector<std::string> sections(const ArmReader& run)
{
    std::vector<std::string> out;
    const auto values = run.values(FieldTag::Values);
    const ArmValue& top = values->at(0);
    for (std::size_t i = 0; i + 1 < top.items.size(); i += 2) {
        std::string line = top.items[i].text;
        if (top.items[i + 1].kind == ArmValue::Kind::Dict)
            for (std::size_t k = 0; k < top.items[i + 1].items.size(); k += 2)
                line += " " + top.items[i + 1].items[k].text;
        out.push_back(line);
    }
    return out;
}

TEST(ArmValues, BuffersBeginEveryRunAsTheyWereLoaded)
{
    ScratchFolder folder;
    const std::string path = folder.write("reference.py", R"(import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.full((1,), 5.0))
    def forward(self, x):
        self.calls += x.sum()
        return x * 2
def get_inputs():
    return [torch.ones(3)]
)");
    auto phase = ZygoteDriver::shared().fork();
    constexpr std::int64_t kBuffers = 2;
    phase->call(loadReference(path).integers(FieldTag::Ints, {kBuffers}));
    phase->call(ArmWriter(ArmMessage::MakeInputs).integer(FieldTag::Int, 1));
    for (int i = 0; i < 2; ++i) {
        auto run = phase->call(runSet(0));
        EXPECT_THAT(sections(*run), ElementsAre("lathe.outputs", "lathe.buffers calls"));
        const UniqueFd out = emptyMemory(12), buffer = emptyMemory(4);
        phase->call(fillTensors(2), {out.get(), buffer.get()});
        EXPECT_THAT(valuesOf<float>(out, 3), Each(2.f));
        EXPECT_THAT(valuesOf<float>(buffer, 1), ElementsAre(8.f)); // 5 + 3, the second time as well
    }
}

TEST(ArmValues, ChangedInputsAreShownAsForwardLeftThem)
{
    ScratchFolder folder;
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadReference(
        folder.write("reference.py", reference("torch.zeros(2)", "return x.add_(1).sum()"))));
    const UniqueFd x = memoryOf<float>({10, 20});
    phase->call(bindInputs({floats({2})}, {0}), {x.get()});
    auto run = phase->call(runSet(0));
    EXPECT_THAT(sections(*run), ElementsAre("lathe.outputs", "lathe.mutated input 0"));
    EXPECT_THAT(*run->integers(FieldTag::Ints), ElementsAre(-1, 0));
    const UniqueFd sum = emptyMemory(4), after = emptyMemory(8);
    phase->call(fillTensors(2), {sum.get(), after.get()});
    EXPECT_THAT(valuesOf<float>(sum, 1), ElementsAre(32.f));
    EXPECT_THAT(valuesOf<float>(after, 2), ElementsAre(11.f, 21.f));
    EXPECT_THAT(valuesOf<float>(x, 2), ElementsAre(10.f, 20.f)); // the judge's own stay
}

TEST(ArmValues, GradientsAreThoseOfTheChainRule)
{
    ScratchFolder folder;
    const std::string path = folder.write("reference.py", R"(import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([2.0, 3.0]))
    def forward(self, x):
        return x * x * self.weight
def get_inputs():
    return [torch.ones(2)]
)");
    auto phase = ZygoteDriver::shared().fork();
    constexpr std::int64_t kGradients = 1;
    phase->call(loadReference(path).integers(FieldTag::Ints, {kGradients}));
    auto made = phase->call(ArmWriter(ArmMessage::MakeInputs).integer(FieldTag::Int, 1));
    EXPECT_EQ(made->tensors(FieldTag::Tensors)->size(), 2u); // x and the output's gradient
    ArmValue x, head, heads;
    x.kind = head.kind = ArmValue::Kind::TensorRef;
    head.integer = 1;
    heads.kind = ArmValue::Kind::Tuple;
    heads.items = {head};
    const UniqueFd at = memoryOf<float>({4, 5}), outer = memoryOf<float>({1, 10});
    phase->call(ArmWriter(ArmMessage::BindInputs)
                    .integer(FieldTag::Int, 3)
                    .tensors(FieldTag::Tensors, {floats({2}), floats({2})})
                    .values(FieldTag::Values, {x, heads}),
                {at.get(), outer.get()});
    auto run = phase->call(runSet(3));
    EXPECT_THAT(sections(*run), ElementsAre("lathe.outputs", "lathe.gradients input 0 weight"));
    const UniqueFd out = emptyMemory(8), ofInput = emptyMemory(8), ofWeight = emptyMemory(8);
    phase->call(fillTensors(2), {out.get(), ofInput.get(), ofWeight.get()});
    EXPECT_THAT(valuesOf<float>(out, 2), ElementsAre(32.f, 75.f));
    EXPECT_THAT(valuesOf<float>(ofInput, 2), ElementsAre(16.f, 300.f));  // 2 x w g
    EXPECT_THAT(valuesOf<float>(ofWeight, 2), ElementsAre(16.f, 250.f)); // x x g
}

TEST(ArmValues, KeywordArgumentsReachBothCalls)
{
    ScratchFolder folder;
    const std::string path = folder.write("reference.py", R"(import torch
class Model(torch.nn.Module):
    def __init__(self, a, b=1):
        super().__init__()
        self.register_buffer("sum", torch.tensor([float(a), float(b)]))
    def forward(self, x):
        return x
def get_inputs(rows=1):
    return [torch.zeros(rows)]
def get_init_inputs():
    return [7]
)");
    auto phase = ZygoteDriver::shared().fork();
    phase->call(loadReference(path, {"get_inputs.rows", "6", "Model.b", "9"}));
    auto init = phase->call(ArmWriter(ArmMessage::GetInitInputs));
    auto values = init->values(FieldTag::Values);
    ASSERT_EQ(values->size(), 2u);
    EXPECT_EQ(values->at(0).integer, 7);
    EXPECT_EQ(values->at(1).items.at(0).text, "lathe.keywords");
    auto made = phase->call(ArmWriter(ArmMessage::MakeInputs).integer(FieldTag::Int, 1));
    EXPECT_THAT(made->tensors(FieldTag::Tensors)->at(0).shape, ElementsAre(6));
    const UniqueFd weight = emptyMemory(8);
    phase->call(fillTensors(0), {weight.get()});
    EXPECT_THAT(valuesOf<float>(weight, 2), ElementsAre(7.f, 9.f));
}

} // namespace
} // namespace lathe::test
