// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "confine.h"
#include "run_once.h"
#include "zygote.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
/// The sandbox clears the environment, so that ASAN_OPTIONS would not arrive. Python and torch keep
/// what they own until the end.
extern "C" const char* __asan_default_options() // NOLINT(bugprone-reserved-identifier)
{
    return "detect_leaks=0";
}
#endif

namespace {

constexpr int kUsage = 2;

int usage()
{
    std::fputs("usage: lathe-arm zygote --control-fd N [--python PATH] [--max-processes N]\n"
               "       lathe-arm run-once --folder DIR [--python PATH] [--device cpu|cuda:N] "
               "[--calls N] [--threads N]\n",
               stderr);
    return kUsage;
}

/// The value after a flag; empty when the flag is absent.
std::string option(int argc, char** argv, const char* flag)
{
    for (int i = 2; i + 1 < argc; ++i)
        if (std::strcmp(argv[i], flag) == 0)
            return argv[i + 1];
    return {};
}

int number(const std::string& text, int fallback)
{
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    return text.empty() || *end != '\0' ? fallback : static_cast<int>(value);
}

std::string pythonPath(int argc, char** argv)
{
    const std::string given = option(argc, argv, "--python");
    const char* const environment = std::getenv("LATHE_PYTHON");
    return !given.empty()                ? given
           : environment && *environment ? environment
                                         : LATHE_DEFAULT_PYTHON;
}

/// Read by Python and its libraries at import; the same for every arm.
void fixEnvironment()
{
    setenv("OPENBLAS_NUM_THREADS", "1", 1); // numpy's own pool would be a thread before the fork
    setenv("TORCHINDUCTOR_COMPILE_THREADS", "1", 0); // no pool of Python processes in a sandbox
    setenv("HOME", "/tmp", 0);
    setenv("USER", "lathe", 0); // a phase's user id has no name to look up
}

} // namespace

int main(int argc, char** argv)
{
    lathe::arm::keepFreedMemory();
    lathe::arm::reserveStandardFds();
    fixEnvironment();
    const std::string command = argc > 1 ? argv[1] : "";
    if (command == "zygote") {
        lathe::arm::ZygoteOptions options;
        options.controlFd = number(option(argc, argv, "--control-fd"), -1);
        options.python = pythonPath(argc, argv);
        options.maxProcesses = number(option(argc, argv, "--max-processes"), 0);
        if (options.controlFd < 0)
            return usage();
        // Not exit(): the interpreter is never finalised.
        _exit(lathe::arm::runZygote(options));
    }
    if (command == "run-once") {
        lathe::arm::RunOnceOptions options;
        options.folder = option(argc, argv, "--folder");
        options.python = pythonPath(argc, argv);
        if (const std::string device = option(argc, argv, "--device"); !device.empty())
            options.device = device;
        options.calls = number(option(argc, argv, "--calls"), 1);
        options.threads = number(option(argc, argv, "--threads"), 0);
        if (options.folder.empty())
            return usage();
        return lathe::arm::runOnce(options);
    }
    return usage();
}
