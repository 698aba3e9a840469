// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "options.h"
#include "unknown_command.h"

#include <lathe/base/version.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <exception>

namespace lathe::cli {

namespace {

int parseAndRun(int argc, char** argv)
{
    CLI::App app{"Lathe: make PyTorch kernels faster, with numbers that can be believed."};
    app.name("lathe");
    app.set_version_flag("--version", std::string("lathe ") + version());
    app.require_subcommand(1);
    app.fallthrough(false);
    app.footer("Exit codes: 0 correct, 1 not correct, 2 usage or unreadable input, 3 this machine "
               "cannot do it,\n"
               "4 --accept-if not met, 70 internal error, 130 interrupted.");
    Invocation invocation;
    invocation.arguments.assign(argv, argv + argc);
    addEvalCommands(app, invocation);
    addWatchCommand(app, invocation);
    addExecCommand(app, invocation);
    addTaskCommands(app, invocation);
    addAgentCommands(app, invocation);
    addTraceCommands(app, invocation);
    addCandidateCommands(app, invocation);
    addDoctorCommand(app, invocation);
    addDemoCommand(app, invocation);
    addGuiCommand(app, invocation);

    bool json = false;
    for (const std::string& argument : invocation.arguments) {
        if (argument == "--")
            break;
        json = json || argument == "--json";
    }
    if (const auto hint = unknownCommandHint(app, invocation.arguments))
        return reportError({ErrorCode::InvalidArgument, *hint, {}}, Phase::Input, json);
    try {
        app.parse(argc, argv);
    } catch (const CLI::CallForHelp& help) {
        return app.exit(help);
    } catch (const CLI::CallForAllHelp& help) {
        return app.exit(help);
    } catch (const CLI::CallForVersion& wanted) {
        return app.exit(wanted);
    } catch (const CLI::ParseError& error) {
        return reportError(
            {ErrorCode::InvalidArgument, error.what(), "Try --help."}, Phase::Input, json);
    }
    return invocation.run ? invocation.run() : int(kUsage);
}

} // namespace

} // namespace lathe::cli

int main(int argc, char** argv)
{
    // A reader that goes away (head, a closed pager) ends a write with an error, not this program.
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return lathe::cli::parseAndRun(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "lathe: internal error: %s\n", error.what());
        return lathe::cli::kInternal;
    }
}
