// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/scrubber.h>
#include <lathe/agent/trajectory.h>
#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace lathe::agent {

/// The append-only JSONL of one run ("lathe.trajectory/1"): one event a line, each written whole
/// and synced, secrets taken out. Long texts are blobs by SHA-256. Core thread.
class TrajectoryLog
{
public:
    static Result<TrajectoryLog> create(const std::filesystem::path& file,
                                        const std::filesystem::path& blobFolder,
                                        const nlohmann::ordered_json& header,
                                        Scrubber scrubber);

    /// Sets the item's seq, at and scrubbed texts and appends it. data: members for machines,
    /// beside what people read.
    Result<void> append(TrajectoryItem& item, const nlohmann::ordered_json& data);
    Result<void> append(TrajectoryItem& item);
    /// Stores scrubbed text as a blob; returns its SHA-256.
    Result<std::string> storeBlob(std::string_view text) const;
    [[nodiscard]] const Scrubber& scrubber() const { return m_scrubber; }

private:
    TrajectoryLog(UniqueFd fd, std::filesystem::path blobFolder, Scrubber scrubber);
    Result<void> line(const std::string& json) const;
    UniqueFd m_fd;
    std::filesystem::path m_blobFolder;
    Scrubber m_scrubber;
    std::int64_t m_seq = 0;
};

} // namespace lathe::agent
