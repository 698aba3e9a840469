// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/protocol/types.h>
#include <lathe/worker/arm_host.h>

#include <cstdint>

namespace lathe::worker {

/// What the arms run under and how busy the machine is now.
protocol::Conditions currentConditions(const ArmSettings& arm);

/// Bytes of the largest cache that a core of this machine sees; 32 MiB where the system does not
/// say.
std::uint64_t lastLevelCacheBytes();

} // namespace lathe::worker
