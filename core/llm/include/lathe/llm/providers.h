// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/llm/endpoint_profile.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::llm {

/// One row of the list a person picks from.
struct ProviderInfo
{
    std::string name; ///< a profile's name, or "replay:FILE"
    std::string title;
    bool usable = false;
    std::string why; ///< when not usable: what to do
};

/// Endpoint profiles of the file (none when it is absent) and the recordings (*.replay.jsonl) in
/// the folders.
std::vector<ProviderInfo> listProviders(const std::filesystem::path& profiles,
                                        const std::vector<std::filesystem::path>& recordingFolders);

} // namespace lathe::llm
