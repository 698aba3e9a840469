// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace lathe {

/// The whole file, at most maxBytes of it: a larger file is an InvalidArgument error, not a
/// truncation.
Result<std::string> readFile(const std::filesystem::path& path,
                             std::uint64_t maxBytes = 256u << 20);

/// Writes beside the target, fsyncs, renames, fsyncs the folder: the file is old or new, never
/// half.
Result<void>
writeFileAtomic(const std::filesystem::path& path, std::string_view bytes, unsigned mode = 0644);

/// mkdir -p with an error that names the folder and errno's text.
Result<void> makeFolders(const std::filesystem::path& path);

/// A fresh private (0700) folder under parent, named prefix + random.
Result<std::filesystem::path> makeTempFolder(const std::filesystem::path& parent,
                                             std::string_view prefix);

/// True for a relative path without "..", empty parts, a leading slash or NUL: safe to join below a
/// folder.
bool isSafeRelativePath(std::string_view path);

/// $XDG_CACHE_HOME/lathe or ~/.cache/lathe (not created).
std::filesystem::path cacheFolder();
/// $XDG_DATA_HOME/lathe or ~/.local/share/lathe (not created).
std::filesystem::path dataFolder();
/// $XDG_CONFIG_HOME/lathe or ~/.config/lathe (not created).
std::filesystem::path configFolder();
/// The folder of the running executable.
std::filesystem::path executableFolder();

} // namespace lathe
