// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::cli {

/// One row of `lathe doctor`.
struct Check
{
    std::string name;
    std::string status; ///< "ok", "degraded", "missing"
    std::string found;
    std::string fix;
    bool required = false; ///< missing: this machine cannot evaluate on the CPU
};

Check checkProgram(const std::string& name,
                   const std::vector<std::string>& command,
                   const std::string& fix,
                   bool required);
/// An interpreter with torch, apache-tvm-ffi and numpy; empty path: none was named.
std::vector<Check> checkPython(const std::string& interpreter);
Check checkFonts();
Check checkDisplay();
Check checkWorkbench();
Check checkWritable(const std::string& name, const std::filesystem::path& folder);
Check checkSpace(const std::filesystem::path& folder);
Check checkTasks();

} // namespace lathe::cli
