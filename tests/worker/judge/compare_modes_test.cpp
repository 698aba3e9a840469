// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration.h"
#include "compare_modes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace lathe::worker {
namespace {

using protocol::DType;

template <class T>
TensorView view(DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& values)
{
    return {{dtype, std::move(shape), {}}, std::as_bytes(std::span<const T>(values))};
}

TEST(CompareTies, AnyIndexOfTheSameValueIsRight)
{
    // Row 0 has its largest value at 1 and 3, row 1 at 0.
    const std::vector<float> values{1, 5, 2, 5, 9, 3, 3, 3};
    const auto source = view<float>(DType::Float32, {2, 4}, values);
    const std::vector<std::int64_t> golden{1, 0}, other{3, 0}, wrong{2, 0}, outside{4, 0};
    const auto compare = [&](const std::vector<std::int64_t>& got) {
        return compareTies(view<std::int64_t>(DType::Int64, {2}, got),
                           view<std::int64_t>(DType::Int64, {2}, golden),
                           source,
                           -1,
                           0,
                           0);
    };
    EXPECT_EQ(compare(golden)->mismatches, 0);
    EXPECT_EQ(compare(other)->mismatches, 0);
    EXPECT_EQ(compare(wrong)->mismatches, 1);
    EXPECT_EQ(compare(wrong)->worstIndex, 0);
    EXPECT_EQ(compare(outside)->mismatches, 1);
}

TEST(CompareTies, NoElementIsNamedTwiceInARow)
{
    const std::vector<float> values{7, 1, 7, 7};
    const std::vector<std::int32_t> golden{0, 2}, twice{0, 0}, swapped{3, 2};
    const auto compare = [&](const std::vector<std::int32_t>& got) {
        return compareTies(view<std::int32_t>(DType::Int32, {2}, got),
                           view<std::int32_t>(DType::Int32, {2}, golden),
                           view<float>(DType::Float32, {4}, values),
                           0,
                           0,
                           0)
            ->mismatches;
    };
    EXPECT_EQ(compare(swapped), 0);
    EXPECT_EQ(compare(twice), 1);
}

TEST(CompareTies, AlongAnInnerAxisAndWithinATolerance)
{
    // Shape {2, 3, 2}, indices along axis 1.
    const std::vector<double> values{1, 4, 2, 5, 2.001, 5, 9, 9, 8, 9.5, 7, 9.5};
    const std::vector<std::int64_t> golden{2, 1, 0, 1}, got{1, 2, 0, 2};
    const auto compare = [&](double tolerance) {
        return compareTies(view<std::int64_t>(DType::Int64, {2, 2}, got),
                           view<std::int64_t>(DType::Int64, {2, 2}, golden),
                           view<double>(DType::Float64, {2, 3, 2}, values),
                           1,
                           tolerance,
                           0)
            ->mismatches;
    };
    EXPECT_EQ(compare(0), 1); // 2 instead of 2.001
    EXPECT_EQ(compare(1e-3), 0);
    EXPECT_FALSE(compareTies(view<std::int64_t>(DType::Int64, {4}, got),
                             view<std::int64_t>(DType::Int64, {4}, golden),
                             view<double>(DType::Float64, {2, 3, 2}, values),
                             1,
                             0,
                             0));
}

TEST(CompareSets, OrderAlongTheLastAxisDoesNotCount)
{
    const std::vector<std::int64_t> golden{3, 1, 2, 4, 5, 6}, got{1, 2, 3, 6, 5, 4},
        other{1, 2, 4, 3, 5, 6};
    const auto compare = [&](const std::vector<std::int64_t>& values) {
        return compareSets(view<std::int64_t>(DType::Int64, {2, 3}, values),
                           view<std::int64_t>(DType::Int64, {2, 3}, golden),
                           1)
            ->mismatches;
    };
    EXPECT_EQ(compare(got), 0);
    EXPECT_GT(compare(other), 0); // the same numbers, in other rows
    const std::vector<float> a{1, 2, 3}, b{3.5f, 1, 2};
    const auto deviation =
        compareSets(view<float>(DType::Float32, {3}, b), view<float>(DType::Float32, {3}, a), 1);
    EXPECT_DOUBLE_EQ(deviation->maxAbs, 0.5); // 3.5 against 3
}

TEST(CompareCodes, OneStepIsNearMoreIsWrong)
{
    const std::vector<std::int8_t> golden{0, 10, -128, 127}, got{1, 10, -127, 125};
    const auto ints = compareCodes(view<std::int8_t>(DType::Int8, {4}, got),
                                   view<std::int8_t>(DType::Int8, {4}, golden));
    EXPECT_EQ(ints->nearMisses, 2);
    EXPECT_EQ(ints->mismatches, 1);
    // e4m3: 0x38 is 1, 0x39 is 1.125; 0x80 is -0, 0x01 the smallest positive number; 0x7f is NaN.
    const std::vector<std::uint8_t> a{0x38, 0x80, 0x7e}, b{0x39, 0x01, 0x7f};
    const auto floats = compareCodes(view<std::uint8_t>(DType::Float8E4M3, {3}, b),
                                     view<std::uint8_t>(DType::Float8E4M3, {3}, a));
    EXPECT_EQ(floats->nearMisses, 2);
    EXPECT_EQ(floats->mismatches, 1); // NaN is no neighbour of 448
    EXPECT_FALSE(compareCodes(view<float>(DType::Float32, {1}, {1.f}),
                              view<float>(DType::Float32, {1}, {1.f})));
}

TEST(CompareCodes, TheShareOfNearMissesIsCalibrated)
{
    Calibration calibration(DType::Int8);
    Deviation honest;
    honest.elements = 1000;
    honest.nearMisses = 20;
    calibration.addHonest(honest, 1);
    const auto limits = calibration.limits({});
    EXPECT_DOUBLE_EQ(limits.nearShare, 0.04);
    EXPECT_TRUE(whyOutside(honest, limits, DType::Int8).empty());
    honest.nearMisses = 41;
    EXPECT_NE(whyOutside(honest, limits, DType::Int8).find("41 of 1000 codes"), std::string::npos);
}

} // namespace
} // namespace lathe::worker
