// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
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

void checkReference(const Task& task, std::vector<Finding>& findings)
{
    const std::string file = task.referenceFile.string();
    const PythonOutline outline = outlinePython(task.spec.source);
    if (outline.unterminatedStringLine > 0) {
        findings.push_back({"error",
                            file,
                            outline.unterminatedStringLine,
                            "a string that begins here never ends"});
    }
    if (!outline.classes.contains("Model")) {
        findings.push_back(
            {"error", file, 1, "no top-level class named Model; the reference must define one"});
    }
    for (const char* name : {"get_inputs", "get_init_inputs"}) {
        if (!outline.functions.contains(name)) {
            findings.push_back({"error",
                                file,
                                1,
                                std::string("no top-level function ") + name
                                    + "(); the reference must define it"});
        }
    }
    for (const auto& variant : task.spec.variants) {
        for (const auto& constant : variant.constants) {
            if (!outline.constants.contains(constant.name)) {
                findings.push_back(
                    {"error",
                     file,
                     0,
                     "variant " + variant.name + " sets " + constant.name
                         + ", but the reference has no top-level constant of that name"});
            }
        }
    }
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
    if (fs::is_directory(path, error)) {
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
    task.spec.source = readText(task.referenceFile, findings);
    ensureHeadlines(task.spec.variants);
    if (!task.spec.source.empty()) {
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
