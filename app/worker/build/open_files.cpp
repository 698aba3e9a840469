// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "open_files.h"

#include <lathe/base/files.h>

#include <cerrno>
#include <cstring>
#include <sys/stat.h>

namespace lathe::worker {

namespace fs = std::filesystem;

Result<void> makeOpenFolder(const fs::path& folder)
{
    std::error_code error;
    fs::create_directory(folder, error);
    if (::chmod(folder.c_str(), 0755) != 0) {
        return fail(ErrorCode::Io,
                    "Cannot make " + folder.string(),
                    std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    return {};
}

Result<void> writeOpenFile(const fs::path& root, const std::string& relative, std::string_view text)
{
    fs::path folder = root;
    for (const fs::path& part : fs::path(relative).parent_path()) {
        folder /= part;
        if (auto made = makeOpenFolder(folder); !made) {
            return made;
        }
    }
    const fs::path path = root / relative;
    auto written = writeFileAtomic(path, text, 0644);
    if (written && ::chmod(path.c_str(), 0644) != 0) { // the umask may have taken bits away
        return fail(ErrorCode::Io,
                    "Cannot open up " + path.string(),
                    std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    return written;
}

} // namespace lathe::worker
