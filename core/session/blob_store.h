// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <filesystem>
#include <string>
#include <string_view>

namespace lathe::session {

/// Content-addressed files under blobs/aa/<sha256>. Several processes may use one folder: a blob is
/// complete or absent.
class BlobStore
{
public:
    explicit BlobStore(std::filesystem::path folder)
        : m_folder(std::move(folder))
    {}
    /// Writes (fsynced, renamed) unless it is there; returns the SHA-256.
    Result<std::string> put(std::string_view bytes);
    /// The bytes; a blob whose content is not its name's is a Parse error.
    [[nodiscard]] Result<std::string> get(const std::string& hash) const;

private:
    [[nodiscard]] std::filesystem::path pathOf(const std::string& hash) const;
    std::filesystem::path m_folder;
};

} // namespace lathe::session
