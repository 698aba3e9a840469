// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace lathe {

/// How much at least one of the ranges [start, end) covers.
std::int64_t coveredLength(std::vector<std::pair<std::int64_t, std::int64_t>> ranges);

} // namespace lathe
