// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <lathe/base/files.h>
#include <lathe/protocol/types_json.h>

#include <cstdint>

namespace lathe::protocol {
namespace {

nlohmann::json toJson(const Variant& value)
{
    auto constants = nlohmann::json::array();
    for (const Constant& constant : value.constants) {
        constants.push_back({{"name", constant.name}, {"literal", constant.literal}});
    }
    return {{"name", value.name},
            {"constants", std::move(constants)},
            {"device", value.device},
            {"headline", value.headline},
            {"hidden", value.hidden}};
}

Result<Constant> constantFromJson(const nlohmann::json& json)
{
    Constant value;
    Fields fields(json, "constant");
    fields.need("name").read("name", value.name);
    fields.need("literal").read("literal", value.literal);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

Result<Variant> variantFromJson(const nlohmann::json& json)
{
    Variant value;
    Fields fields(json, "variant");
    fields.need("name").read("name", value.name);
    fields.readObjects("constants", value.constants, constantFromJson);
    fields.read("device", value.device)
        .read("headline", value.headline)
        .read("hidden", value.hidden);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

Result<CandidateFile> candidateFileFromJson(const nlohmann::json& json)
{
    CandidateFile value;
    Fields fields(json, "file");
    fields.need("path").read("path", value.path);
    if (!fields.failed() && !isSafeRelativePath(value.path)) {
        fields.wrong("path", "is not a safe relative path: " + value.path);
    }
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

} // namespace

nlohmann::json toJson(const TensorInfo& value)
{
    nlohmann::json json{{"dtype", toString(value.dtype)}, {"shape", value.shape}};
    if (!value.strides.empty()) {
        json["strides"] = value.strides;
    }
    return json;
}

Result<TensorInfo> tensorInfoFromJson(const nlohmann::json& json)
{
    TensorInfo value;
    Fields fields(json, "tensor");
    fields.need("dtype").readEnum("dtype", value.dtype, dtypeFromString);
    fields.need("shape").read("shape", value.shape).read("strides", value.strides);
    for (const std::int64_t extent : value.shape) {
        if (extent < 0) {
            fields.wrong("shape", "has a negative extent");
        }
    }
    if (!value.strides.empty() && value.strides.size() != value.shape.size()) {
        fields.wrong("strides", "does not fit the shape");
    }
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

nlohmann::json toJson(const TaskSpec& value)
{
    auto variants = nlohmann::json::array();
    for (const Variant& variant : value.variants) {
        variants.push_back(toJson(variant));
    }
    auto tolerance = nlohmann::json::object();
    if (value.tolerance.relative) {
        tolerance["relative"] = *value.tolerance.relative;
    }
    if (value.tolerance.absolute) {
        tolerance["absolute"] = *value.tolerance.absolute;
    }
    return {{"key", value.key},
            {"variants", std::move(variants)},
            {"precision", value.precision},
            {"mode", value.mode},
            {"weights", value.weights},
            {"mutates", value.mutates},
            {"libraries", value.libraries},
            {"tolerance", std::move(tolerance)},
            {"stochastic", value.stochastic},
            {"forwardTimeoutSeconds", value.forwardTimeoutSeconds},
            {"importTimeoutSeconds", value.importTimeoutSeconds}};
}

Result<TaskSpec> taskSpecFromJson(const nlohmann::json& json)
{
    TaskSpec value;
    Fields fields(json, "task");
    fields.read("key", value.key).readObjects("variants", value.variants, variantFromJson);
    fields.read("precision", value.precision)
        .read("mode", value.mode)
        .read("weights", value.weights);
    fields.read("mutates", value.mutates).read("libraries", value.libraries);
    if (const auto* tolerance = fields.find("tolerance")) {
        Fields inner(*tolerance, "task.tolerance");
        inner.read("relative", value.tolerance.relative).read("absolute", value.tolerance.absolute);
        fields.adopt(inner);
    }
    fields.read("stochastic", value.stochastic);
    fields.read("forwardTimeoutSeconds", value.forwardTimeoutSeconds);
    fields.read("importTimeoutSeconds", value.importTimeoutSeconds);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

nlohmann::json toJson(const CandidateSpec& value)
{
    auto files = nlohmann::json::array();
    for (const CandidateFile& file : value.files) {
        files.push_back({{"path", file.path}, {"attachment", files.size()}});
    }
    return {{"id", value.id},
            {"parent", value.parent},
            {"format", value.format},
            {"files", std::move(files)},
            {"flags", value.flags}};
}

Result<CandidateSpec> candidateSpecFromJson(const nlohmann::json& json)
{
    CandidateSpec value;
    Fields fields(json, "candidate");
    fields.read("id", value.id).read("parent", value.parent).read("format", value.format);
    fields.readObjects("files", value.files, candidateFileFromJson).read("flags", value.flags);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

} // namespace lathe::protocol
