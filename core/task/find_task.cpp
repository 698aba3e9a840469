// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "foreign.h"
#include "task_reader.h"

#include <lathe/base/files.h>
#include <lathe/base/text.h>

#include <algorithm>
#include <cstdlib>

namespace lathe::task {
namespace {

namespace fs = std::filesystem;

bool isTaskFolder(const fs::path& folder)
{
    std::error_code error;
    return isRobustKbenchFolder(folder) || fs::exists(folder / "task.json", error)
           || fs::exists(folder / "reference.py", error);
}

/// "suite/name" when path lies two levels below one of the roots, else "".
std::string keyBelow(const fs::path& path, const std::vector<fs::path>& roots)
{
    std::error_code error;
    const fs::path whole = fs::weakly_canonical(path, error);
    for (const auto& root : roots) {
        const fs::path base = fs::weakly_canonical(root, error);
        if (whole.parent_path().parent_path() == base) {
            return whole.parent_path().filename().string() + "/" + whole.filename().string();
        }
    }
    return {};
}

/// Every task folder two levels below the root, as suite/name.
std::vector<std::pair<std::string, fs::path>> shippedBelow(const fs::path& root)
{
    std::vector<std::pair<std::string, fs::path>> found;
    std::error_code error;
    for (fs::directory_iterator suite(root, error), end; !error && suite != end;
         suite.increment(error)) {
        std::error_code inner;
        if (!suite->is_directory(inner)) {
            continue;
        }
        for (fs::directory_iterator task(suite->path(), inner); !inner && task != end;
             task.increment(inner)) {
            if (isTaskFolder(task->path())) {
                found.emplace_back(suite->path().filename().string() + "/"
                                       + task->path().filename().string(),
                                   task->path());
            }
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace

Result<Located> locate(const std::string& reference, const std::vector<fs::path>& roots)
{
    if (reference.empty()) {
        return fail(
            ErrorCode::InvalidArgument,
            "no task named; give a folder with task.json, a .py file or a shipped task's id");
    }
    std::error_code error;
    fs::path path(reference);
    if (path.filename().empty()) {
        path = path.parent_path();
    }
    if (path.filename() == "task.json") {
        path = path.has_parent_path() ? path.parent_path() : fs::path(".");
    }
    if (fs::is_directory(path, error) && isTaskFolder(path)) {
        const fs::path whole = fs::weakly_canonical(path, error);
        return Located{whole, keyBelow(whole, roots)};
    }
    if (fs::is_regular_file(path, error)) {
        if (path.extension() == ".jsonl" || path.extension() == ".parquet") {
            return fail(ErrorCode::InvalidArgument,
                        path.string() + " holds many tasks: name one as " + path.string()
                            + "#LINE, or make folders of them all with lathe task import");
        }
        if (path.extension() != ".py") {
            return fail(ErrorCode::InvalidArgument,
                        path.string()
                            + " is not a .py file; a task is a folder with task.json or a .py");
        }
        return Located{fs::weakly_canonical(path, error), {}};
    }
    if (const auto hash = reference.rfind('#'); hash != std::string::npos && hash > 0) {
        const fs::path file = reference.substr(0, hash);
        const std::string part = reference.substr(hash + 1);
        const bool rows = file.extension() == ".jsonl" || file.extension() == ".parquet";
        const bool numeric = !part.empty() && part.size() < 10
                             && part.find_first_not_of("0123456789") == std::string::npos;
        if ((rows && numeric && fs::is_regular_file(file, error))
            || (part == "backward" && isRobustKbenchFolder(file))) {
            const fs::path whole = fs::weakly_canonical(file, error);
            return Located{whole.string() + "#" + part, {}};
        }
    }
    std::vector<Located> matches;
    std::vector<std::string> names;
    for (const auto& root : roots) {
        for (const auto& [key, folder] : shippedBelow(root)) {
            if (key == reference) {
                return Located{folder, key};
            }
            if (key.substr(key.find('/') + 1) == reference) {
                matches.push_back({folder, key});
                names.push_back(key);
            }
        }
    }
    if (matches.size() == 1) {
        return matches.front();
    }
    if (matches.size() > 1) {
        return fail(ErrorCode::InvalidArgument,
                    "task \"" + reference + "\" is ambiguous; say one of: " + join(names, ", "));
    }
    if (fs::is_directory(path, error)) {
        return fail(ErrorCode::NotFound,
                    path.string() + " holds neither task.json nor reference.py");
    }
    return fail(ErrorCode::NotFound,
                "there is no task \"" + reference
                    + "\": no such folder or file, and no shipped task of that name");
}

std::vector<Task> listTasks(const std::vector<fs::path>& roots, std::vector<Finding>& problems)
{
    std::vector<Task> tasks;
    for (const auto& root : roots) {
        for (const auto& [key, folder] : shippedBelow(root)) {
            auto task = loadTask(folder.string(), roots);
            if (task) {
                tasks.push_back(std::move(*task));
            } else {
                problems.push_back({"error", folder.string(), 0, task.error().message});
            }
        }
    }
    std::sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
        return a.spec.key < b.spec.key;
    });
    return tasks;
}

std::vector<fs::path> defaultRoots()
{
    if (const char* variable = std::getenv("LATHE_TASKS");
        variable != nullptr && variable[0] != '\0') { // NOLINT(concurrency-mt-unsafe)
        std::vector<fs::path> roots;
        std::string_view rest(variable);
        while (!rest.empty()) {
            const auto end = rest.find(':');
            if (end != 0) {
                roots.emplace_back(std::string(rest.substr(0, end)));
            }
            rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
        }
        return roots;
    }
    std::error_code error;
    for (const fs::path& root :
         {executableFolder().parent_path() / "share/lathe/tasks", fs::path(LATHE_SOURCE_TASKS)}) {
        if (fs::is_directory(root, error)) {
            return {root};
        }
    }
    return {};
}

} // namespace lathe::task
