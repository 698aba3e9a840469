// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/llm/providers.h>
#include <lathe/llm/recording.h>

#include <algorithm>

namespace lathe::llm {
namespace {

void addProfiles(const std::filesystem::path& file, std::vector<ProviderInfo>& rows)
{
    const auto profiles = readProfiles(file);
    if (!profiles) {
        if (profiles.error().code != ErrorCode::NotFound) {
            rows.push_back({file.filename().string(),
                            file.filename().string(),
                            false,
                            profiles.error().message});
        }
        return;
    }
    for (const auto& profile : *profiles) {
        const auto key = keyOf(profile);
        rows.push_back({profile.name,
                        profile.title,
                        key.has_value(),
                        key ? std::string() : key.error().message});
    }
}

void addRecordings(const std::filesystem::path& folder, std::vector<ProviderInfo>& rows)
{
    std::error_code error;
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (entry.path().filename().string().ends_with(".replay.jsonl")) {
            files.push_back(entry.path());
        }
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        const auto recording = readRecording(file);
        ProviderInfo row{
            "replay:" + file.string(), file.stem().stem().string(), recording.has_value(), {}};
        if (!recording) {
            row.why = recording.error().message;
        } else if (!recording->header.title.empty()) {
            row.title = recording->header.title
                        + (recording->header.origin == "scripted" ? " (recorded, scripted)"
                                                                  : " (recorded)");
        }
        rows.push_back(std::move(row));
    }
}

} // namespace

std::vector<ProviderInfo> listProviders(const std::filesystem::path& profiles,
                                        const std::vector<std::filesystem::path>& recordingFolders)
{
    std::vector<ProviderInfo> rows;
    addProfiles(profiles, rows);
    for (const auto& folder : recordingFolders) {
        addRecordings(folder, rows);
    }
    return rows;
}

} // namespace lathe::llm
