// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "attested.h"
#include "moving_inputs.h"

#include <lathe/worker/memory.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

using namespace lathe;
using namespace lathe::worker;

namespace {

constexpr std::int64_t kFloats = 64;
constexpr std::int64_t kIndexes = 8;

/// A float tensor that is `value` everywhere and an integer tensor likewise.
InputSet setOf(MemorySpace& memory, float value)
{
    InputSet set;
    set.infos = {{protocol::DType::Float32, {kFloats}, {}},
                 {protocol::DType::Int64, {kIndexes}, {}}};
    set.inputs = std::move(allocateFor(memory, set.infos).value());
    for (std::int64_t i = 0; i < kFloats; ++i) {
        std::memcpy(set.inputs[0]->hostView().data() + 4 * i, &value, 4);
    }
    const auto integer = static_cast<std::int64_t>(value);
    for (std::int64_t i = 0; i < kIndexes; ++i) {
        std::memcpy(set.inputs[1]->hostView().data() + 8 * i, &integer, 8);
    }
    return set;
}

/// The tensors as a process sees them that has mapped them read-only.
class Reader
{
public:
    explicit Reader(const MovingInputs& moving)
    {
        const auto fds = moving.fds();
        m_floats = mmap(nullptr, 4 * kFloats, PROT_READ, MAP_SHARED, fds[0], 0);
        m_indexes = mmap(nullptr, 8 * kIndexes, PROT_READ, MAP_SHARED, fds[1], 0);
    }
    ~Reader()
    {
        munmap(m_floats, 4 * kFloats);
        munmap(m_indexes, 8 * kIndexes);
    }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    [[nodiscard]] int floatsThatAre(float value) const
    {
        const auto* const data = static_cast<const float*>(m_floats);
        return static_cast<int>(std::count(data, data + kFloats, value));
    }
    [[nodiscard]] int indexesThatAre(std::int64_t value) const
    {
        const auto* const data = static_cast<const std::int64_t*>(m_indexes);
        return static_cast<int>(std::count(data, data + kIndexes, value));
    }

private:
    void* m_floats;
    void* m_indexes;
};

TEST(MovingInputs, ContentsChangeUnderTheReader)
{
    const auto memory = makeHostMemory();
    const InputSet a = setOf(*memory, 1);
    const InputSet b = setOf(*memory, 2);
    const auto moving = std::move(MovingInputs::make(*memory, a).value());
    const Reader reader(*moving);
    EXPECT_EQ(reader.floatsThatAre(1), kFloats);
    ASSERT_TRUE(moving->show(b));
    EXPECT_EQ(reader.floatsThatAre(2), kFloats);
    EXPECT_EQ(reader.indexesThatAre(2), kIndexes);
    std::mt19937_64 random(7);
    ASSERT_TRUE(moving->showVaried(a, b, random));
    EXPECT_EQ(reader.floatsThatAre(1), kFloats - 1) << "one element of every floating-point tensor";
    EXPECT_EQ(reader.floatsThatAre(2), 1);
    EXPECT_EQ(reader.indexesThatAre(1), kIndexes) << "integers may only make sense together";
}

TEST(MovingInputs, OnlySetsOfTheSameKindCanStandForEachOther)
{
    const auto memory = makeHostMemory();
    const InputSet a = setOf(*memory, 1);
    InputSet b = setOf(*memory, 2);
    EXPECT_TRUE(sameKind(a, b));
    b.infos[0].shape = {kFloats / 2, 2};
    EXPECT_FALSE(sameKind(a, b));
    b.infos[0] = a.infos[0];
    b.infos[0].strides = {2};
    EXPECT_FALSE(sameKind(a, b)) << "an arm copies what has another layout";
    b.infos[0] = a.infos[0];
    protocol::ArmValue number;
    number.kind = protocol::ArmValue::Kind::Float;
    number.real = 0.5;
    b.arguments.push_back(number);
    EXPECT_FALSE(sameKind(a, b));
    EXPECT_FALSE(sameKind(InputSet(), InputSet())) << "no inputs, nothing to exchange";
}

TEST(MovingInputs, APatchIsTheDifferenceOfTwoSets)
{
    const auto memory = makeHostMemory();
    const InputSet a = setOf(*memory, 1);
    const InputSet b = setOf(*memory, 1);
    const float two = 2;
    for (const std::size_t element : {0, 17, 63}) {
        std::memcpy(b.inputs[0]->hostView().data() + 4 * element, &two, 4);
    }
    const auto patch = MovingInputs::difference(a, b);
    ASSERT_TRUE(patch);
    // 64 floats are 4 pieces of 64 bytes; the elements lie in pieces 0, 1 and 3.
    ASSERT_EQ(patch->pieces.size(), 3u);
    EXPECT_EQ(patch->pieces[2].offset, 192u);
    const auto moving = std::move(MovingInputs::make(*memory, a).value());
    const Reader reader(*moving);
    ASSERT_TRUE(moving->apply(*patch));
    EXPECT_EQ(reader.floatsThatAre(2), 3);
    EXPECT_EQ(reader.floatsThatAre(1), kFloats - 3);
    EXPECT_EQ(reader.indexesThatAre(1), kIndexes);
}

TEST(AttestedTime, AChainIsHeldAgainstTheHeadlineAndColdCaches)
{
    AttestedTime time;
    time.chainCalls = 10;
    time.chainPairs = 15;
    time.chainPairsAgainst = 15;
    time.headlineUs = 1000;
    time.coldUs = 200;
    // 1.5 x 1000 + 2 x 200 + 100 / 10
    EXPECT_DOUBLE_EQ(time.chainMostUs(), 1910);
    time.chainUs = 1909;
    EXPECT_EQ(time.against(), "");
    time.chainUs = 1911;
    EXPECT_NE(time.against().find("less work"), std::string::npos);
    time.chainPairsAgainst = 13;
    EXPECT_EQ(time.against(), "") << "timed calls beside them were as slow in two of 15";
    time.chainPairsAgainst = 14; // over 90 %
    EXPECT_NE(time.against(), "");
    time.coldUs = 0;
    EXPECT_EQ(time.against(), "") << "what memory gives is not known";
    time.coldUs = 200;
    time.chainCalls = 0;
    EXPECT_EQ(time.against(), "") << "no chain";
}

AttestedTime singles(double freshUs, double repeatUs, double lateUs)
{
    AttestedTime time;
    time.trials = 9;
    time.freshUs = time.freshMedianUs = freshUs;
    time.repeatUs = time.repeatMedianUs = repeatUs;
    time.lateUs = lateUs;
    time.timeUs = freshUs + lateUs;
    return time;
}

TEST(AttestedTime, SpeaksOnlyAgainstWhatItCanSee)
{
    EXPECT_EQ(singles(5000, 4900, 10).against(), "");
    AttestedTime time = singles(9000, 2000, 0);
    EXPECT_NE(time.against().find("remembered"), std::string::npos);
    time.repeatMedianUs = 8000;
    EXPECT_EQ(time.against(), "") << "one lucky call among slow ones";
    EXPECT_EQ(singles(450, 200, 0).against(), "")
        << "0.25 ms is within what single calls jitter by";
    EXPECT_NE(singles(100, 100, 5000).against().find("before the work is done"), std::string::npos);
    EXPECT_EQ(singles(5000, 5000, 400).against(), "")
        << "8 % of the time: large outputs are copied at uneven speed";
}

} // namespace
