// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "host.h"
#include "terminal.h"

#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <cstdio>

namespace lathe::cli {

int runExec(const ExecOptions& options)
{
    Loop loop;
    auto opened = openTask(loop, options, options.task);
    if (!opened)
        return reportError(opened.error(), Phase::Input, options.json);
    Host& host = *opened->host;
    const session::TaskDetail& task = opened->task;
    auto candidate = host.addSolution(task, options.solution, options.format);
    if (!candidate)
        return reportError(candidate.error(), Phase::Input, options.json);
    std::FILE* const output = options.json ? stderr : stdout;
    session::JobId job = 0;
    loop.onInterrupt = [&] { host.session().cancel(job); };
    auto code = await<int>(loop, [&](session::Callback<int> done) {
        job = host.session().exec(
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
                                                 {"task", task.task.spec.key},
                                                 {"candidate", candidate->text()},
                                                 {"command", options.tool},
                                                 {"toolExitCode", *code}};
        Terminal::line(dumpJson(document, 2));
    } else if (*code != 0) {
        std::fprintf(stderr, "lathe: the tool ended with exit code %d\n", *code);
    }
    return *code == 0 ? kCorrect : kNotCorrect;
}

} // namespace lathe::cli
