// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "foreign.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/task/task.h>

#include <nlohmann/json.hpp>

namespace lathe::task {
namespace {

namespace fs = std::filesystem;

Result<std::vector<ForeignTask>> readAny(const fs::path& source, std::vector<std::string>& problems)
{
    std::error_code error;
    if (fs::is_directory(source, error)) {
        if (isRobustKbenchFolder(source)) {
            return readRobustKbench(source);
        }
        std::vector<ForeignTask> all;
        std::vector<fs::path> entries;
        for (fs::directory_iterator it(source, error), end; !error && it != end;
             it.increment(error)) {
            entries.push_back(it->path());
        }
        std::sort(entries.begin(), entries.end());
        for (const fs::path& entry : entries) {
            if (fs::is_directory(entry, error) ? !isRobustKbenchFolder(entry)
                                               : entry.extension() != ".py") {
                continue;
            }
            auto tasks = readAny(entry, problems);
            if (!tasks) {
                problems.push_back(tasks.error().message);
                continue;
            }
            for (ForeignTask& task : *tasks) {
                all.push_back(std::move(task));
            }
        }
        if (all.empty() && problems.empty()) {
            return fail(ErrorCode::InvalidArgument,
                        source.string()
                            + " holds no .py file and no robust-kbench folder (func_forward.py "
                              "with config_forward.json)");
        }
        return all;
    }
    if (!fs::is_regular_file(source, error)) {
        return fail(ErrorCode::NotFound, "there is no file or folder " + source.string());
    }
    if (source.extension() == ".jsonl" || source.extension() == ".parquet") {
        return readRows(source, problems);
    }
    if (source.extension() != ".py") {
        return fail(ErrorCode::InvalidArgument,
                    source.string()
                        + " is of no format that can be imported: .py (KernelBench), .jsonl or "
                          ".parquet (CUDA-Agent-Ops), or a folder of robust-kbench");
    }
    auto task = readKernelBench(source);
    if (!task) {
        return tl::unexpected(task.error());
    }
    return std::vector<ForeignTask>{std::move(*task)};
}

Result<fs::path> write(const ForeignTask& task, const fs::path& suite)
{
    const fs::path folder = suite / task.name;
    std::error_code error;
    if (fs::exists(folder, error)) {
        return fail(ErrorCode::InvalidArgument,
                    folder.string() + " exists already; import to another folder");
    }
    auto config = parseOrderedJson(task.config);
    if (!config) {
        return tl::unexpected(config.error());
    }
    std::string reference = "reference.py";
    for (const auto& [name, bytes] : task.originals) {
        if (name.ends_with(".py") && isSafeRelativePath(name)) {
            reference = name;
        }
    }
    (*config)["reference"] = reference;
    (*config)["x-imported"] = {{"format", task.format}, {"from", task.origin}};
    if (auto made = makeFolders(folder); !made) {
        return tl::unexpected(made.error());
    }
    std::vector<std::pair<std::string, std::string>> files = task.originals;
    if (reference == "reference.py") {
        files.emplace_back(reference, task.source);
    }
    files.emplace_back("task.json", dumpJson(*config, 2) + "\n");
    for (const auto& [name, bytes] : files) {
        if (auto written = writeFileAtomic(folder / name, bytes); !written) {
            return tl::unexpected(written.error());
        }
    }
    return folder;
}

} // namespace

Result<Imported> importTasks(const fs::path& source, const fs::path& folder)
{
    Imported out;
    const fs::path path = source.filename().empty() ? source.parent_path() : source;
    const auto tasks = readAny(path, out.problems);
    if (!tasks) {
        return tl::unexpected(tasks.error());
    }
    for (const ForeignTask& task : *tasks) {
        auto made = write(task, folder);
        if (made) {
            out.folders.push_back(std::move(*made));
        } else {
            out.problems.push_back(made.error().message);
        }
    }
    return out;
}

} // namespace lathe::task
