// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lathe::arm {

struct RunOnceOptions
{
    std::string folder;
    std::string python;
    std::string device = "cpu";
    int calls = 1;
    int threads = 0;
};

/// One process that loads a model and inputs from files and runs forward, for tools that want to
/// start the process themselves (lathe exec). The folder holds load.packet (LoadCandidate or
/// LoadReference) with weight_0.bin, weight_1.bin ..., and bind.packet (BindInputs, set 0) with
/// input_0.bin ...: the same packets as on the wire, their descriptors as files. Prints to the
/// terminal; returns the process's exit code.
int runOnce(const RunOnceOptions& options);

} // namespace lathe::arm
