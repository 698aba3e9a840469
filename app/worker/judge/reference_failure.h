// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/worker/arm_host.h>

#include <string>

namespace lathe::worker {

/// Why the task itself cannot be judged: a Refused error in one sentence (an error of the machine
/// stays what it is). arm: the process that was asked, or null.
Error referenceFailure(const Error& error, const std::string& variant, ArmProcess* arm);

} // namespace lathe::worker
