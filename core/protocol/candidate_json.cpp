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

nlohmann::json toJson(const Tolerance& value)
{
    auto json = nlohmann::json::object();
    if (value.relative) {
        json["relative"] = *value.relative;
    }
    if (value.absolute) {
        json["absolute"] = *value.absolute;
    }
    return json;
}

void readTolerance(Fields& fields, Tolerance& value)
{
    if (const auto* tolerance = fields.find("tolerance")) {
        Fields inner(*tolerance, "tolerance");
        inner.read("relative", value.relative).read("absolute", value.absolute);
        fields.adopt(inner);
    }
}

nlohmann::json toJson(const InputRule& value)
{
    return {{"index", value.index},
            {"domain", value.domain},
            {"below", value.below},
            {"layout", value.layout}};
}

Result<InputRule> inputRuleFromJson(const nlohmann::json& json)
{
    InputRule value;
    Fields fields(json, "input");
    fields.need("index").read("index", value.index);
    fields.read("domain", value.domain).read("below", value.below).read("layout", value.layout);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

nlohmann::json toJson(const OutputRule& value)
{
    return {{"index", value.index},
            {"compare", value.compare},
            {"of", value.of},
            {"axis", value.axis},
            {"tolerance", toJson(value.tolerance)}};
}

Result<OutputRule> outputRuleFromJson(const nlohmann::json& json)
{
    OutputRule value;
    Fields fields(json, "output");
    fields.need("index").read("index", value.index);
    fields.read("compare", value.compare).read("of", value.of).read("axis", value.axis);
    readTolerance(fields, value.tolerance);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

nlohmann::json toJson(const FreeDimension& value)
{
    return {
        {"name", value.name}, {"min", value.min}, {"max", value.max}, {"multiple", value.multiple}};
}

Result<FreeDimension> freeDimensionFromJson(const nlohmann::json& json)
{
    FreeDimension value;
    Fields fields(json, "free dimension");
    fields.need("name").read("name", value.name);
    fields.read("min", value.min).read("max", value.max).read("multiple", value.multiple);
    if (!fields.failed() && (value.min < 0 || value.max < value.min || value.multiple < 1)) {
        fields.wrong("min", "names no range");
    }
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

template <class T>
nlohmann::json toJsonArray(const std::vector<T>& values)
{
    auto json = nlohmann::json::array();
    for (const T& value : values) {
        json.push_back(toJson(value));
    }
    return json;
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
    return {{"key", value.key},
            {"variants", toJsonArray(value.variants)},
            {"precision", value.precision},
            {"mode", value.mode},
            {"weights", value.weights},
            {"inputs", toJsonArray(value.inputs)},
            {"outputs", toJsonArray(value.outputs)},
            {"free", toJsonArray(value.free)},
            {"buffers", value.buffers},
            {"backward", value.backward},
            {"mutates", value.mutates},
            {"libraries", value.libraries},
            {"tolerance", toJson(value.tolerance)},
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
    fields.readObjects("inputs", value.inputs, inputRuleFromJson);
    fields.readObjects("outputs", value.outputs, outputRuleFromJson);
    fields.readObjects("free", value.free, freeDimensionFromJson);
    fields.read("buffers", value.buffers).read("backward", value.backward);
    readTolerance(fields, value.tolerance);
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
