// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "call_script.h"

#include <lathe/worker/judge.h>

#include <nlohmann/json.hpp>

#include <string>

namespace lathe::worker {

/// Runs the trace pass of one arm, sends the trace, and returns {calls, busySeconds, spanSeconds,
/// kernels: [{name, count, seconds}]}, longest first. The trace is the arm's word: evidence, never
/// a verdict.
Result<nlohmann::json> traceArm(ArmProcess& process,
                                const std::string& arm,
                                const std::string& variant,
                                int calls,
                                double timeoutSeconds,
                                const EventSink& sink,
                                int cancelFd,
                                Ledger& ledger);

} // namespace lathe::worker
