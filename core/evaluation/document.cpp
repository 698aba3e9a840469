// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>
#include <lathe/base/sha256.h>
#include <lathe/base/text.h>
#include <lathe/evaluation/evaluation_result.h>

#include <nlohmann/json.hpp>

#include <cmath>

namespace lathe::evaluation {
namespace {

using Json = nlohmann::ordered_json;

Json number(double value)
{
    return std::isfinite(value) ? Json(value) : Json(nullptr);
}

template <class T>
void putOptional(Json& object, const char* key, const std::optional<T>& value)
{
    if (value) {
        object[key] = *value;
    }
}

/// A fragment that the worker sent as JSON text; anything else counts as absent.
Json fragment(const std::string& text)
{
    auto parsed = parseOrderedJson(text.empty() ? "{}" : text);
    return parsed && (parsed->is_object() || parsed->is_array()) ? std::move(*parsed)
                                                                 : Json::object();
}

Json buildJson(const protocol::BuildReport& build)
{
    Json diagnostics = Json::array();
    for (const auto& d : build.diagnostics) {
        diagnostics.push_back({{"file", d.file},
                               {"line", d.line},
                               {"column", d.column},
                               {"severity", d.severity},
                               {"message", d.message}});
    }
    Json kernels = Json::array();
    for (const auto& k : build.kernels) {
        Json row = {{"name", k.name}};
        putOptional(row, "registers", k.registers);
        putOptional(row, "sharedBytes", k.sharedBytes);
        putOptional(row, "spillStoreBytes", k.spillStoreBytes);
        putOptional(row, "spillLoadBytes", k.spillLoadBytes);
        kernels.push_back(std::move(row));
    }
    return {{"status", build.status},
            {"seconds", number(build.seconds)},
            {"cached", build.cached},
            {"diagnostics", std::move(diagnostics)},
            {"kernels", std::move(kernels)}};
}

Json gatesJson(const std::vector<protocol::GateResult>& gates)
{
    Json rows = Json::array();
    for (const auto& gate : gates) {
        rows.push_back({{"name", gate.name},
                        {"status", protocol::toString(gate.status)},
                        {"reason", gate.reason},
                        {"detail", fragment(gate.detailJson)}});
    }
    return rows;
}

Json timingsJson(const std::vector<protocol::TimingRow>& timings)
{
    Json rows = Json::array();
    for (const auto& row : timings) {
        rows.push_back({{"arm", row.arm},
                        {"variant", row.variant},
                        {"protocol", row.protocol},
                        {"samples", row.samples},
                        {"discarded", row.discarded},
                        {"medianUs", number(row.medianUs)},
                        {"lowUs", number(row.lowUs)},
                        {"highUs", number(row.highUs)},
                        {"p10Us", number(row.p10Us)},
                        {"p90Us", number(row.p90Us)},
                        {"cvPercent", number(row.cvPercent)}});
    }
    return rows;
}

Json comparisonsJson(const std::vector<protocol::Comparison>& comparisons)
{
    Json rows = Json::array();
    for (const auto& row : comparisons) {
        rows.push_back({{"arm", row.arm},
                        {"against", row.against},
                        {"variant", row.variant},
                        {"protocol", row.protocol},
                        {"ratio", number(row.ratio)},
                        {"low", number(row.low)},
                        {"high", number(row.high)},
                        {"verdict", row.verdict}});
    }
    return rows;
}

Json targetJson(const protocol::TargetInfo& target)
{
    return {{"name", target.name},
            {"device", target.device},
            {"driver", target.driver},
            {"toolchain", target.toolchain},
            {"torch", target.torch},
            {"sandbox", target.sandbox}};
}

Json conditionsJson(const protocol::Conditions& conditions)
{
    return {{"threads", conditions.threads},
            {"affinity", conditions.affinity},
            {"allocator", conditions.allocator},
            {"load", number(conditions.loadAverage)},
            {"clocks", conditions.clocks},
            {"throttle", conditions.throttle}};
}

Json artifactsJson(const EvaluationResult& result)
{
    Json rows = Json::array();
    if (!result.log.empty()) {
        rows.push_back({{"kind", "log"}, {"blob", sha256Hex(result.log)}});
    }
    for (const auto& trace : result.traces) {
        rows.push_back({{"kind", "trace"},
                        {"blob", sha256Hex(trace.chromeJson)},
                        {"arm", trace.arm},
                        {"variant", trace.variant},
                        {"calls", trace.calls}});
    }
    return rows;
}

Json speedupsJson(const std::vector<Speedup>& speedups)
{
    Json object = Json::object();
    for (const auto& speedup : speedups) {
        object[speedup.against] = {{"ratio", number(speedup.ratio)},
                                   {"low", number(speedup.low)},
                                   {"high", number(speedup.high)},
                                   {"verdict", speedup.verdict},
                                   {"variants", speedup.variants},
                                   {"complete", speedup.complete}};
    }
    return object;
}

void putUnlessEmpty(Json& document, const char* key, Json value)
{
    if (!value.empty()) {
        document[key] = std::move(value);
    }
}

/// Says why phases whose keys are absent did not run, where neither a gate nor the worker said it.
std::vector<std::string> warningsWithReasons(const EvaluationResult& result)
{
    std::vector<std::string> warnings = result.warnings;
    if (!result.finished) {
        return warnings;
    }
    std::vector<std::string> missing;
    if (!result.candidate.empty() && result.build.status == "skipped") {
        missing.emplace_back("build");
    }
    if (result.timings.empty()) {
        missing.emplace_back("benchmark");
    }
    if (result.traces.empty()) {
        missing.emplace_back("profile");
    }
    if (!missing.empty()) {
        const bool judgedWrong = result.verdict && *result.verdict != protocol::Verdict::Correct;
        warnings.push_back(
            "did not run: " + join(missing, ", ") + " ("
            + (judgedWrong ? "the verdict is " + std::string(protocol::toString(*result.verdict))
                           : std::string("not asked for or not available here; see gates"))
            + ")");
    }
    return warnings;
}

} // namespace

nlohmann::ordered_json toDocument(const EvaluationResult& result)
{
    Json document;
    document["schema"] = "lathe.eval/1";
    if (!result.id.empty()) {
        document["id"] = result.id.text();
    }
    if (!result.startedAt.empty()) {
        document["startedAt"] = result.startedAt;
    }
    if (result.replayed) {
        document["replayed"] = true;
    }
    document["task"] = result.task;
    if (!result.candidate.empty()) {
        document["candidate"] = {
            {"id", result.candidate.text()},
            {"format", result.candidateFormat},
            {"parent", result.parent.empty() ? Json(nullptr) : Json(result.parent)}};
    }
    const protocol::EvaluateDone& done = result.done;
    document["target"] = targetJson(done.target);
    document["tier"] = protocol::toString(result.tier);
    if (result.verdict) {
        document["verdict"] = protocol::toString(*result.verdict);
    }
    document["reason"] = result.reason;
    if (result.build.status != "skipped") {
        document["build"] = buildJson(result.build);
    }
    document["gates"] = gatesJson(result.gates);
    putUnlessEmpty(document, "timings", timingsJson(result.timings));
    putUnlessEmpty(document, "comparisons", comparisonsJson(result.comparisons));
    putUnlessEmpty(document, "controls", fragment(done.controlsJson));
    putUnlessEmpty(document, "evidence", fragment(done.evidenceJson));
    if (result.finished) {
        document["conditions"] = conditionsJson(done.conditions);
        document["seeds"] = done.seeds;
    }
    document["artifacts"] = artifactsJson(result);
    putUnlessEmpty(document, "speedups", speedupsJson(result.speedups()));
    if (done.aaFloorPercent) {
        document["aaFloor"] = number(*done.aaFloorPercent);
    }
    putUnlessEmpty(document, "untimed", done.untimed);
    putUnlessEmpty(document, "limit", fragment(done.limitJson));
    putUnlessEmpty(document, "attested", fragment(done.attestedJson));
    if (result.verdict && !result.candidate.empty()) {
        document["reward"] = result.reward();
    }
    document["warnings"] = warningsWithReasons(result);
    document["rerun"] = result.rerun;
    return document;
}

} // namespace lathe::evaluation
