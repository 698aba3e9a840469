// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/worker/sandbox.h>

#include <string>
#include <vector>

namespace lathe::worker {

/// What launchCommand needs beside the options.
struct LaunchPlan
{
    std::filesystem::path bwrap;
    bool root = false;         ///< no user namespace, ids inside are real
    unsigned uid = 0;          ///< of compilers and tools, when root
    bool addressLimit = false; ///< no memory control group: RLIMIT_AS and RLIMIT_DATA
};

/// bwrap's command line: allow-list of mounts, namespaces, limits, environment, user id, then the
/// command.
std::vector<std::string> launchCommand(const SandboxOptions& options, const LaunchPlan& plan);

/// Without a sandbox: the command with its mounts' inside paths replaced by the host's, and the
/// limits that need none.
std::vector<std::string> bareCommand(const SandboxOptions& options);

/// The whitelist, "NAME=value".
std::vector<std::string> sandboxEnvironment(const SandboxOptions& options);

} // namespace lathe::worker
