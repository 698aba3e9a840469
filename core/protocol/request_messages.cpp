// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <lathe/protocol/messages.h>
#include <lathe/protocol/types_json.h>

#include <cstdint>

namespace lathe::protocol {
namespace {

/// The candidate's JSON with its texts appended to the frame; the attachment numbers are the
/// frame's.
nlohmann::json attach(Frame& frame, const CandidateSpec& candidate)
{
    nlohmann::json json = toJson(candidate);
    const std::size_t base = frame.attachments.size();
    std::size_t index = 0;
    for (auto& file : json["files"]) {
        file["attachment"] = base + index;
        frame.attachments.push_back(candidate.files[index].text);
        ++index;
    }
    return json;
}

nlohmann::json requestJson(Frame& frame, const EvaluateRequest& request)
{
    nlohmann::json json{{"method", request.method},
                        {"task", toJson(request.task)},
                        {"tier", toString(request.tier)},
                        {"until", toString(request.until)},
                        {"device", request.device},
                        {"deviceIndex", request.deviceIndex},
                        {"variants", request.variants},
                        {"against", request.against},
                        {"minSeconds", request.minSeconds},
                        {"maxNoisePercent", request.maxNoisePercent},
                        {"timeoutSeconds", request.timeoutSeconds}};
    json["task"]["attachment"] = frame.attachments.size();
    frame.attachments.push_back(request.task.source);
    if (request.candidate) {
        json["candidate"] = attach(frame, *request.candidate);
    }
    if (request.parent) {
        json["parent"] = attach(frame, *request.parent);
    }
    if (request.replaySeed) {
        json["replaySeed"] = *request.replaySeed;
    }
    return json;
}

/// The attachment that `object.attachment` names. Copied, because two files may name the same one.
Result<std::string> attachmentOf(const Frame& frame, const nlohmann::json& object, const char* what)
{
    const std::int64_t index = intOr(object, "attachment", -1);
    if (index < 0 || static_cast<std::size_t>(index) >= frame.attachments.size()) {
        return fail(ErrorCode::Protocol,
                    std::string(what) + " names an attachment that is not there");
    }
    return frame.attachments[static_cast<std::size_t>(index)];
}

Result<CandidateSpec> readCandidate(const Frame& frame, const nlohmann::json& json)
{
    auto candidate = candidateSpecFromJson(json);
    if (!candidate) {
        return candidate;
    }
    // Total size stays below one frame's limit even when many files name one attachment.
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < candidate->files.size(); ++i) {
        auto text = attachmentOf(frame, json["files"][i], "a candidate's file");
        if (!text) {
            return tl::unexpected(text.error());
        }
        total += text->size();
        if (total > kMaxFrameBytes) {
            return fail(ErrorCode::Protocol, "a candidate's files are over the limit of 512 MiB");
        }
        candidate->files[i].text = std::move(*text);
    }
    return candidate;
}

Result<EvaluateRequest> readRequest(const Frame& frame, const nlohmann::json& json)
{
    EvaluateRequest request;
    Fields fields(json, "request");
    fields.need("method").read("method", request.method).need("task");
    if (fields.failed()) {
        return fields.error();
    }
    const nlohmann::json& taskJson = *fields.find("task");
    auto task = taskSpecFromJson(taskJson);
    if (!task) {
        return tl::unexpected(task.error());
    }
    auto source = attachmentOf(frame, taskJson, "the task");
    if (!source) {
        return tl::unexpected(source.error());
    }
    request.task = std::move(*task);
    request.task.source = std::move(*source);
    for (auto [key, target] :
         {std::pair{"candidate", &request.candidate}, std::pair{"parent", &request.parent}}) {
        if (const auto* member = fields.find(key)) {
            auto candidate = readCandidate(frame, *member);
            if (!candidate) {
                return tl::unexpected(candidate.error());
            }
            *target = std::move(*candidate);
        }
    }
    fields.readEnum("tier", request.tier, tierFromString);
    fields.readEnum("until", request.until, untilFromString);
    fields.read("device", request.device).read("deviceIndex", request.deviceIndex);
    fields.read("variants", request.variants).read("against", request.against);
    fields.read("minSeconds", request.minSeconds).read("maxNoisePercent", request.maxNoisePercent);
    fields.read("timeoutSeconds", request.timeoutSeconds).read("replaySeed", request.replaySeed);
    if (fields.failed()) {
        return fields.error();
    }
    return request;
}

Result<nlohmann::json> requestBody(const Frame& frame)
{
    if (frame.type != FrameType::Request) {
        return fail(ErrorCode::Protocol, "not a request frame");
    }
    return parseJson(frame.json);
}

} // namespace

Frame encodeRequest(std::uint64_t id, const EvaluateRequest& request)
{
    Frame frame{FrameType::Request, id, {}, {}};
    frame.json = dumpJson(requestJson(frame, request));
    return frame;
}

Frame encodeRequest(std::uint64_t id, const ExecRequest& request)
{
    Frame frame{FrameType::Request, id, {}, {}};
    nlohmann::json json = requestJson(frame, request.what);
    json["method"] = "exec";
    json["command"] = request.command;
    frame.json = dumpJson(json);
    return frame;
}

Result<EvaluateRequest> decodeEvaluateRequest(Frame& frame)
{
    const auto json = requestBody(frame);
    if (!json) {
        return tl::unexpected(json.error());
    }
    auto request = readRequest(frame, *json);
    if (request) {
        frame.attachments.clear();
    }
    return request;
}

Result<ExecRequest> decodeExecRequest(Frame& frame)
{
    const auto json = requestBody(frame);
    if (!json) {
        return tl::unexpected(json.error());
    }
    auto what = readRequest(frame, *json);
    if (!what) {
        return tl::unexpected(what.error());
    }
    ExecRequest request{std::move(*what), {}};
    Fields fields(*json, "request");
    fields.need("command").read("command", request.command);
    if (fields.failed()) {
        return fields.error();
    }
    frame.attachments.clear();
    return request;
}

Result<std::string> requestMethod(const Frame& frame)
{
    const auto json = requestBody(frame);
    if (!json) {
        return tl::unexpected(json.error());
    }
    std::string method;
    Fields fields(*json, "request");
    fields.need("method").read("method", method);
    if (fields.failed()) {
        return fields.error();
    }
    return method;
}

} // namespace lathe::protocol
