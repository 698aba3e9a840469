// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lathe::worker {

/// Fresh randomness of the operating system, 62 bits, so that every generator and JSON number takes
/// it as it is.
std::uint64_t secretSeed();

} // namespace lathe::worker
