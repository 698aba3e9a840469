// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "task_reader.h"

#include <lathe/base/text.h>

namespace lathe::task {

std::vector<Finding> checkTask(const std::string& reference,
                               const std::vector<std::filesystem::path>& roots)
{
    std::vector<Finding> findings;
    const auto located = locate(reference, roots);
    if (!located) {
        findings.push_back({"error", reference, 0, located.error().message});
        return findings;
    }
    const Task task = readTask(located->path, findings);
    std::error_code error;
    const bool isFolder = std::filesystem::is_directory(located->path, error);
    if (isFolder && trimmed(task.notes).empty()) {
        findings.push_back({"warning",
                            (task.folder / "notes.md").string(),
                            0,
                            "no notes; write the outcome you expect before measuring"});
    }
    return findings;
}

} // namespace lathe::task
