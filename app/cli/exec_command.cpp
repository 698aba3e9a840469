// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "host.h"
#include "terminal.h"

#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <CLI/CLI.hpp>
#include <cstdio>

namespace lathe::cli {

namespace {

struct ExecOptions : CommonOptions
{
    std::string task;
    std::string solution;
    std::vector<std::string> tool;
};

int runExec(const ExecOptions& options)
{
    Loop loop;
    auto host = Host::open(loop, options);
    if (!host)
        return reportError(host.error(), Phase::Input, options.json);
    auto task = (*host)->openTask(options.task);
    if (!task)
        return reportError(task.error(), Phase::Input, options.json);
    auto candidate = (*host)->addSolution(*task, options.solution, options.format);
    if (!candidate)
        return reportError(candidate.error(), Phase::Input, options.json);
    std::FILE* const output = options.json ? stderr : stdout;
    session::JobId job = 0;
    loop.onInterrupt = [&] { (*host)->session().cancel(job); };
    auto code = await<int>(loop, [&](session::Callback<int> done) {
        job = (*host)->session().exec(
            *candidate,
            options.tool,
            toEvaluateOptions(options),
            [output](const std::string& text) {
                std::fwrite(text.data(), 1, text.size(), output);
                std::fflush(output);
            },
            std::move(done));
    });
    loop.onInterrupt = nullptr;
    if (loop.interrupted())
        return reportError({ErrorCode::Cancelled, "Interrupted: the tool has been ended.", {}},
                           Phase::Work,
                           options.json);
    if (!code)
        return reportError(code.error(), Phase::Work, options.json);
    if (options.json) {
        const nlohmann::ordered_json document = {{"schema", "lathe.exec/1"},
                                                 {"task", task->task.spec.key},
                                                 {"candidate", candidate->text()},
                                                 {"command", options.tool},
                                                 {"toolExitCode", *code}};
        Terminal::line(dumpJson(document, 2));
    } else if (*code != 0) {
        std::fprintf(stderr, "lathe: the tool ended with exit code %d\n", *code);
    }
    return *code == 0 ? kCorrect : kNotCorrect;
}

} // namespace

void addExecCommand(CLI::App& app, Invocation& invocation)
{
    auto options = std::make_shared<ExecOptions>();
    CLI::App* command = app.add_subcommand(
        "exec",
        "Run a tool on a candidate with its exact inputs: exec TASK SOLUTION -- TOOL ARGS...");
    command->add_option("TASK", options->task, "Task folder, .py file or the id of a shipped task")
        ->required();
    command
        ->add_option("SOLUTION",
                     options->solution,
                     "Folder, .py file, shipped solution's name or candidate's id")
        ->required();
    command
        ->add_option("TOOL",
                     options->tool,
                     "After --: the tool and its arguments; the arm's command line is appended")
        ->required();
    command->add_option("--format", options->format, "native or modelnew; else recognised")
        ->check(CLI::IsMember({"native", "modelnew"}));
    command->add_option("--variant", options->variants, "The variant whose inputs are used");
    command->add_option("--timeout", options->timeoutSeconds, "Seconds for the tool")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    addSessionOptions(*command, *options);
    addOutputOptions(*command, *options);
    command->callback(
        [options, &invocation] { invocation.run = [options] { return runExec(*options); }; });
}

} // namespace lathe::cli
