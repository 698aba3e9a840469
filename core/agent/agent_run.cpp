// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "agent_loop.h"

#include <lathe/agent/agent_run.h>
#include <lathe/base/clock.h>
#include <lathe/base/files.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lathe::agent {
namespace {

struct Provider
{
    llm::EndpointProfile profile;
    std::string key;
    std::shared_ptr<const llm::Recording> recording;
};

Result<Provider> replayProvider(const std::string& file)
{
    auto recording = llm::readRecording(file);
    if (!recording) {
        return tl::unexpected(recording.error());
    }
    Provider provider;
    provider.profile.name = "replay:" + file;
    provider.profile.baseUrl = "replay:";
    provider.profile.model = recording->header.model;
    provider.profile.origin = recording->header.origin;
    provider.recording = std::make_shared<const llm::Recording>(std::move(*recording));
    return provider;
}

Result<Provider> findProvider(const std::string& name, const std::filesystem::path& file)
{
    static constexpr std::string_view kReplay = "replay:";
    if (name.starts_with(kReplay)) {
        return replayProvider(name.substr(kReplay.size()));
    }
    auto profiles = llm::readProfiles(file);
    if (!profiles) {
        return profiles.error().code == ErrorCode::NotFound
                   ? fail(ErrorCode::NotFound,
                          "there is no endpoint \"" + name + "\": write one into " + file.string())
                   : tl::unexpected(profiles.error());
    }
    const auto it = std::find_if(
        profiles->begin(), profiles->end(), [&](const auto& p) { return p.name == name; });
    if (it == profiles->end()) {
        return fail(ErrorCode::NotFound,
                    "there is no endpoint \"" + name + "\" in " + file.string());
    }
    auto key = llm::keyOf(*it);
    if (!key) {
        return tl::unexpected(key.error());
    }
    return Provider{std::move(*it), std::move(*key), nullptr};
}

nlohmann::ordered_json
header(const AgentRunOptions& options, const Provider& provider, const Prompts& prompts)
{
    nlohmann::ordered_json json = {{"run", options.run.text()},
                                   {"task", options.task.spec.key},
                                   {"taskHash", options.task.hash},
                                   {"device", options.device},
                                   {"provider", options.provider},
                                   {"model", provider.profile.model},
                                   {"replay", provider.recording != nullptr},
                                   {"origin", provider.profile.origin},
                                   {"prompts", prompts.hash},
                                   {"startedAt", utcNow()}};
    json["limits"] = {{"turns", options.limits.maxTurns},
                      {"contextTokens", options.limits.maxContextTokens},
                      {"tokens", options.limits.maxTokens},
                      {"seconds", options.limits.maxSeconds}};
    if (options.limits.maxCost) {
        json["limits"]["cost"] = *options.limits.maxCost;
    }
    return json;
}

} // namespace

Result<std::unique_ptr<AgentRun>>
AgentRun::create(boost::asio::io_context& io, AgentRunOptions options, AgentHost& host)
{
    const auto profiles = options.profilesFile.empty() ? llm::profilesFile() : options.profilesFile;
    auto provider = findProvider(options.provider, profiles);
    if (!provider) {
        return tl::unexpected(provider.error());
    }
    options.limits.maxContextTokens =
        std::min(options.limits.maxContextTokens, provider->profile.contextTokens);
    auto prompts = loadPrompts(options.promptFolder, options.task, options.device, options.start);
    if (!prompts) {
        return tl::unexpected(prompts.error());
    }
    auto workdir = Workdir::create(options.workFolder, options.start, options.task.spec.source);
    if (!workdir) {
        return tl::unexpected(workdir.error());
    }
    auto log = TrajectoryLog::create(options.trajectoryFile,
                                     options.blobFolder,
                                     header(options, *provider, *prompts),
                                     Scrubber(std::vector<std::string>{provider->key}));
    if (!log) {
        return tl::unexpected(log.error());
    }
    std::shared_ptr<llm::RecordingWriter> tap;
    if (!options.recordFile.empty() && !provider->recording) {
        llm::RecordingHeader recordHeader;
        recordHeader.title = provider->profile.title;
        recordHeader.task = options.task.spec.key;
        recordHeader.device = options.device;
        recordHeader.model = provider->profile.model;
        recordHeader.origin = provider->profile.origin;
        auto writer = llm::RecordingWriter::create(options.recordFile, recordHeader, provider->key);
        if (!writer) {
            return tl::unexpected(writer.error());
        }
        tap = std::move(*writer);
    }
    auto transport = provider->recording
                         ? llm::makeReplayTransport(io, provider->recording, options.replayPace)
                         : llm::makeCurlTransport(io);
    AgentParts parts{std::move(options),
                     std::move(*prompts),
                     std::move(*workdir),
                     std::move(*log),
                     std::move(transport),
                     llm::makeAsioTimers(io),
                     std::move(provider->profile),
                     std::move(provider->key),
                     std::move(tap),
                     std::move(provider->recording)};
    return std::unique_ptr<AgentRun>(std::make_unique<AgentLoop>(io, std::move(parts), host));
}

} // namespace lathe::agent
