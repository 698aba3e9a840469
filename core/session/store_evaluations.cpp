// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_guard.h"
#include "store_rows.h"

#include <lathe/base/clock.h>
#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

namespace lathe::session {
namespace {

nlohmann::json speedupJson(const evaluation::Speedup& speedup)
{
    return {{"against", speedup.against},
            {"ratio", speedup.ratio},
            {"low", speedup.low},
            {"high", speedup.high},
            {"verdict", speedup.verdict}};
}

std::optional<evaluation::Speedup> speedupFrom(const nlohmann::json& object, const char* key)
{
    const auto it = object.find(key);
    if (it == object.end() || !it->is_object()) {
        return std::nullopt;
    }
    return evaluation::Speedup{stringOr(*it, "against"),
                               numberOr(*it, "ratio", 1),
                               numberOr(*it, "low", 1),
                               numberOr(*it, "high", 1),
                               stringOr(*it, "verdict")};
}

EvaluationSummary summaryOf(const evaluation::EvaluationResult& result)
{
    EvaluationSummary summary;
    summary.best = result.againstBestBaseline();
    for (const auto& speedup : result.speedups()) {
        if (speedup.against == "parent") {
            summary.vsParent = speedup;
        }
    }
    return summary;
}

/// Samples stay out of the document but are kept, for the distributions.
std::string samplesText(const evaluation::EvaluationResult& result)
{
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& row : result.timings) {
        rows.push_back(row.samplesUs);
    }
    return dumpJson(rows);
}

void restoreSamples(const std::string& text, evaluation::EvaluationResult& result)
{
    const auto rows = parseJson(text);
    if (!rows || !rows->is_array() || rows->size() != result.timings.size()) {
        return;
    }
    for (std::size_t i = 0; i < rows->size(); ++i) {
        for (const auto& sample : (*rows)[i]) {
            if (sample.is_number()) {
                result.timings[i].samplesUs.push_back(sample.get<double>());
            }
        }
    }
}

} // namespace

std::string writeSummary(const EvaluationSummary& summary)
{
    nlohmann::json object = nlohmann::json::object();
    if (summary.best) {
        object["best"] = speedupJson(*summary.best);
    }
    if (summary.vsParent) {
        object["vsParent"] = speedupJson(*summary.vsParent);
    }
    return dumpJson(object);
}

EvaluationSummary readSummary(const std::string& text)
{
    const auto object = parseJson(text.empty() ? "{}" : text);
    if (!object || !object->is_object()) {
        return {};
    }
    return {speedupFrom(*object, "best"), speedupFrom(*object, "vsParent")};
}

Result<void> Store::addEvaluation(const evaluation::EvaluationResult& result,
                                  const TaskId& task,
                                  const std::string& taskHash)
{
    if (!result.finished || result.replayed) {
        return fail(ErrorCode::InvalidArgument,
                    "only finished evaluations that were not replayed are kept");
    }
    const auto document = putBlob(dumpJson(evaluation::toDocument(result)));
    const auto samples = putBlob(samplesText(result));
    if (!document || !samples) {
        return tl::unexpected(document ? samples.error() : document.error());
    }
    if (!result.log.empty()) {
        if (const auto blob = putBlob(result.log); !blob) {
            return tl::unexpected(blob.error());
        }
    }
    for (const auto& trace : result.traces) {
        if (const auto blob = putBlob(trace.chromeJson); !blob) {
            return tl::unexpected(blob.error());
        }
    }
    const EvaluationSummary summary = summaryOf(result);
    return writing([&]() -> Result<void> {
        SQLite::Statement insert(*m_database,
                                 "INSERT INTO evaluations (id, candidate, task, task_hash, tier, "
                                 "verdict, reason, finished_at, "
                                 "document, samples, measured, summary, best_ratio) VALUES (?, ?, "
                                 "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
        SQLite::bind(insert,
                     result.id.text(),
                     result.candidate.text(),
                     task.text(),
                     taskHash,
                     std::string(protocol::toString(result.tier)),
                     std::string(result.verdict ? protocol::toString(*result.verdict) : ""),
                     result.reason,
                     utcNow(),
                     *document,
                     *samples,
                     result.timings.empty() ? 0 : 1,
                     writeSummary(summary));
        if (summary.best) {
            insert.bind(13, summary.best->ratio);
        }
        insert.exec();
        return {};
    });
}

Result<std::vector<Store::KeptEvaluation>> Store::evaluations(const CandidateId& candidate)
{
    return guarded([&]() -> Result<std::vector<KeptEvaluation>> {
        std::vector<KeptEvaluation> rows;
        SQLite::Statement query(*m_database,
                                "SELECT id, task, task_hash, document, verdict, tier, measured "
                                "FROM evaluations WHERE candidate = ? "
                                "ORDER BY seq DESC");
        query.bind(1, candidate.text());
        while (query.executeStep()) {
            KeptEvaluation row;
            row.id = EvaluationId(query.getColumn(0).getString());
            row.task = TaskId(query.getColumn(1).getString());
            row.taskHash = query.getColumn(2).getString();
            row.documentBlob = query.getColumn(3).getString();
            row.verdict = protocol::verdictFromString(query.getColumn(4).getString());
            row.tier = protocol::tierFromString(query.getColumn(5).getString())
                           .value_or(protocol::Tier::Quick);
            row.measured = query.getColumn(6).getInt() != 0;
            rows.push_back(std::move(row));
        }
        return rows;
    });
}

Result<std::optional<Store::KeptEvaluation>> Store::shownEvaluation(const CandidateId& candidate)
{
    const auto row = this->candidate(candidate);
    auto rows = row ? evaluations(candidate) : tl::unexpected(row.error());
    if (!rows) {
        return tl::unexpected(rows.error());
    }
    for (auto& kept : *rows) {
        if (kept.id == row->evaluation) {
            return std::optional(std::move(kept));
        }
    }
    return std::optional<KeptEvaluation>();
}

Result<evaluation::EvaluationResult> Store::loadEvaluation(const KeptEvaluation& kept)
{
    const auto text = m_blobs.get(kept.documentBlob);
    if (!text) {
        return tl::unexpected(text.error());
    }
    const auto document = parseJson(*text);
    if (!document) {
        return tl::unexpected(document.error());
    }
    auto result = evaluation::fromDocument(*document);
    if (!result) {
        return result;
    }
    std::size_t trace = 0;
    for (const auto& artifact : document->value("artifacts", nlohmann::json::array())) {
        const std::string kind = stringOr(artifact, "kind");
        if (kind != "log" && kind != "trace") {
            continue;
        }
        auto bytes = m_blobs.get(stringOr(artifact, "blob"));
        if (!bytes) {
            return tl::unexpected(bytes.error());
        }
        if (kind == "log") {
            result->log = std::move(*bytes);
        } else if (trace < result->traces.size()) {
            result->traces[trace++].chromeJson = std::move(*bytes);
        }
    }
    const auto samples = guarded([&]() -> Result<std::string> {
        SQLite::Statement query(*m_database, "SELECT samples FROM evaluations WHERE id = ?");
        query.bind(1, kept.id.text());
        return query.executeStep() ? m_blobs.get(query.getColumn(0).getString())
                                   : fail(ErrorCode::NotFound, "no such evaluation");
    });
    if (samples) {
        restoreSamples(*samples, *result);
    }
    return result;
}

Result<std::optional<CandidateId>> Store::bestCandidate(const TaskId& task)
{
    return guarded([&]() -> Result<std::optional<CandidateId>> {
        SQLite::Statement query(*m_database,
                                "SELECT c.id FROM candidates c JOIN evaluations e ON e.seq = "
                                    + std::string(kShownEvaluation)
                                    + " WHERE c.task = ? AND e.verdict = 'correct' ORDER BY "
                                      "e.best_ratio IS NULL, e.best_ratio DESC, c.number LIMIT 1");
        query.bind(1, task.text());
        if (!query.executeStep()) {
            return std::optional<CandidateId>();
        }
        return std::optional<CandidateId>(CandidateId(query.getColumn(0).getString()));
    });
}

} // namespace lathe::session
