// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace lathe::cli {

/// The command that the arguments chose, run after parsing; returns the exit code.
struct Invocation
{
    std::vector<std::string> arguments; ///< argv as given, for "rerun"
    std::function<int()> run;
};

void addEvalCommands(CLI::App& app, Invocation& invocation); ///< eval, baseline
void addWatchCommand(CLI::App& app, Invocation& invocation);
void addExecCommand(CLI::App& app, Invocation& invocation);
void addTaskCommands(CLI::App& app, Invocation& invocation);
void addAgentCommands(CLI::App& app, Invocation& invocation); ///< agent, trajectory
void addTraceCommands(CLI::App& app, Invocation& invocation);
void addCandidateCommands(CLI::App& app, Invocation& invocation); ///< export, accept
void addDoctorCommand(CLI::App& app, Invocation& invocation);
void addDemoCommand(CLI::App& app, Invocation& invocation);
void addGuiCommand(CLI::App& app, Invocation& invocation);

} // namespace lathe::cli
