// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace lathe::task {

/// A task of another project's format, in Lathe's terms: a reference and a task.json.
struct ForeignTask
{
    std::string name;   ///< fit for a folder's name
    std::string source; ///< the Python file
    std::string config; ///< task.json's text
    std::string format; ///< "kernelbench", "robust-kbench", "cuda-agent-ops"
    std::string origin; ///< file, with the line of a row: "rows.jsonl:12"
    std::vector<std::pair<std::string, std::string>> originals; ///< file name and bytes, untouched
};

/// True for a folder as robust-kbench makes them: func_forward.py and config_forward.json.
bool isRobustKbenchFolder(const std::filesystem::path& folder);

/// The forward task of a robust-kbench folder and, where it has config_backward.json, the backward
/// one.
Result<std::vector<ForeignTask>> readRobustKbench(const std::filesystem::path& folder);

/// One row, counted in lines from 1, of a file of CUDA-Agent-Ops rows.
Result<ForeignTask> readRow(const std::filesystem::path& file, std::size_t line);

/// All rows of a .jsonl or .parquet file. Rows that are no tasks are named in problems. Parquet
/// needs pyarrow in the environment of LATHE_PYTHON.
Result<std::vector<ForeignTask>> readRows(const std::filesystem::path& file,
                                          std::vector<std::string>& problems);

/// A KernelBench-style .py as a task of its own.
Result<ForeignTask> readKernelBench(const std::filesystem::path& file);

} // namespace lathe::task
