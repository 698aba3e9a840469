// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::session {

/// The command that starts a worker: LATHE_WORKER (a program, or a shell command line such as "ssh
/// host lathe-worker serve"), else lathe-worker beside the executable, else in libexec; NotFound
/// says where was looked.
Result<std::vector<std::string>> findWorkerCommand();

/// Prompts, tool schemas, recordings: LATHE_RESOURCES, else ../share/lathe/resources beside the
/// executable, else the source tree.
std::filesystem::path resourceFolder();

} // namespace lathe::session
