// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <string>

namespace lathe::arm {

/// What the zygote says of itself when it is ready.
struct Versions
{
    std::string torch;
    std::string python;
};

/// Embeds CPython as the environment's interpreter (sys.executable, site-packages), imports torch
/// and the arm's runtime module, preloads libtvm_ffi, runs no tensor operation. Once per process,
/// before any fork.
Result<Versions> startInterpreter(const std::string& python);

/// Prints the Python stack to stderr when a fatal signal arrives, and then lets it kill.
void dumpStackOnFatalSignals();

/// fork() as CPython wants it. In the child the interpreter is usable.
int forkInterpreter();

} // namespace lathe::arm
