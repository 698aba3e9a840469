// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_probe.h"
#include "options.h"

#include <lathe/protocol/messages.h>
#include <lathe/worker/builder.h>
#include <lathe/worker/sandbox.h>

#include <string>
#include <vector>

namespace lathe::worker {

/// The hello: who this worker is and the doctor's rows, from what was found and proven. Starts
/// nothing slow: versions of Python packages are read from their metadata.
protocol::WorkerHello describeWorker(const WorkerOptions& options,
                                     const Sandbox& sandbox,
                                     const Builder& builder,
                                     const CudaProbe& cuda);

/// The doctor's rows for a person.
std::string doctorText(const protocol::WorkerHello& hello);

/// The cores every arm is pinned to: one for each physical core that this process may use.
std::vector<int> physicalCores();

} // namespace lathe::worker
