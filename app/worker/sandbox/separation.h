// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace lathe::worker {

/// What separates another process from this one no longer or never did, as the kernel says now
/// (proc_pid_status(5), namespaces(7)): privileges, the way to new ones, and each namespace that it
/// shares with this process. A sentence each; empty when nothing is open, or the process has ended.
std::vector<std::string> openings(pid_t pid);

} // namespace lathe::worker
