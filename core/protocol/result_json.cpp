// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <lathe/protocol/types_json.h>

namespace lathe::protocol {
namespace {

template <class T>
void putOptional(nlohmann::json& json, const char* key, const std::optional<T>& value)
{
    if (value) {
        json[key] = *value;
    }
}

nlohmann::json toJson(const KernelInfo& value)
{
    nlohmann::json json{{"name", value.name}};
    putOptional(json, "registers", value.registers);
    putOptional(json, "sharedBytes", value.sharedBytes);
    putOptional(json, "spillStoreBytes", value.spillStoreBytes);
    putOptional(json, "spillLoadBytes", value.spillLoadBytes);
    return json;
}

Result<KernelInfo> kernelInfoFromJson(const nlohmann::json& json)
{
    KernelInfo value;
    Fields fields(json, "kernel");
    fields.read("name", value.name).read("registers", value.registers);
    fields.read("sharedBytes", value.sharedBytes).read("spillStoreBytes", value.spillStoreBytes);
    fields.read("spillLoadBytes", value.spillLoadBytes);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

Result<Diagnostic> diagnosticFromJson(const nlohmann::json& json)
{
    Diagnostic value;
    Fields fields(json, "diagnostic");
    fields.read("file", value.file).read("line", value.line).read("column", value.column);
    fields.read("severity", value.severity).read("message", value.message);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

} // namespace

nlohmann::json toJson(const Diagnostic& value)
{
    return {{"file", value.file},
            {"line", value.line},
            {"column", value.column},
            {"severity", value.severity},
            {"message", value.message}};
}

nlohmann::json toJson(const BuildReport& value)
{
    auto diagnostics = nlohmann::json::array();
    for (const Diagnostic& diagnostic : value.diagnostics) {
        diagnostics.push_back(toJson(diagnostic));
    }
    auto kernels = nlohmann::json::array();
    for (const KernelInfo& kernel : value.kernels) {
        kernels.push_back(toJson(kernel));
    }
    return {{"status", value.status},
            {"seconds", value.seconds},
            {"cached", value.cached},
            {"diagnostics", std::move(diagnostics)},
            {"kernels", std::move(kernels)}};
}

Result<BuildReport> buildReportFromJson(const nlohmann::json& json)
{
    BuildReport value;
    Fields fields(json, "build");
    fields.read("status", value.status).read("seconds", value.seconds).read("cached", value.cached);
    fields.readObjects("diagnostics", value.diagnostics, diagnosticFromJson);
    fields.readObjects("kernels", value.kernels, kernelInfoFromJson);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

nlohmann::json toJson(const GateResult& value)
{
    return {{"name", value.name},
            {"status", toString(value.status)},
            {"reason", value.reason},
            {"detail", embedded(value.detailJson)}};
}

Result<GateResult> gateResultFromJson(const nlohmann::json& json)
{
    GateResult value;
    Fields fields(json, "gate");
    fields.need("name").read("name", value.name);
    fields.need("status").readEnum("status", value.status, gateStatusFromString);
    fields.read("reason", value.reason).readJsonText("detail", value.detailJson);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

nlohmann::json toJson(const TimingRow& value, bool withSamples)
{
    nlohmann::json json{{"arm", value.arm},
                        {"variant", value.variant},
                        {"protocol", value.protocol},
                        {"samples", value.samples},
                        {"discarded", value.discarded},
                        {"medianUs", value.medianUs},
                        {"lowUs", value.lowUs},
                        {"highUs", value.highUs},
                        {"p10Us", value.p10Us},
                        {"p90Us", value.p90Us},
                        {"cvPercent", value.cvPercent}};
    if (withSamples) {
        json["samplesUs"] = value.samplesUs;
    }
    return json;
}

Result<TimingRow> timingRowFromJson(const nlohmann::json& json)
{
    TimingRow value;
    Fields fields(json, "timing");
    fields.need("arm").read("arm", value.arm).read("variant", value.variant);
    fields.read("protocol", value.protocol).read("samples", value.samples);
    fields.read("discarded", value.discarded).need("medianUs").read("medianUs", value.medianUs);
    fields.read("lowUs", value.lowUs).read("highUs", value.highUs);
    fields.read("p10Us", value.p10Us).read("p90Us", value.p90Us).read("cvPercent", value.cvPercent);
    fields.read("samplesUs", value.samplesUs);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

nlohmann::json toJson(const Comparison& value)
{
    return {{"arm", value.arm},
            {"against", value.against},
            {"variant", value.variant},
            {"protocol", value.protocol},
            {"ratio", value.ratio},
            {"low", value.low},
            {"high", value.high},
            {"verdict", value.verdict}};
}

Result<Comparison> comparisonFromJson(const nlohmann::json& json)
{
    Comparison value;
    Fields fields(json, "comparison");
    fields.need("arm").read("arm", value.arm).need("against").read("against", value.against);
    fields.read("variant", value.variant).read("protocol", value.protocol);
    fields.need("ratio").read("ratio", value.ratio).read("low", value.low).read("high", value.high);
    fields.read("verdict", value.verdict);
    if (fields.failed()) {
        return fields.error();
    }
    return value;
}

nlohmann::json toJson(const Conditions& value)
{
    return {{"threads", value.threads},
            {"affinity", value.affinity},
            {"allocator", value.allocator},
            {"load", value.loadAverage},
            {"clocks", value.clocks},
            {"throttle", value.throttle}};
}

Conditions conditionsFromJson(const nlohmann::json& json)
{
    Conditions value;
    value.threads = static_cast<int>(intOr(json, "threads", 0));
    value.affinity = stringOr(json, "affinity");
    value.allocator = stringOr(json, "allocator");
    value.loadAverage = numberOr(json, "load", 0);
    value.clocks = stringOr(json, "clocks");
    value.throttle = stringOr(json, "throttle");
    return value;
}

nlohmann::json toJson(const TargetInfo& value)
{
    return {{"name", value.name},
            {"device", value.device},
            {"driver", value.driver},
            {"toolchain", value.toolchain},
            {"torch", value.torch},
            {"sandbox", value.sandbox}};
}

TargetInfo targetInfoFromJson(const nlohmann::json& json)
{
    TargetInfo value;
    value.name = stringOr(json, "name");
    value.device = stringOr(json, "device");
    value.driver = stringOr(json, "driver");
    value.toolchain = stringOr(json, "toolchain");
    value.torch = stringOr(json, "torch");
    value.sandbox = stringOr(json, "sandbox");
    return value;
}

} // namespace lathe::protocol
