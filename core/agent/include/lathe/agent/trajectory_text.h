// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/trajectory.h>

#include <string>
#include <vector>

namespace lathe::agent {

struct TrajectoryTextOptions
{
    bool color = false;              ///< ANSI colours
    std::size_t maxTextBytes = 2000; ///< per item; 0: everything
};

/// One item as lines for a terminal, ending with a line feed.
std::string toText(const TrajectoryItem& item, const TrajectoryTextOptions& options = {});
std::string toText(const std::vector<TrajectoryItem>& items,
                   const TrajectoryTextOptions& options = {});

} // namespace lathe::agent
