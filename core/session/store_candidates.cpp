// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_guard.h"
#include "store_rows.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/candidate/candidate.h>

#include <nlohmann/json.hpp>

namespace lathe::session {
namespace {

Author authorFromString(const std::string& name)
{
    return name == "agent" ? Author::Agent : name == "import" ? Author::Import : Author::Human;
}

Result<void> checkFiles(const protocol::CandidateSpec& spec)
{
    if (spec.files.empty()) {
        return fail(ErrorCode::InvalidArgument, "a candidate needs at least one file");
    }
    for (const auto& file : spec.files) {
        if (!isSafeRelativePath(file.path)) {
            return fail(ErrorCode::InvalidArgument,
                        "\"" + file.path + "\" is not a path inside the candidate's folder");
        }
    }
    return {};
}

} // namespace

const char* toString(Author author)
{
    switch (author) {
    case Author::Human:
        return "human";
    case Author::Agent:
        return "agent";
    case Author::Import:
        return "import";
    }
    return "human";
}

Result<CandidateRow> Store::addCandidate(const CandidateDraft& draft, const std::string& run)
{
    if (auto checked = checkFiles(draft.spec); !checked) {
        return tl::unexpected(checked.error());
    }
    nlohmann::json files = nlohmann::json::array();
    for (const auto& file : draft.spec.files) {
        const auto blob = putBlob(file.text);
        if (!blob) {
            return tl::unexpected(blob.error());
        }
        files.push_back({{"path", file.path}, {"blob", *blob}});
    }
    const CandidateId id = CandidateId::fresh();
    const auto added = writing([&]() -> Result<void> {
        SQLite::Statement insert(*m_database,
                                 "INSERT INTO candidates SELECT ?, ?, ?, 1 + coalesce(max(number), "
                                 "0), ?, ?, ?, ?, ?, ?, ?, ? "
                                 "FROM candidates WHERE task = ?");
        SQLite::bind(insert,
                     id.text(),
                     draft.task.text(),
                     draft.parent ? draft.parent->text() : std::string(),
                     std::string(toString(draft.author)),
                     draft.label,
                     utcNow(),
                     candidate::contentHash(draft.spec),
                     draft.spec.format,
                     dumpJson(nlohmann::json(draft.spec.flags)),
                     dumpJson(files),
                     run,
                     draft.task.text());
        insert.exec();
        return {};
    });
    return added ? candidate(id) : tl::unexpected(added.error());
}

Result<std::vector<CandidateRow>> Store::candidateRows(const std::string& where,
                                                       const std::string& argument)
{
    return guarded([&]() -> Result<std::vector<CandidateRow>> {
        std::vector<CandidateRow> rows;
        std::vector<std::size_t> accepted;
        SQLite::Statement query(
            *m_database,
            "SELECT c.id, c.task, c.parent, c.number, c.author, c.label, c.created_at, "
            "c.content_hash, c.run, "
            "e.id, e.tier, e.verdict, e.reason, e.summary, t.pinned = c.id, EXISTS (SELECT 1 FROM "
            "accepts a WHERE a.candidate = c.id) "
            "FROM candidates c JOIN tasks t ON t.id = c.task LEFT JOIN evaluations e ON e.seq = "
                + std::string(kShownEvaluation) + " WHERE " + where + " ORDER BY c.number");
        query.bind(1, argument);
        while (query.executeStep()) {
            rows.push_back(rowFrom(query));
            if (query.getColumn(15).getInt() != 0) {
                accepted.push_back(rows.size() - 1);
            }
        }
        for (const auto index : accepted) {
            auto& row = rows[index];
            auto records = accepts(row.id);
            if (!records) {
                return tl::unexpected(records.error());
            }
            if (!records->empty()) {
                row.accepted = std::move(records->front());
            }
        }
        return rows;
    });
}

CandidateRow Store::rowFrom(SQLite::Statement& query)
{
    CandidateRow row;
    row.id = CandidateId(query.getColumn(0).getString());
    row.task = TaskId(query.getColumn(1).getString());
    if (const auto parent = query.getColumn(2).getString(); !parent.empty()) {
        row.parent = CandidateId(parent);
    }
    row.number = query.getColumn(3).getInt();
    row.author = authorFromString(query.getColumn(4).getString());
    row.label = query.getColumn(5).getString();
    row.createdAt = query.getColumn(6).getString();
    row.contentHash = query.getColumn(7).getString();
    row.runId = query.getColumn(8).getString();
    if (!query.getColumn(9).isNull()) {
        row.evaluation = EvaluationId(query.getColumn(9).getString());
        row.tier = protocol::tierFromString(query.getColumn(10).getString());
        row.verdict = protocol::verdictFromString(query.getColumn(11).getString());
        row.reason = query.getColumn(12).getString();
        const auto summary = readSummary(query.getColumn(13).getString());
        row.best = summary.best;
        row.vsParent = summary.vsParent;
    }
    row.pinned = query.getColumn(14).getInt() != 0;
    return row;
}

Result<std::vector<CandidateRow>> Store::candidates(const TaskId& task)
{
    return candidateRows("c.task = ?", task.text());
}

Result<CandidateRow> Store::candidate(const CandidateId& id)
{
    auto rows = candidateRows("c.id = ?", id.text());
    if (!rows) {
        return tl::unexpected(rows.error());
    }
    if (rows->empty()) {
        return fail(ErrorCode::NotFound, "this workspace has no candidate " + id.text());
    }
    return std::move(rows->front());
}

Result<protocol::CandidateSpec> Store::source(const CandidateId& id)
{
    auto spec = guarded([&]() -> Result<protocol::CandidateSpec> {
        SQLite::Statement query(*m_database,
                                "SELECT parent, format, flags, files FROM candidates WHERE id = ?");
        query.bind(1, id.text());
        if (!query.executeStep()) {
            return fail(ErrorCode::NotFound, "this workspace has no candidate " + id.text());
        }
        protocol::CandidateSpec found;
        found.id = id.text();
        found.parent = query.getColumn(0).getString();
        found.format = query.getColumn(1).getString();
        const auto flags = parseJson(query.getColumn(2).getString());
        for (const auto& flag : flags && flags->is_array() ? *flags : nlohmann::json::array()) {
            found.flags.push_back(flag.is_string() ? flag.get<std::string>() : std::string());
        }
        const auto files = parseJson(query.getColumn(3).getString());
        for (const auto& file : files && files->is_array() ? *files : nlohmann::json::array()) {
            found.files.push_back({stringOr(file, "path"), stringOr(file, "blob")});
        }
        return found;
    });
    if (!spec) {
        return spec;
    }
    for (auto& file : spec->files) {
        auto text = m_blobs.get(file.text);
        if (!text) {
            return tl::unexpected(text.error());
        }
        file.text = std::move(*text);
    }
    return spec;
}

Result<void> Store::label(const CandidateId& id, const std::string& text)
{
    return writing([&]() -> Result<void> {
        SQLite::Statement update(*m_database, "UPDATE candidates SET label = ? WHERE id = ?");
        SQLite::bind(update, text, id.text());
        if (update.exec() != 1) {
            return fail(ErrorCode::NotFound, "this workspace has no candidate " + id.text());
        }
        return {};
    });
}

} // namespace lathe::session
