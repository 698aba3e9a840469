// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "foreign.h"
#include "python_outline.h"
#include "task_reader.h"

#include <lathe/base/files.h>
#include <lathe/base/sha256.h>
#include <lathe/base/text.h>

#include <algorithm>

namespace lathe::task {
namespace {

constexpr std::uint64_t kMaxSourceBytes = 4u << 20;

namespace fs = std::filesystem;

std::string readText(const fs::path& file, std::vector<Finding>& findings)
{
    auto text = readFile(file, kMaxSourceBytes);
    if (!text) {
        findings.push_back({"error", file.string(), 0, text.error().message});
        return {};
    }
    if (text->find('\0') != std::string::npos || toValidUtf8(*text) != *text) {
        findings.push_back(
            {"error", file.string(), 0, file.filename().string() + " is not UTF-8 text"});
        return {};
    }
    return std::move(*text);
}

/// The callee of a keyword argument ("get_inputs.batch"), "" for a constant.
std::string calleeOf(const protocol::Constant& constant)
{
    const auto dot = constant.name.find('.');
    return dot == std::string::npos ? std::string() : constant.name.substr(0, dot);
}

void checkConstants(const Task& task,
                    const PythonOutline& outline,
                    const std::string& file,
                    std::vector<Finding>& findings)
{
    const auto need = [&](const std::string& name, const std::string& who) {
        if (!outline.constants.contains(name)) {
            findings.push_back(
                {"error",
                 file,
                 0,
                 who + " " + name + ", but the reference has no top-level constant of that name"});
        }
    };
    for (const auto& variant : task.spec.variants) {
        for (const auto& constant : variant.constants) {
            if (calleeOf(constant).empty()) {
                need(constant.name, "variant " + variant.name + " sets");
            }
        }
    }
    for (const auto& dimension : task.spec.free) {
        need(dimension.name, "\"free\" names");
    }
    for (const auto& rule : task.spec.inputs) {
        if (isPythonIdentifier(rule.below)) {
            need(rule.below, "input " + std::to_string(rule.index) + " is declared below");
        }
    }
}

void checkReference(const Task& task, std::vector<Finding>& findings)
{
    const std::string file = task.referenceFile.string();
    if (trimmed(task.spec.source).empty()) {
        findings.push_back({"error",
                            file,
                            1,
                            "the file is empty; it must define Model, get_inputs() and "
                            "get_init_inputs()"});
        return;
    }
    const PythonOutline outline = outlinePython(task.spec.source);
    if (outline.unterminatedStringLine > 0) {
        findings.push_back({"error",
                            file,
                            outline.unterminatedStringLine,
                            "a string that begins here never ends"});
    }
    if (outline.unclosedBracketLine > 0) {
        // What comes behind it is not what it seems.
        findings.push_back({"error",
                            file,
                            outline.unclosedBracketLine,
                            "a bracket that opens here is never closed"});
        return;
    }
    if (!outline.classes.contains("Model")) {
        findings.push_back(
            {"error", file, 1, "no top-level class named Model; the reference must define one"});
    }
    const auto& variants = task.spec.variants;
    const bool keywords =
        std::any_of(variants.begin(), variants.end(), [](const protocol::Variant& variant) {
            return std::any_of(variant.constants.begin(),
                               variant.constants.end(),
                               [](const auto& c) { return !calleeOf(c).empty(); });
        });
    for (const std::string name : {"get_inputs", "get_init_inputs"}) {
        // Where the variants give keyword arguments, Model needs no positional ones.
        if (!outline.functions.contains(name) && !(keywords && name == "get_init_inputs")) {
            findings.push_back(
                {"error",
                 file,
                 1,
                 "no top-level function " + name + "(); the reference must define it"});
        }
    }
    checkConstants(task, outline, file, findings);
}

/// Fills the task from another project's format; false when it could not be read.
bool takeForeign(Result<ForeignTask> foreign,
                 const fs::path& path,
                 Task& task,
                 std::string& config,
                 std::vector<Finding>& findings)
{
    if (!foreign) {
        findings.push_back({"error", path.string(), 0, foreign.error().message});
        return false;
    }
    config = foreign->config;
    std::string reference, notes;
    TaskReader(path.string(), config, findings).read(task, reference, notes);
    task.spec.source = std::move(foreign->source);
    task.spec.key = foreign->name;
    if (task.spec.source.find('\0') != std::string::npos
        || toValidUtf8(task.spec.source) != task.spec.source) {
        findings.push_back({"error", foreign->origin, 0, "the reference is not UTF-8 text"});
        return false;
    }
    return true;
}

/// The task that a path with a part behind a hash, or a robust-kbench folder, means.
Result<ForeignTask> foreignAt(const fs::path& path)
{
    const std::string text = path.string();
    const auto hash = text.rfind('#');
    const std::string part = hash == std::string::npos ? std::string() : text.substr(hash + 1);
    const fs::path file = text.substr(0, hash);
    if (!part.empty() && part != "backward") {
        return readRow(file, std::stoul(part));
    }
    auto tasks = readRobustKbench(file);
    if (!tasks) {
        return tl::unexpected(tasks.error());
    }
    const bool backward = part == "backward";
    if (backward && tasks->size() < 2) {
        return fail(ErrorCode::NotFound, file.string() + " has no config_backward.json");
    }
    return backward ? tasks->back() : tasks->front();
}

bool isForeign(const fs::path& path)
{
    std::error_code error;
    const std::string text = path.string();
    const auto hash = text.rfind('#');
    return (hash != std::string::npos && !fs::exists(path, error))
           || (isRobustKbenchFolder(path) && !fs::exists(path / "task.json", error));
}

std::vector<fs::path> solutionFolders(const fs::path& folder)
{
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator it(folder / "solutions", error), end; !error && it != end;
         it.increment(error)) {
        if (it->is_directory(error) && fs::exists(it->path() / "model_new.py", error)) {
            found.push_back(it->path());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::string titleFromName(std::string name)
{
    std::replace(name.begin(), name.end(), '_', ' ');
    return name;
}

} // namespace

Task readTask(const fs::path& path, std::vector<Finding>& findings)
{
    Task task;
    std::error_code error;
    std::string config;
    std::string referenceName = "reference.py";
    std::string notesName = "notes.md";
    bool read = false;
    if (isForeign(path)) {
        const fs::path file = path.string().substr(0, path.string().rfind('#'));
        const bool isFolder = fs::is_directory(file, error);
        task.folder = isFolder ? file : file.parent_path();
        task.referenceFile = path;
        read = takeForeign(foreignAt(path), path, task, config, findings);
    } else if (fs::is_directory(path, error)) {
        task.folder = path;
        const fs::path configFile = path / "task.json";
        if (fs::exists(configFile, error)) {
            const auto before = findings.size();
            config = readText(configFile, findings);
            if (findings.size() == before) {
                TaskReader(configFile.string(), config, findings)
                    .read(task, referenceName, notesName);
            }
        }
        task.referenceFile = path / referenceName;
        if (auto notes = readFile(path / notesName, kMaxSourceBytes)) {
            task.notes = toValidUtf8(*notes);
        }
        task.solutions = solutionFolders(path);
        task.spec.key = path.filename().string();
    } else {
        task.folder = path.parent_path();
        task.referenceFile = path;
        task.spec.key = path.stem().string();
    }
    if (!isForeign(path)) {
        const auto before = findings.size();
        task.spec.source = readText(task.referenceFile, findings);
        read = findings.size() == before;
    }
    ensureHeadlines(task.spec.variants);
    if (read) {
        checkReference(task, findings);
    }
    if (task.title.empty()) {
        task.title = titleFromName(task.spec.key);
    }
    Sha256 hash;
    hash.update(task.spec.source);
    hash.update(std::string_view("\0", 1));
    hash.update(config);
    task.hash = hash.finishHex();
    return task;
}

Result<Task> loadTask(const std::string& reference, const std::vector<fs::path>& roots)
{
    const auto located = locate(reference, roots);
    if (!located) {
        return tl::unexpected(located.error());
    }
    std::vector<Finding> findings;
    Task task = readTask(located->path, findings);
    const auto bad = std::find_if(
        findings.begin(), findings.end(), [](const Finding& f) { return f.severity == "error"; });
    if (bad != findings.end()) {
        const std::string where =
            bad->line > 0 ? bad->file + ":" + std::to_string(bad->line) : bad->file;
        return fail(ErrorCode::InvalidArgument, where + ": " + bad->message);
    }
    if (!located->key.empty()) {
        task.spec.key = located->key;
        if (task.suite.empty()) {
            task.suite = located->key.substr(0, located->key.find('/'));
        }
    } else {
        task.spec.key = "local/" + task.spec.key;
        if (task.suite.empty()) {
            task.suite = "local";
        }
    }
    return task;
}

} // namespace lathe::task
