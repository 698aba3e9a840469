// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::task {

/// A task as read from a folder (task.json + reference .py), a bare KernelBench-style .py, a
/// robust-kbench folder, or a row of a .jsonl or .parquet file (FILE#LINE).
struct Task
{
    protocol::TaskSpec spec;
    std::string title;
    std::string suite;
    std::vector<std::string> tags;
    std::string notes;            ///< Markdown, the expected outcome written beforehand
    std::filesystem::path folder; ///< where it was read from; the file's folder for a bare .py
    std::filesystem::path referenceFile;
    std::vector<std::filesystem::path> solutions; ///< shipped solution folders (solutions/<name>)
    std::string hash;                             ///< SHA-256 of source and task.json
};

/// One finding of `lathe task check`.
struct Finding
{
    std::string severity; ///< "error", "warning"
    std::string file;
    int line = 0;
    std::string message; ///< one sentence that says what to do
};

/// Reads a task: a folder with task.json, a .py file, a robust-kbench folder (FOLDER#backward: its
/// backward task), FILE.jsonl#LINE, or the id of a shipped task
/// ("starter/rmsnorm_residual" or its last part) looked up below the given suite roots.
Result<Task> loadTask(const std::string& reference,
                      const std::vector<std::filesystem::path>& roots);

/// Static check of a task folder or file: every problem found, with file and line.
std::vector<Finding> checkTask(const std::string& reference,
                               const std::vector<std::filesystem::path>& roots);

/// Every task below the roots, sorted by key; unreadable ones are left out and named in problems.
std::vector<Task> listTasks(const std::vector<std::filesystem::path>& roots,
                            std::vector<Finding>& problems);

/// Writes a new task folder with a runnable template (lathe task new). Fails when the folder
/// exists.
Result<std::filesystem::path> createTask(const std::filesystem::path& folder,
                                         const std::string& name);

/// What an import made, and what of the source could not be made a task.
struct Imported
{
    std::vector<std::filesystem::path> folders;
    std::vector<std::string> problems;
};

/// Makes a task folder below `folder` for every task in source: a KernelBench .py or a folder of
/// them, a robust-kbench folder or a folder of those, a .jsonl or .parquet file of CUDA-Agent-Ops
/// rows. The original files lie unchanged beside task.json.
Result<Imported> importTasks(const std::filesystem::path& source,
                             const std::filesystem::path& folder);

/// Where shipped tasks are: LATHE_TASKS, else beside the executable (../share/lathe/tasks), else
/// the source tree.
std::vector<std::filesystem::path> defaultRoots();

} // namespace lathe::task
