// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "doctor_checks.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/process/spawn.h>
#include <lathe/task/task.h>

#include <nlohmann/json.hpp>

#include <cstdlib>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace lathe::cli {

namespace {

Result<process::CaptureResult> capture(std::vector<std::string> command, double seconds)
{
    process::SpawnOptions options;
    options.command = std::move(command);
    options.pipeStdout = true;
    options.pipeStderr = true;
    return process::runCaptured(std::move(options), seconds, 1u << 20);
}

std::string lastLine(const std::string& text)
{
    const auto lines = splitLines(trimmed(text));
    return lines.empty() ? std::string() : lines.back();
}

} // namespace

Check checkProgram(const std::string& name,
                   const std::vector<std::string>& command,
                   const std::string& fix,
                   bool required)
{
    const auto result = capture(command, 20);
    if (!result)
        return {name, "missing", result.error().message, fix, required};
    if (result->exitCode != 0)
        return {name,
                "missing",
                fmt::format(
                    "{} ended with {}: {}", command[0], result->exitCode, lastLine(result->err)),
                fix,
                required};
    const auto lines = splitLines(result->out);
    // nvcc says its version in the last lines, everybody else in the first.
    std::string found = lines.empty() ? command[0] : lines.front();
    for (const std::string& line : lines)
        if (line.find("release ") != std::string::npos)
            found = line;
    return {name, "ok", std::string(trimmed(found)), {}, required};
}

std::vector<Check> checkPython(const std::string& interpreter)
{
    const std::string fix =
        "scripts/run sets up a Python environment; or name one with LATHE_PYTHON";
    if (interpreter.empty())
        return {
            {"python",
             "degraded",
             "not known: the worker, which finds it, did not start, and LATHE_PYTHON names none",
             fix}};
    const auto result = capture({interpreter,
                                 "-c",
                                 "import json,sys,importlib.metadata as m\n"
                                 "def v(n):\n"
                                 "    try: return m.version(n)\n"
                                 "    except Exception: return ''\n"
                                 "print(json.dumps({'python':sys.version.split()[0],'torch':v('"
                                 "torch'),'numpy':v('numpy'),'ffi':v('apache-tvm-ffi')}))"},
                                30);
    if (!result || result->exitCode != 0)
        return {{"python",
                 "missing",
                 interpreter + ": " + (result ? lastLine(result->err) : result.error().message),
                 fix,
                 true}};
    const auto facts = parseJson(result->out);
    if (!facts)
        return {{"python",
                 "missing",
                 interpreter + " answered nonsense: " + facts.error().message,
                 fix,
                 true}};
    const auto row = [&](const char* name, const char* key) {
        const std::string version = stringOr(*facts, key);
        return Check{name,
                     version.empty() ? "missing" : "ok",
                     version.empty() ? std::string("not in ") + interpreter : version,
                     version.empty() ? fix : "",
                     true};
    };
    return {{"python", "ok", stringOr(*facts, "python") + ", " + interpreter, {}, true},
            row("torch", "torch"),
            row("numpy", "numpy"),
            row("tvm-ffi", "ffi")};
}

Check checkFonts()
{
    const std::string fix = "apt-get install fontconfig fonts-inter fonts-jetbrains-mono";
    const auto result = capture({"fc-list", ":", "family"}, 20);
    if (!result || result->exitCode != 0)
        return {"fonts", "degraded", "fontconfig's fc-list does not run, so nothing is known", fix};
    if (trimmed(result->out).empty())
        return {"fonts", "missing", "no font at all: the workbench would show boxes", fix};
    const bool sans = result->out.find("Inter") != std::string::npos;
    const bool mono = result->out.find("JetBrains Mono") != std::string::npos;
    if (sans && mono)
        return {"fonts", "ok", "Inter, JetBrains Mono", {}};
    return {"fonts",
            "degraded",
            std::string("fall-backs: ") + (sans ? "" : "no Inter ")
                + (mono ? "" : "no JetBrains Mono"),
            fix};
}

Check checkDisplay()
{
    for (const char* name : {"WAYLAND_DISPLAY", "DISPLAY"})
        if (const char* value = std::getenv(name);
            value != nullptr && *value != '\0') // NOLINT(concurrency-mt-unsafe)
            return {"display", "ok", std::string(name) + "=" + value, {}};
    return {"display",
            "degraded",
            "neither DISPLAY nor WAYLAND_DISPLAY is set",
            "the command line works; the workbench needs a display"};
}

Check checkWorkbench()
{
    const auto program = executableFolder() / "lathe-workbench";
    if (::access(program.c_str(), X_OK) == 0)
        return {"workbench", "ok", program.string(), {}};
    return {"workbench",
            "degraded",
            program.string() + " is not there",
            "build the target lathe-workbench"};
}

Check checkWritable(const std::string& name, const std::filesystem::path& folder)
{
    auto made = makeFolders(folder);
    if (made) {
        auto probe = makeTempFolder(folder, "doctor-");
        if (probe) {
            std::error_code ignored;
            std::filesystem::remove_all(*probe, ignored);
            return {name, "ok", folder.string(), {}, true};
        }
        made = tl::unexpected(probe.error());
    }
    return {name,
            "missing",
            made.error().message,
            "make it writable, or name another (XDG_CACHE_HOME, XDG_DATA_HOME, --workspace)",
            true};
}

Check checkSpace(const std::filesystem::path& folder)
{
    struct statvfs info = {};
    if (::statvfs(folder.c_str(), &info) != 0)
        return {"disk space", "degraded", "unknown for " + folder.string(), {}};
    const double gigabytes =
        static_cast<double>(info.f_bavail) * static_cast<double>(info.f_frsize) / 1e9;
    const std::string found = fmt::format("{:.1f} GB free at {}", gigabytes, folder.string());
    if (gigabytes >= 5)
        return {"disk space", "ok", found, {}};
    return {"disk space",
            gigabytes >= 0.5 ? "degraded" : "missing",
            found,
            "free some: builds and traces need a few GB",
            gigabytes < 0.5};
}

Check checkTasks()
{
    std::vector<task::Finding> problems;
    const auto tasks = task::listTasks(task::defaultRoots(), problems);
    if (tasks.empty())
        return {"tasks", "degraded", "no shipped task was found", "LATHE_TASKS names their folder"};
    if (!problems.empty())
        return {"tasks",
                "degraded",
                fmt::format("{} tasks, {} cannot be read ({}: {})",
                            tasks.size(),
                            problems.size(),
                            problems[0].file,
                            problems[0].message),
                "lathe task check names the problems"};
    return {"tasks", "ok", fmt::format("{} found", tasks.size()), {}};
}

} // namespace lathe::cli
