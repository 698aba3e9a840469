// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "blob_store.h"

#include <lathe/base/files.h>
#include <lathe/base/sha256.h>

namespace lathe::session {

constexpr std::uint64_t kMaxBlobBytes = 1u << 30;

std::filesystem::path BlobStore::pathOf(const std::string& hash) const
{
    return m_folder / hash.substr(0, 2) / hash;
}

Result<std::string> BlobStore::put(std::string_view bytes)
{
    const std::string hash = sha256Hex(bytes);
    const auto path = pathOf(hash);
    std::error_code error;
    if (std::filesystem::file_size(path, error) == bytes.size() && !error) {
        return hash;
    }
    if (auto made = makeFolders(path.parent_path()); !made) {
        return tl::unexpected(made.error());
    }
    if (auto written = writeFileAtomic(path, bytes); !written) {
        return tl::unexpected(written.error());
    }
    return hash;
}

Result<std::string> BlobStore::get(const std::string& hash) const
{
    if (hash.size() != 64 || hash.find_first_not_of("0123456789abcdef") != std::string::npos) {
        return fail(ErrorCode::Parse, "\"" + hash + "\" is not the name of a blob");
    }
    auto bytes = readFile(pathOf(hash), kMaxBlobBytes);
    if (bytes && sha256Hex(*bytes) != hash) {
        return fail(ErrorCode::Parse,
                    "the workspace's file " + pathOf(hash).string() + " was changed or is damaged");
    }
    return bytes;
}

} // namespace lathe::session
