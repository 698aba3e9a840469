// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace lathe::worker {

/// A folder of finished builds: KEY/candidate (what the arm mounts) and KEY/report.json. An entry
/// appears whole, by rename, or not at all; several workers may share one.
class BuildCache
{
public:
    struct Entry
    {
        protocol::BuildReport report;
        std::filesystem::path folder;
    };
    BuildCache(std::filesystem::path root, std::uint64_t maxBytes);
    /// The entry, marked as used now.
    [[nodiscard]] std::optional<Entry> find(const std::string& key) const;
    /// A private folder beside the entries, on the same file system; what killed workers left of
    /// theirs is removed.
    [[nodiscard]] Result<std::filesystem::path> makeWorkFolder() const;
    /// Moves work/entry into place, or drops it when another worker was first; then prunes.
    Result<Entry> publish(const std::string& key,
                          const std::filesystem::path& prepared,
                          const protocol::BuildReport& report) const;

private:
    void prune(const std::string& keep) const;
    std::filesystem::path m_root;
    std::uint64_t m_maxBytes;
};

} // namespace lathe::worker
