// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workshop.h"

#include <lathe/process/cancel.h>
#include <lathe/protocol/messages.h>

namespace lathe::worker {

/// Request "exec": builds the candidate, lays its load and bind packets with the exact tensors down
/// as files, and runs the tool with the arm's command line appended, inside a sandbox. The tool's
/// output comes as log events.
Result<protocol::EvaluateDone> runTool(Workshop& workshop,
                                       const protocol::ExecRequest& request,
                                       const EventSink& sink,
                                       const process::CancelSource& cancel);

} // namespace lathe::worker
