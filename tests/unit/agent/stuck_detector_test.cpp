// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/stuck_detector.h>

#include <gtest/gtest.h>

namespace lathe::agent {
namespace {

int stepsUntilStuck(const std::vector<std::string>& actions, bool success, bool sameResult)
{
    StuckDetector detector;
    for (std::size_t i = 0; i < actions.size(); ++i) {
        if (!detector.add(actions[i], success, sameResult ? "r" : std::to_string(i)).empty()) {
            return static_cast<int>(i + 1);
        }
    }
    return 0;
}

TEST(StuckDetector, FiresWhereTheDesignSays)
{
    EXPECT_EQ(stepsUntilStuck({"a", "a", "a", "a", "a"}, true, false), 4);
    EXPECT_EQ(stepsUntilStuck({"a", "b", "c", "d"}, false, true), 3);
    EXPECT_EQ(stepsUntilStuck({"a", "b", "a", "b", "a", "b", "a"}, true, false), 6);
    EXPECT_EQ(stepsUntilStuck(
                  {"edit1", "verify", "edit2", "verify", "edit3", "verify", "edit4", "verify"},
                  true,
                  false),
              0);
    EXPECT_EQ(stepsUntilStuck({"a", "a", "a", "b", "a", "a", "a", "c"}, true, true), 0);
    EXPECT_EQ(stepsUntilStuck({"a", "b", "c", "d", "e"}, false, false), 0);
}

TEST(StuckDetector, SuccessesBetweenDoNotHideARepeatedError)
{
    StuckDetector detector;
    EXPECT_TRUE(detector.add("verify", false, "wrong").empty());
    EXPECT_TRUE(detector.add("edit 1", true, "").empty());
    EXPECT_TRUE(detector.add("verify", false, "wrong").empty());
    EXPECT_TRUE(detector.add("edit 2", true, "").empty());
    EXPECT_FALSE(detector.add("verify", false, "wrong").empty());
}

} // namespace
} // namespace lathe::agent
