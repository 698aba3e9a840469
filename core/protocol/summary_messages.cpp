// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <lathe/base/text.h>
#include <lathe/protocol/messages.h>
#include <lathe/protocol/types_json.h>

#include <array>
#include <cstdint>

namespace lathe::protocol {
namespace {

constexpr std::size_t kMaxDetailBytes = 256 * 1024;

Result<nlohmann::json> bodyOf(const Frame& frame, FrameType type, const char* what)
{
    if (frame.type != type) {
        return fail(ErrorCode::Protocol, std::string("not a ") + what + " frame");
    }
    return parseJson(frame.json);
}

ErrorCode codeFromString(std::string_view name)
{
    constexpr std::array kCodes{ErrorCode::InvalidArgument,
                                ErrorCode::NotFound,
                                ErrorCode::Io,
                                ErrorCode::Parse,
                                ErrorCode::Protocol,
                                ErrorCode::Timeout,
                                ErrorCode::Cancelled,
                                ErrorCode::Unsupported,
                                ErrorCode::Refused,
                                ErrorCode::Network,
                                ErrorCode::Internal};
    for (const ErrorCode code : kCodes) {
        if (name == toString(code)) {
            return code;
        }
    }
    return ErrorCode::Internal;
}

Result<WorkerHello::Capability> capabilityFromJson(const nlohmann::json& json)
{
    WorkerHello::Capability value;
    Fields fields(json, "capability");
    fields.read("name", value.name).read("status", value.status);
    fields.read("found", value.found).read("fix", value.fix);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

} // namespace

Frame encodeDone(std::uint64_t id, const EvaluateDone& done)
{
    nlohmann::json json{{"reason", headAndTail(done.reason, 64 * 1024)},
                        {"target", toJson(done.target)},
                        {"conditions", toJson(done.conditions)},
                        {"controls", embedded(done.controlsJson)},
                        {"evidence", embedded(done.evidenceJson)},
                        {"limit", embedded(done.limitJson)},
                        {"attested", embedded(done.attestedJson)},
                        {"untimed", done.untimed},
                        {"seeds", done.seeds},
                        {"workerSeconds", done.workerSeconds},
                        {"compilerSeconds", done.compilerSeconds},
                        {"armSeconds", done.armSeconds},
                        {"samplingSeconds", done.samplingSeconds},
                        {"exitCode", done.exitCode}};
    if (done.verdict) {
        json["verdict"] = toString(*done.verdict);
    }
    if (done.aaFloorPercent) {
        json["aaFloorPercent"] = *done.aaFloorPercent;
    }
    return {FrameType::Done, id, dumpJson(json), {}};
}

Result<EvaluateDone> decodeDone(const Frame& frame)
{
    const auto json = bodyOf(frame, FrameType::Done, "done");
    if (!json) {
        return tl::unexpected(json.error());
    }
    EvaluateDone done;
    Fields fields(*json, "done");
    if (fields.find("verdict") != nullptr) {
        Verdict verdict{};
        fields.readEnum("verdict", verdict, verdictFromString);
        done.verdict = verdict;
    }
    fields.read("reason", done.reason);
    if (const auto* target = fields.find("target")) {
        done.target = targetInfoFromJson(*target);
    }
    if (const auto* conditions = fields.find("conditions")) {
        done.conditions = conditionsFromJson(*conditions);
    }
    fields.readJsonText("controls", done.controlsJson).readJsonText("evidence", done.evidenceJson);
    fields.readJsonText("limit", done.limitJson).readJsonText("attested", done.attestedJson);
    fields.read("aaFloorPercent", done.aaFloorPercent).read("seeds", done.seeds);
    fields.read("untimed", done.untimed);
    fields.read("workerSeconds", done.workerSeconds).read("compilerSeconds", done.compilerSeconds);
    fields.read("armSeconds", done.armSeconds).read("samplingSeconds", done.samplingSeconds);
    fields.read("exitCode", done.exitCode);
    if (fields.failed()) {
        return fields.error();
    }
    return done;
}

Frame encodeFailure(std::uint64_t id, const Error& error)
{
    const nlohmann::json json{{"code", toString(error.code)},
                              {"message", headAndTail(error.message, 64 * 1024)},
                              {"detail", headAndTail(error.detail, kMaxDetailBytes)}};
    return {FrameType::Failure, id, dumpJson(json), {}};
}

Error decodeFailure(const Frame& frame)
{
    const auto json = bodyOf(frame, FrameType::Failure, "failure");
    if (!json) {
        return {
            ErrorCode::Protocol, "the worker reported a failure that cannot be read", frame.json};
    }
    return {codeFromString(stringOr(*json, "code")),
            stringOr(*json, "message", "the worker failed without saying why"),
            stringOr(*json, "detail")};
}

Frame encodeHello(const WorkerHello& hello)
{
    auto capabilities = nlohmann::json::array();
    for (const auto& row : hello.capabilities) {
        capabilities.push_back(
            {{"name", row.name}, {"status", row.status}, {"found", row.found}, {"fix", row.fix}});
    }
    const nlohmann::json json{{"version", hello.version},
                              {"software", hello.software},
                              {"pid", hello.pid},
                              {"target", toJson(hello.target)},
                              {"devices", hello.devices},
                              {"capabilities", std::move(capabilities)}};
    return {FrameType::Hello, 0, dumpJson(json), {}};
}

Result<WorkerHello> decodeHello(const Frame& frame)
{
    const auto json = bodyOf(frame, FrameType::Hello, "hello");
    if (!json) {
        return tl::unexpected(json.error());
    }
    WorkerHello hello;
    Fields fields(*json, "hello");
    fields.need("version").read("version", hello.version).read("software", hello.software);
    fields.read("pid", hello.pid).read("devices", hello.devices);
    if (const auto* target = fields.find("target")) {
        hello.target = targetInfoFromJson(*target);
    }
    fields.readObjects("capabilities", hello.capabilities, capabilityFromJson);
    if (fields.failed()) {
        return fields.error();
    }
    return hello;
}

} // namespace lathe::protocol
