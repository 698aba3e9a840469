// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "options.h"

#include <lathe/base/files.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace lathe::cli {

int runGui(const std::vector<std::string>& arguments)
{
    const char* named = std::getenv("LATHE_WORKBENCH"); // NOLINT(concurrency-mt-unsafe)
    const std::string program = named != nullptr && *named != '\0'
                                    ? named
                                    : (executableFolder() / "lathe-workbench").string();
    std::vector<char*> argv{const_cast<char*>(program.c_str())}; // NOLINT: execv's signature
    for (const std::string& argument : arguments)
        argv.push_back(const_cast<char*>(argument.c_str())); // NOLINT: execv's signature
    argv.push_back(nullptr);
    ::execv(program.c_str(), argv.data());
    return reportError({ErrorCode::Unsupported,
                        "The workbench cannot be started: " + program + ": " + std::strerror(errno),
                        {}}, // NOLINT(concurrency-mt-unsafe)
                       Phase::Work,
                       false);
}

} // namespace lathe::cli
