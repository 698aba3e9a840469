// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>

#include <nlohmann/json_fwd.hpp>

/// JSON forms of the shared types. Reading is lenient about unknown members and strict about types
/// that matter.
namespace lathe::protocol {

nlohmann::json toJson(const TensorInfo& value);
nlohmann::json toJson(const TaskSpec& value); ///< without source: it travels as an attachment
nlohmann::json
toJson(const CandidateSpec& value); ///< files as {path, attachment}; texts travel as attachments
nlohmann::json toJson(const Diagnostic& value);
nlohmann::json toJson(const BuildReport& value); ///< without log
nlohmann::json toJson(const GateResult& value);
nlohmann::json toJson(const TimingRow& value, bool withSamples);
nlohmann::json toJson(const Comparison& value);
nlohmann::json toJson(const Conditions& value);
nlohmann::json toJson(const TargetInfo& value);

Result<TensorInfo> tensorInfoFromJson(const nlohmann::json& json);
Result<TaskSpec> taskSpecFromJson(const nlohmann::json& json);
Result<CandidateSpec> candidateSpecFromJson(
    const nlohmann::json& json); ///< files hold paths; texts come from attachments
Result<BuildReport> buildReportFromJson(const nlohmann::json& json);
Result<GateResult> gateResultFromJson(const nlohmann::json& json);
Result<TimingRow> timingRowFromJson(const nlohmann::json& json);
Result<Comparison> comparisonFromJson(const nlohmann::json& json);
Conditions conditionsFromJson(const nlohmann::json& json);
TargetInfo targetInfoFromJson(const nlohmann::json& json);

} // namespace lathe::protocol
