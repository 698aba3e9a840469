// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace lathe::cli {

/// The command that the arguments chose; returns the exit code.
struct Invocation
{
    std::vector<std::string> arguments; ///< argv as given, for "rerun"
    std::function<int()> run;
};

/// Parses and runs. The only place that knows the argument parser, whose header is slow to compile.
int parseAndRun(int argc, char** argv);

} // namespace lathe::cli
