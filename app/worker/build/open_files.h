// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace lathe::worker {

/// A folder that other users may read, whatever the umask.
Result<void> makeOpenFolder(const std::filesystem::path& folder);

/// A file below root, its folders included, that other users may read, whatever the umask.
Result<void> writeOpenFile(const std::filesystem::path& root,
                           const std::string& relative,
                           std::string_view text);

} // namespace lathe::worker
