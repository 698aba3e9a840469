// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace lathe::arm {

struct ZygoteOptions
{
    int controlFd = -1;
    std::string python;
    int maxProcesses = 0; ///< of each phase's user id; 0: as inherited
};

/// Imports torch, says Ready on the control socket and forks a phase process for every Fork request
/// until the socket closes. Returns the process's exit code.
int runZygote(const ZygoteOptions& options);

} // namespace lathe::arm
