// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "progress.h"
#include "report.h"

#include <lathe/base/json.h>
#include <lathe/base/text.h>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace lathe::cli {

namespace {

/// The command that gives this result again, solution by solution.
std::string rerunCommand(const std::vector<std::string>& arguments)
{
    std::vector<std::string> words{"lathe"};
    for (std::size_t i = 1; i < arguments.size(); ++i)
        words.push_back(shellQuote(arguments[i]));
    return join(words, " ");
}

ResultPtr withRerun(const ResultPtr& result, const std::vector<std::string>& arguments)
{
    auto copy = std::make_shared<evaluation::EvaluationResult>(*result);
    copy->rerun = rerunCommand(arguments);
    return copy;
}

int listEval(Host& host, const EvalOptions& options)
{
    auto task = host.openTask(options.task);
    if (!task)
        return reportError(task.error(), Phase::Input, options.json);
    nlohmann::ordered_json document = {{"schema", "lathe.eval.list/1"},
                                       {"task", task->task.spec.key},
                                       {"variants", nlohmann::ordered_json::array()},
                                       {"solutions", nlohmann::ordered_json::array()}};
    for (const protocol::Variant& variant : task->task.spec.variants)
        if (!variant.hidden)
            document["variants"].push_back({{"name", variant.name},
                                            {"device", variant.device},
                                            {"headline", variant.headline}});
    for (const auto& solution : task->task.solutions)
        document["solutions"].push_back(solution.string());
    if (options.json) {
        Terminal::line(dumpJson(document, 2));
        return kCorrect;
    }
    Terminal::line(task->task.spec.key);
    for (const auto& variant : document["variants"])
        Terminal::line(fmt::format("  variant {} ({}){}",
                                   variant["name"].get<std::string>(),
                                   variant["device"].get<std::string>(),
                                   variant["headline"].get<bool>() ? ", headline" : ""));
    for (const auto& solution : document["solutions"])
        Terminal::line("  solution " + solution.get<std::string>());
    return kCorrect;
}

int finishEval(const EvalOptions& options,
               const std::vector<ResultPtr>& results,
               const std::vector<std::string>& labels)
{
    if (options.json) {
        Terminal::line(dumpJson(documentOf(results), 2));
    } else {
        const Terminal terminal;
        for (std::size_t i = 0; i < results.size(); ++i) {
            if (i > 0)
                Terminal::line();
            printEvaluation(terminal, *results[i], labels[i]);
        }
    }
    if (auto written = writeExports(options, results); !written) {
        // The document is out already: say the rest on stderr only.
        return reportError(written.error(), Phase::Input, false);
    }
    int code = kCorrect;
    for (const ResultPtr& result : results)
        code = worseExit(code, exitCodeOf(*result, options));
    return code;
}

} // namespace

int runEval(const EvalOptions& options, const std::vector<std::string>& arguments)
{
    Loop loop;
    auto host = Host::open(loop, options, !options.list);
    if (!host)
        return reportError(host.error(), Phase::Input, options.json);
    if (options.list)
        return listEval(**host, options);
    if (options.solutions.empty())
        return reportError(
            {ErrorCode::InvalidArgument,
             "eval needs a SOLUTION (lathe eval TASK --list shows the shipped ones).",
             {}},
            Phase::Input,
            options.json);
    auto task = (*host)->openTask(options.task);
    if (!task)
        return reportError(task.error(), Phase::Input, options.json);
    if (auto possible = checkExports(options); !possible)
        return reportError(possible.error(), Phase::Input, options.json);
    // Everything is read before anything runs: a misspelt second solution does not cost the first
    // one's minute.
    std::vector<CandidateId> candidates;
    for (const std::string& solution : options.solutions) {
        auto id = (*host)->addSolution(*task, solution, options.format);
        if (!id)
            return reportError(id.error(), Phase::Input, options.json);
        candidates.push_back(*id);
    }
    Progress progress(options.progress == "ndjson");
    (*host)->onProgress = [&](const evaluation::EvaluationResult& snapshot) {
        progress.update(snapshot);
    };
    std::vector<ResultPtr> results;
    for (const CandidateId& candidate : candidates) {
        auto result = (*host)->evaluate(candidate, toEvaluateOptions(options));
        progress.finish();
        if (!result)
            return reportError(result.error(), Phase::Work, options.json);
        results.push_back(withRerun(*result, arguments));
    }
    return finishEval(options, results, options.solutions);
}

int runBaseline(const EvalOptions& options, const std::vector<std::string>& arguments)
{
    Loop loop;
    auto opened = openTask(loop, options, options.task);
    if (!opened)
        return reportError(opened.error(), Phase::Input, options.json);
    Host& host = *opened->host;
    const session::TaskDetail& task = opened->task;
    if (auto possible = checkExports(options); !possible)
        return reportError(possible.error(), Phase::Input, options.json);
    Progress progress(options.progress == "ndjson");
    host.onProgress = [&](const evaluation::EvaluationResult& snapshot) {
        progress.update(snapshot);
    };
    auto result = host.baseline(task.row.id, toEvaluateOptions(options));
    progress.finish();
    if (!result)
        return reportError(result.error(), Phase::Work, options.json);
    return finishEval(options, {withRerun(*result, arguments)}, {"baselines"});
}

} // namespace lathe::cli
