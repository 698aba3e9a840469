// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/stats/stats.h>

#include <algorithm>

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
    const double alike = 1 + std::min(margin, kMostAlike);
    if (ratio.low >= 1 / alike && ratio.high <= alike) {
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
