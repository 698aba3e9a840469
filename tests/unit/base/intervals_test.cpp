// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/intervals.h>

#include <gtest/gtest.h>

namespace lathe {
namespace {

// Counted by hand: [1,4) and [3,6) cover 5, [6,7) touches and adds 1, [10,12) stands alone, [10,11)
// lies inside it.
TEST(Intervals, CountsWhatIsCoveredOnce)
{
    EXPECT_EQ(coveredLength({{10, 12}, {3, 6}, {1, 4}, {10, 11}, {6, 7}}), 8);
    EXPECT_EQ(coveredLength({{-5, -2}, {-3, 1}}), 6);
}

TEST(Intervals, EmptyRangesCoverNothing)
{
    EXPECT_EQ(coveredLength({}), 0);
    EXPECT_EQ(coveredLength({{4, 4}, {9, 9}}), 0);
}

} // namespace
} // namespace lathe
