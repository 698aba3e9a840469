// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/protocol/types_json.h>

#include <nlohmann/json.hpp>

namespace lathe::evaluation {
namespace {

using Json = nlohmann::json;

Error wrong(const std::string& member)
{
    return Error{ErrorCode::Parse,
                 "the evaluation document's \"" + member + "\" is not what lathe.eval/1 says",
                 {}};
}

template <class T>
Result<void>
readRows(const Json& document, const char* key, Result<T> (*read)(const Json&), std::vector<T>& out)
{
    const auto it = document.find(key);
    if (it == document.end()) {
        return {};
    }
    if (!it->is_array()) {
        return tl::unexpected(wrong(key));
    }
    for (const auto& row : *it) {
        auto value = read(row);
        if (!value) {
            return tl::unexpected(value.error());
        }
        out.push_back(std::move(*value));
    }
    return {};
}

std::string fragmentText(const Json& document, const char* key, const char* absent)
{
    const auto it = document.find(key);
    return it == document.end() ? absent : dumpJson(*it);
}

void readCandidate(const Json& document, EvaluationResult& result)
{
    const auto it = document.find("candidate");
    if (it != document.end()) {
        result.candidate = CandidateId(stringOr(*it, "id"));
        result.candidateFormat = stringOr(*it, "format");
        result.parent = stringOr(*it, "parent");
    }
}

void readArtifacts(const Json& document, EvaluationResult& result)
{
    const auto it = document.find("artifacts");
    if (it == document.end() || !it->is_array()) {
        return;
    }
    for (const auto& row : *it) {
        if (stringOr(row, "kind") == "trace") {
            result.traces.push_back({stringOr(row, "arm"),
                                     stringOr(row, "variant"),
                                     static_cast<int>(intOr(row, "calls", 1)),
                                     {}});
        }
    }
}

void readDone(const Json& document, protocol::EvaluateDone& done)
{
    if (const auto it = document.find("target"); it != document.end()) {
        done.target = protocol::targetInfoFromJson(*it);
    }
    if (const auto it = document.find("conditions"); it != document.end()) {
        done.conditions = protocol::conditionsFromJson(*it);
    }
    done.controlsJson = fragmentText(document, "controls", "{}");
    done.evidenceJson = fragmentText(document, "evidence", "{}");
    done.limitJson = fragmentText(document, "limit", "{}");
    done.attestedJson = fragmentText(document, "attested", "[]");
    if (const auto it = document.find("aaFloor"); it != document.end() && it->is_number()) {
        done.aaFloorPercent = it->get<double>();
    }
    if (const auto it = document.find("untimed"); it != document.end() && it->is_array()) {
        for (const auto& name : *it) {
            if (name.is_string()) {
                done.untimed.push_back(name.get<std::string>());
            }
        }
    }
    if (const auto it = document.find("seeds"); it != document.end() && it->is_array()) {
        for (const auto& seed : *it) {
            if (seed.is_number_integer()) {
                done.seeds.push_back(seed.get<std::uint64_t>());
            }
        }
    }
}

Result<void> readVerdict(const Json& document, EvaluationResult& result)
{
    const auto tier = protocol::tierFromString(stringOr(document, "tier"));
    if (!tier) {
        return tl::unexpected(wrong("tier"));
    }
    result.tier = *tier;
    if (document.contains("verdict")) {
        result.verdict = protocol::verdictFromString(stringOr(document, "verdict"));
        if (!result.verdict) {
            return tl::unexpected(wrong("verdict"));
        }
    }
    return {};
}

} // namespace

Result<EvaluationResult> fromDocument(const nlohmann::json& document)
{
    if (!document.is_object() || stringOr(document, "schema") != "lathe.eval/1") {
        return fail(ErrorCode::Parse, "not a lathe.eval/1 document");
    }
    EvaluationResult result;
    result.id = EvaluationId(stringOr(document, "id"));
    result.startedAt = stringOr(document, "startedAt");
    result.replayed = boolOr(document, "replayed", false);
    result.task = stringOr(document, "task");
    result.reason = stringOr(document, "reason");
    result.rerun = stringOr(document, "rerun");
    readCandidate(document, result);
    if (auto read = readVerdict(document, result); !read) {
        return tl::unexpected(read.error());
    }
    if (const auto it = document.find("build"); it != document.end()) {
        auto build = protocol::buildReportFromJson(*it);
        if (!build) {
            return tl::unexpected(build.error());
        }
        result.build = std::move(*build);
    }
    Result<void> rows = readRows(document, "gates", protocol::gateResultFromJson, result.gates);
    rows = rows ? readRows(document, "timings", protocol::timingRowFromJson, result.timings) : rows;
    rows = rows
               ? readRows(document, "comparisons", protocol::comparisonFromJson, result.comparisons)
               : rows;
    if (!rows) {
        return tl::unexpected(rows.error());
    }
    readDone(document, result.done);
    result.done.verdict = result.verdict;
    result.done.reason = result.reason;
    readArtifacts(document, result);
    if (const auto it = document.find("warnings"); it != document.end() && it->is_array()) {
        for (const auto& warning : *it) {
            if (warning.is_string() && !warning.get<std::string>().starts_with("did not run: ")) {
                result.warnings.push_back(
                    warning.get<std::string>()); // that one is derived anew when written
            }
        }
    }
    result.finished = result.verdict.has_value() || document.contains("conditions");
    return result;
}

} // namespace lathe::evaluation
