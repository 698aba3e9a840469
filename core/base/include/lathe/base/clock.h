// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace lathe {

/// CLOCK_MONOTONIC in nanoseconds: comparable between processes of one machine.
std::int64_t monotonicNs();

/// Wall clock as RFC 3339 UTC with milliseconds, e.g. 2026-12-01T11:57:04.123Z.
std::string utcNow();

} // namespace lathe
