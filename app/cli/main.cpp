// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"
#include "options.h"

#include <csignal>
#include <cstdio>
#include <exception>

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
