// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/worker/sandbox.h>

namespace lathe::worker {

/// Runs probes inside the sandbox and fills the report's proofs. True when everything that must
/// hold held; the memory limit is reported but does not decide (rungs without control groups have
/// address limits instead).
bool runSelfTest(const Sandbox& sandbox, bool memoryGroups, SandboxReport& report);

} // namespace lathe::worker
