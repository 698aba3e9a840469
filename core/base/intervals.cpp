// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/intervals.h>

#include <algorithm>

namespace lathe {

std::int64_t coveredLength(std::vector<std::pair<std::int64_t, std::int64_t>> ranges)
{
    std::sort(ranges.begin(), ranges.end());
    std::int64_t covered = 0;
    std::int64_t coveredTo = INT64_MIN;
    for (const auto& [start, end] : ranges) {
        if (end > coveredTo) {
            covered += end - std::max(start, coveredTo);
            coveredTo = end;
        }
    }
    return covered;
}

} // namespace lathe
