// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "host.h"
#include "options.h"
#include "progress.h"
#include "terminal.h"

#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/protocol/types_json.h>
#include <lathe/task/task.h>

#include <nlohmann/json.hpp>

#include <algorithm>
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

namespace {

/// What one gate of the worker says about the task, a sentence a finding.
void addGate(const protocol::GateResult& gate,
             const std::string& file,
             std::vector<task::Finding>& findings)
{
    if (gate.status != protocol::GateStatus::Warn && gate.status != protocol::GateStatus::Fail)
        return;
    const std::string severity = gate.status == protocol::GateStatus::Fail ? "error" : "warning";
    const auto detail = parseJson(gate.detailJson);
    const auto rows =
        detail ? detail->value("findings", nlohmann::json::array()) : nlohmann::json::array();
    if (rows.empty())
        findings.push_back({severity, file, 0, gate.reason});
    for (const auto& row : rows)
        if (row.is_string())
            findings.push_back({severity, file, 0, row.get<std::string>()});
}

/// Runs the reference in the worker; what it finds is added.
Result<void> checkByRunning(const TaskOptions& options, std::vector<task::Finding>& findings)
{
    Loop loop;
    auto host = Host::open(loop, options);
    if (!host)
        return tl::unexpected(host.error());
    auto task = (*host)->openTask(options.task);
    if (!task)
        return tl::unexpected(task.error());
    CommonOptions baseline = options;
    baseline.until = "verify";
    baseline.against = {options.compile ? "compile:default" : "eager"};
    Progress progress(options.progress == "ndjson");
    (*host)->onProgress = [&](const evaluation::EvaluationResult& snapshot) {
        progress.update(snapshot);
    };
    auto result = (*host)->baseline(task->row.id, toEvaluateOptions(baseline));
    progress.finish();
    if (!result)
        return tl::unexpected(result.error());
    const std::string file = task->task.referenceFile.string();
    for (const auto& gate : (*result)->gates)
        addGate(gate, file, findings);
    for (const std::string& warning : (*result)->warnings)
        findings.push_back({"warning", file, 0, warning});
    return {};
}

} // namespace

int runTaskCheck(const TaskOptions& options)
{
    auto findings = task::checkTask(options.task, task::defaultRoots());
    const auto isError = [](const task::Finding& f) { return f.severity == "error"; };
    const bool readable = std::none_of(findings.begin(), findings.end(), isError);
    if (readable && !options.readOnly) {
        if (auto ran = checkByRunning(options, findings); !ran)
            return reportError(ran.error(), Phase::Work, options.json);
    }
    const auto errors =
        static_cast<std::size_t>(std::count_if(findings.begin(), findings.end(), isError));
    if (options.json) {
        const nlohmann::ordered_json document = {{"schema", "lathe.task.check/1"},
                                                 {"task", options.task},
                                                 {"ok", errors == 0},
                                                 {"ran", readable && !options.readOnly},
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
    return errors == 0 ? kCorrect : readable ? kNotCorrect : kUsage;
}

int runTaskImport(const TaskOptions& options)
{
    const auto imported = task::importTasks(options.task, options.folder);
    if (!imported)
        return reportError(imported.error(), Phase::Input, options.json);
    if (options.json) {
        auto folders = nlohmann::ordered_json::array();
        for (const auto& folder : imported->folders)
            folders.push_back(folder.string());
        Terminal::line(dumpJson(nlohmann::ordered_json{{"schema", "lathe.task.import/1"},
                                                       {"folders", std::move(folders)},
                                                       {"problems", imported->problems}},
                                2));
    } else {
        for (const auto& folder : imported->folders)
            Terminal::line("made " + folder.string());
        for (const std::string& problem : imported->problems)
            Terminal::line(Terminal{}.styled("left out:", Tone::Warn) + " " + problem);
        Terminal::line(fmt::format(
            "{} imported, {} left out", imported->folders.size(), imported->problems.size()));
    }
    return imported->problems.empty() ? kCorrect : imported->folders.empty() ? kUsage : kNotCorrect;
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
                                           {"weights", task.spec.weights},
                                           {"tags", task.tags}};
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
        // As the worker gets it (docs/protocol.md, TASK).
        document["spec"] = nlohmann::ordered_json::parse(protocol::toJson(task.spec).dump());
        document["source"] = task.spec.source;
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
