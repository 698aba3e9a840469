// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "output_file.h"

#include <lathe/base/files.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

namespace lathe::cli {

namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> cannotWrite(const fs::path& path, int error)
{
    return fail(ErrorCode::Io,
                "cannot write " + path.string() + ": "
                    + std::strerror(error)); // NOLINT(concurrency-mt-unsafe)
}

} // namespace

Result<void> checkOutputFile(const fs::path& path)
{
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
        return cannotWrite(path, EISDIR);
    const fs::file_status status = fs::symlink_status(path, ignored);
    if (fs::exists(status) && !fs::is_regular_file(status))
        return ::access(path.c_str(), W_OK) == 0 || errno == ENOENT ? Result<void>{}
                                                                    : cannotWrite(path, errno);
    const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (!fs::is_directory(folder, ignored))
        return cannotWrite(path, fs::exists(folder, ignored) ? ENOTDIR : ENOENT);
    return ::access(folder.c_str(), W_OK) == 0 ? Result<void>{} : cannotWrite(path, errno);
}

Result<void> writeOutputFile(const fs::path& path, const std::string& text)
{
    std::error_code ignored;
    const fs::file_status status = fs::symlink_status(path, ignored);
    if (!fs::exists(status) || fs::is_regular_file(status)) {
        auto written = writeFileAtomic(path, text);
        return written ? written
                       : fail(ErrorCode::Io,
                              "cannot write " + path.string() + ": " + written.error().message);
    }
    std::FILE* const file = std::fopen(path.c_str(), "we");
    if (file == nullptr)
        return cannotWrite(path, errno);
    const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const int error = whole ? 0 : errno;
    if (std::fclose(file) != 0 || !whole)
        return cannotWrite(path, whole ? errno : error);
    return {};
}

} // namespace lathe::cli
