// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <filesystem>
#include <string>

namespace lathe::cli {

/// Whether a file that the user named can be written, asked before the work that fills it.
Result<void> checkOutputFile(const std::filesystem::path& path);
/// Writes a file that the user named: at once where it is new or a plain file; into what is there
/// for a link, a pipe or a device, none of which may be replaced by a file.
Result<void> writeOutputFile(const std::filesystem::path& path, const std::string& text);

} // namespace lathe::cli
