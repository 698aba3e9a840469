// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "options.h"

#include <lathe/base/files.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace lathe::cli {

namespace {

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

} // namespace

void addGuiCommand(CLI::App& app, Invocation& invocation)
{
    auto arguments = std::make_shared<std::vector<std::string>>();
    CLI::App* command = app.add_subcommand("gui", "Open the workbench; what follows goes to it");
    command->prefix_command();
    command->callback([command, arguments, &invocation] {
        *arguments = command->remaining();
        invocation.run = [arguments] { return runGui(*arguments); };
    });
}

} // namespace lathe::cli
