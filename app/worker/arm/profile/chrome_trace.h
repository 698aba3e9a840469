// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/span.h"

#include <string>
#include <vector>

namespace lathe::arm {

/// Chrome trace JSON: complete events with ts and dur in microseconds (three decimals,
/// CLOCK_MONOTONIC), category "operator", "kernel", "memory" or "runtime", and the names of process
/// and lanes.
std::string toChromeTrace(const std::vector<Span>& spans, const std::string& processName, int pid);

} // namespace lathe::arm
