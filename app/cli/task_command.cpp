// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "options.h"
#include "terminal.h"

#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/task/task.h>

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace lathe::cli {

namespace {

nlohmann::ordered_json findingsJson(const std::vector<task::Finding>& findings)
{
    auto rows = nlohmann::ordered_json::array();
    for (const task::Finding& f : findings)
        rows.push_back(
            {{"severity", f.severity}, {"file", f.file}, {"line", f.line}, {"message", f.message}});
    return rows;
}

void printFindings(const Terminal& terminal, const std::vector<task::Finding>& findings)
{
    for (const task::Finding& f : findings) {
        const std::string place = f.line > 0 ? fmt::format("{}:{}", f.file, f.line) : f.file;
        Terminal::line(fmt::format(
            "{}: {} {}",
            place,
            terminal.styled(f.severity + ":", f.severity == "error" ? Tone::Bad : Tone::Warn),
            f.message));
    }
}

} // namespace

int runTaskCheck(const TaskOptions& options)
{
    const auto findings = task::checkTask(options.task, task::defaultRoots());
    std::size_t errors = 0;
    for (const task::Finding& f : findings)
        errors += f.severity == "error";
    if (options.json) {
        const nlohmann::ordered_json document = {{"schema", "lathe.task.check/1"},
                                                 {"task", options.task},
                                                 {"ok", errors == 0},
                                                 {"findings", findingsJson(findings)}};
        Terminal::line(dumpJson(document, 2));
    } else {
        printFindings(Terminal{}, findings);
        Terminal::line(fmt::format("{}: {} error{}, {} warning{}",
                                   options.task,
                                   errors,
                                   errors == 1 ? "" : "s",
                                   findings.size() - errors,
                                   findings.size() - errors == 1 ? "" : "s"));
    }
    return errors == 0 ? kCorrect : kUsage;
}

int runTaskShow(const TaskOptions& options)
{
    auto loaded = task::loadTask(options.task, task::defaultRoots());
    if (!loaded)
        return reportError(loaded.error(), Phase::Input, options.json);
    const task::Task& task = *loaded;
    if (options.json) {
        nlohmann::ordered_json document = {{"schema", "lathe.task/1"},
                                           {"key", task.spec.key},
                                           {"title", task.title},
                                           {"suite", task.suite},
                                           {"hash", task.hash},
                                           {"folder", task.folder.string()},
                                           {"reference", task.referenceFile.string()},
                                           {"precision", task.spec.precision},
                                           {"mode", task.spec.mode},
                                           {"weights", task.spec.weights}};
        for (const protocol::Variant& variant : task.spec.variants) {
            nlohmann::ordered_json constants = nlohmann::ordered_json::object();
            for (const protocol::Constant& c : variant.constants)
                constants[c.name] = c.literal;
            document["variants"].push_back({{"name", variant.name},
                                            {"device", variant.device},
                                            {"headline", variant.headline},
                                            {"hidden", variant.hidden},
                                            {"constants", constants}});
        }
        document["solutions"] = nlohmann::ordered_json::array();
        for (const auto& path : task.solutions)
            document["solutions"].push_back(path.string());
        document["notes"] = task.notes;
        Terminal::line(dumpJson(document, 2));
        return kCorrect;
    }
    const Terminal terminal;
    Terminal::line(terminal.styled(task.spec.key, Tone::Strong)
                   + (task.title.empty() ? "" : "  " + task.title));
    Terminal::line("reference " + task.referenceFile.string());
    Table table({"variant", "device", "", "constants"});
    for (const protocol::Variant& variant : task.spec.variants) {
        std::vector<std::string> constants;
        for (const protocol::Constant& c : variant.constants)
            constants.push_back(c.name + "=" + c.literal);
        table.add({variant.name,
                   variant.device,
                   variant.headline ? "headline"
                   : variant.hidden ? "hidden"
                                    : "",
                   join(constants, " ")});
    }
    table.print(terminal);
    for (const auto& path : task.solutions)
        Terminal::line("solution " + path.string());
    if (!task.notes.empty())
        Terminal::line("\n" + task.notes);
    return kCorrect;
}

int runTaskList(const TaskOptions& options)
{
    std::vector<task::Finding> problems;
    const auto tasks = task::listTasks(task::defaultRoots(), problems);
    if (options.json) {
        nlohmann::ordered_json document = {{"schema", "lathe.task.list/1"},
                                           {"tasks", nlohmann::ordered_json::array()},
                                           {"problems", findingsJson(problems)}};
        for (const task::Task& task : tasks)
            document["tasks"].push_back({{"key", task.spec.key},
                                         {"title", task.title},
                                         {"folder", task.folder.string()},
                                         {"variants", task.spec.variants.size()}});
        Terminal::line(dumpJson(document, 2));
        return kCorrect;
    }
    const Terminal terminal;
    Table table({"task", ">variants", "title"});
    for (const task::Task& task : tasks)
        table.add({task.spec.key, std::to_string(task.spec.variants.size()), task.title});
    table.print(terminal, 0);
    printFindings(terminal, problems);
    return kCorrect;
}

int runTaskNew(const TaskOptions& options)
{
    const std::filesystem::path folder(options.folder);
    auto made = task::createTask(folder, options.task);
    if (!made)
        return reportError(made.error(), Phase::Input, options.json);
    if (options.json) {
        const nlohmann::ordered_json document = {{"schema", "lathe.task.new/1"},
                                                 {"folder", made->string()}};
        Terminal::line(dumpJson(document, 2));
    } else {
        Terminal::line("made " + made->string() + "\nnext: lathe task check "
                       + shellQuote(made->string()));
    }
    return kCorrect;
}

} // namespace lathe::cli
