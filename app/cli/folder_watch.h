// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <filesystem>
#include <map>

namespace lathe::cli {

/// Notices finished writes, renames and removals below a folder, folders made later included.
class FolderWatch
{
public:
    static Result<FolderWatch> open(const std::filesystem::path& folder);
    [[nodiscard]] int fd() const { return m_fd.get(); } ///< readable when something happened
    /// Takes what happened; true when a file that matters changed (hidden and backup files do not).
    bool drain();

private:
    void add(const std::filesystem::path& folder);
    UniqueFd m_fd;
    std::map<int, std::filesystem::path> m_folders;
};

} // namespace lathe::cli
