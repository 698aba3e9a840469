// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/stats/stats.h>

namespace lathe::stats {

std::string verdict(const Interval& ratio, double margin)
{
    const double upper = 1 + margin;
    const double lower = 1 / upper;
    if (ratio.low > upper) {
        return "faster";
    }
    if (ratio.high < lower) {
        return "slower";
    }
    if (ratio.low >= lower && ratio.high <= upper) {
        return "same";
    }
    return "undecided";
}

int milestoneReward(bool correct, double ratioEager, double ratioCompile)
{
    constexpr double kMilestone = 1.05;
    if (!correct) {
        return -1;
    }
    if (ratioEager > kMilestone && ratioCompile > kMilestone) {
        return 3;
    }
    return ratioEager > kMilestone ? 2 : 1;
}

} // namespace lathe::stats
