// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "comparator.h"
#include "decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

using namespace lathe;
using namespace lathe::worker;
using protocol::DType;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <class T>
std::span<const std::byte> bytesOf(const std::vector<T>& values)
{
    return std::as_bytes(std::span(values));
}

Deviation compare(const std::vector<float>& got, const std::vector<double>& golden)
{
    const auto scale = rootMeanSquare(DType::Float64, bytesOf(golden));
    return compareWithGolden(DType::Float32, bytesOf(got), DType::Float64, bytesOf(golden), scale)
        .value();
}

// golden (3, 4): root mean square sqrt(25/2) = 3.535534; got (3, 5): errors 0 and 1. maxRel = 1 /
// (4 + 3.535534), relRmse = 1 / 5.
TEST(Comparator, ByHand)
{
    const Deviation d = compare({3, 5}, {3, 4});
    EXPECT_EQ(d.elements, 2);
    EXPECT_DOUBLE_EQ(d.maxAbs, 1);
    EXPECT_NEAR(d.maxRel, 1 / 7.535533905932738, 1e-12);
    EXPECT_NEAR(d.relRmse, 0.2, 1e-12);
    EXPECT_EQ(d.worstIndex, 1);
    EXPECT_EQ(d.expected, 4);
    EXPECT_EQ(d.got, 5);
    EXPECT_EQ(d.mismatches, 0);
}

TEST(Comparator, ZerosHaveARelativeNormErrorOfOne)
{
    EXPECT_DOUBLE_EQ(compare({0, 0, 0}, {1, -2, 3}).relRmse, 1);
}

TEST(Comparator, NanAndInfByPosition)
{
    EXPECT_EQ(compare({NAN, INFINITY, -INFINITY, 1}, {kNan, kInf, -kInf, 1}).mismatches, 0);
    EXPECT_EQ(compare({NAN, 2}, {1, 2}).mismatches, 1);
    EXPECT_EQ(compare({1, 2}, {kNan, 2}).mismatches, 1);
    const Deviation d = compare({1, -INFINITY, 3}, {1, kInf, 3});
    EXPECT_EQ(d.mismatches, 1);
    EXPECT_EQ(d.worstIndex, 1);
    EXPECT_EQ(d.expected, kInf);
    EXPECT_EQ(d.got, -kInf);
}

// 1e39 does not fit float32: infinity is its right rounding, of the right sign.
TEST(Comparator, OverflowOfTheOutputsTypeIsRight)
{
    EXPECT_EQ(compare({INFINITY, 1}, {1e39, 1}).mismatches, 0);
    EXPECT_EQ(compare({-INFINITY, 1}, {1e39, 1}).mismatches, 1);
    EXPECT_EQ(compare({INFINITY, 1}, {1e30, 1}).mismatches, 1);
}

// Blocks and threads: one wrong element anywhere in three million is found, with its index.
TEST(Comparator, FindsOneElementInMillions)
{
    constexpr std::size_t kCount = 3'000'001;
    const std::vector<double> golden(kCount, 2.0);
    std::vector<float> got(kCount, 2.0F);
    for (const std::size_t at :
         {std::size_t{0}, std::size_t{1'048'577}, std::size_t{2'047}, kCount - 1}) {
        got[at] = 2.5F;
        const Deviation d = compare(got, golden);
        EXPECT_EQ(d.worstIndex, static_cast<std::int64_t>(at));
        EXPECT_DOUBLE_EQ(d.maxAbs, 0.5);
        EXPECT_DOUBLE_EQ(d.maxRel, 0.125);
        EXPECT_NEAR(d.relRmse, 0.25 / std::sqrt(static_cast<double>(kCount)), 1e-12);
        got[at] = 2.0F;
    }
    got[2'500'000] = NAN;
    EXPECT_EQ(compare(got, golden).worstIndex, 2'500'000);
}

TEST(Comparator, IntegersAreComparedExactly)
{
    const std::vector<std::int64_t> golden{1, 2, 3};
    const std::vector<std::int64_t> got{1, 7, 3};
    const auto d =
        compareWithGolden(DType::Int64, bytesOf(got), DType::Int64, bytesOf(golden), 1.0).value();
    EXPECT_EQ(d.mismatches, 1);
    EXPECT_EQ(d.worstIndex, 1);
    EXPECT_TRUE(comparedExactly(DType::Bool));
    EXPECT_FALSE(comparedExactly(DType::Complex64));
}

TEST(Comparator, ComplexIndexCountsElements)
{
    const std::vector<double> golden{1, 1, 2, 2, 3, 3};
    const std::vector<float> got{1, 1, 2, 2, 3, 4};
    const auto d =
        compareWithGolden(DType::Complex64, bytesOf(got), DType::Complex128, bytesOf(golden), 2.0)
            .value();
    EXPECT_EQ(d.elements, 3);
    EXPECT_EQ(d.worstIndex, 2);
}

TEST(Comparator, DifferentSizesAreAnError)
{
    const std::vector<float> got{1, 2};
    const std::vector<double> golden{1};
    EXPECT_FALSE(
        compareWithGolden(DType::Float32, bytesOf(got), DType::Float64, bytesOf(golden), 1));
}

TEST(Comparator, ZeroExpectedEverywhereMakesAnyDifferenceInfinite)
{
    EXPECT_EQ(compare({0, 0}, {0, 0}).maxRel, 0);
    EXPECT_EQ(compare({0, 1e-30F}, {0, 0}).maxRel, kInf);
}

double decoded(DType dtype, std::uint16_t bits)
{
    double value = 0;
    decode(dtype, std::as_bytes(std::span(&bits, 1)), 0, {&value, 1});
    return value;
}

// Bit patterns from IEEE 754 and the OCP 8-bit floating point specification.
TEST(Decode, NarrowFloats)
{
    EXPECT_EQ(decoded(DType::Float16, 0x3c00), 1);
    EXPECT_EQ(decoded(DType::Float16, 0xc000), -2);
    EXPECT_EQ(decoded(DType::Float16, 0x7bff), 65504);
    EXPECT_EQ(decoded(DType::Float16, 0x0001), std::ldexp(1.0, -24));
    EXPECT_EQ(decoded(DType::Float16, 0x7c00), kInf);
    EXPECT_TRUE(std::isnan(decoded(DType::Float16, 0x7e00)));
    EXPECT_EQ(decoded(DType::BFloat16, 0x3f80), 1);
    EXPECT_EQ(decoded(DType::BFloat16, 0xc040), -3);
    EXPECT_EQ(decoded(DType::Float8E4M3, 0x7e), 448);
    EXPECT_EQ(decoded(DType::Float8E4M3, 0x01), std::ldexp(1.0, -9));
    EXPECT_TRUE(std::isnan(decoded(DType::Float8E4M3, 0x7f)));
    EXPECT_EQ(decoded(DType::Float8E5M2, 0x7b), 57344);
    EXPECT_EQ(decoded(DType::Float8E5M2, 0x7c), kInf);
}

} // namespace
