// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_guard.h"

#include <lathe/base/clock.h>
#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

namespace lathe::session {
namespace {

using protocol::Tier;
using protocol::Verdict;

/// The evaluations that an accept may name, best first: the accept tier before the full one, in
/// each the newest first.
Result<std::vector<Store::KeptEvaluation>>
acceptable(const std::vector<Store::KeptEvaluation>& rows)
{
    if (rows.empty()) {
        return fail(ErrorCode::Refused,
                    "the candidate has no finished evaluation; evaluate it first");
    }
    if (rows.front().verdict != Verdict::Correct) {
        const std::string verdict =
            rows.front().verdict ? protocol::toString(*rows.front().verdict) : "without a verdict";
        return fail(ErrorCode::Refused,
                    "the candidate's latest evaluation is " + verdict
                        + "; only a correct one can be accepted");
    }
    std::vector<Store::KeptEvaluation> found;
    for (const Tier tier : {Tier::Accept, Tier::Full}) {
        for (const auto& row : rows) {
            if (row.tier == tier && row.verdict == Verdict::Correct && row.measured) {
                found.push_back(row);
            }
        }
    }
    if (!found.empty()) {
        return found;
    }
    return fail(ErrorCode::Refused,
                "the candidate was only checked quickly or not measured; run the full or accept "
                "tier before accepting it");
}

/// Sorted members and no white space: one text for one content, which is what gets signed.
std::string canonical(const nlohmann::json& record)
{
    return dumpJson(record);
}

} // namespace

Result<AcceptRecord> Store::accept(const CandidateId& candidate,
                                   const std::string& who,
                                   const std::string& note,
                                   const SigningKey& key)
{
    const auto row = this->candidate(candidate);
    if (!row) {
        return tl::unexpected(row.error());
    }
    const auto rows = evaluations(candidate);
    if (!rows) {
        return tl::unexpected(rows.error());
    }
    const auto choices = acceptable(*rows);
    if (!choices) {
        return tl::unexpected(choices.error());
    }
    // A later run over a part of the variants does not take the place of a complete one.
    const KeptEvaluation* kept = nullptr;
    Result<evaluation::EvaluationResult> evaluation;
    for (const KeptEvaluation& choice : *choices) {
        auto loaded = loadEvaluation(choice);
        if (!loaded) {
            return tl::unexpected(loaded.error());
        }
        const bool final = !loaded->provisional();
        if (kept == nullptr || final) {
            kept = &choice;
            evaluation = std::move(loaded);
        }
        if (final || choice.tier != Tier::Accept) {
            break;
        }
    }
    const std::string id = newUuidV7();
    const nlohmann::json record = {{"schema", "lathe.accept/1"},
                                   {"id", id},
                                   {"kind", "accept"},
                                   {"candidate", candidate.text()},
                                   {"contentHash", row->contentHash},
                                   {"evaluation", kept->id.text()},
                                   {"documentHash", kept->documentBlob},
                                   {"taskHash", kept->taskHash},
                                   {"tier", protocol::toString(kept->tier)},
                                   {"provisional", evaluation->provisional()},
                                   {"because", evaluation->provisionalBecause()},
                                   {"who", who},
                                   {"when", utcNow()},
                                   {"note", note}};
    const std::string text = canonical(record);
    const Signature signature = key.sign(text);
    const auto added = writing([&]() -> Result<void> {
        SQLite::Statement insert(*m_database,
                                 "INSERT INTO accepts (id, candidate, kind, accept, record, "
                                 "public_key, signature) VALUES (?, ?, 'accept', '', ?, ?, ?)");
        SQLite::bind(insert, id, candidate.text(), text, signature.publicKey, signature.signature);
        insert.exec();
        return {};
    });
    if (!added) {
        return tl::unexpected(added.error());
    }
    const auto all = accepts(candidate);
    return all ? Result<AcceptRecord>(all->front()) : tl::unexpected(all.error());
}

Result<void> Store::withdraw(const CandidateId& candidate,
                             const std::string& who,
                             const std::string& note,
                             const SigningKey& key)
{
    const auto all = accepts(candidate);
    if (!all) {
        return tl::unexpected(all.error());
    }
    if (all->empty() || all->front().withdrawn) {
        return fail(ErrorCode::Refused,
                    "the candidate is not accepted, so there is nothing to withdraw");
    }
    const std::string id = newUuidV7();
    const std::string text = canonical({{"schema", "lathe.accept/1"},
                                        {"id", id},
                                        {"kind", "withdraw"},
                                        {"candidate", candidate.text()},
                                        {"accept", all->front().id},
                                        {"who", who},
                                        {"when", utcNow()},
                                        {"note", note}});
    const Signature signature = key.sign(text);
    return writing([&]() -> Result<void> {
        SQLite::Statement insert(*m_database,
                                 "INSERT INTO accepts (id, candidate, kind, accept, record, "
                                 "public_key, signature) VALUES (?, ?, 'withdraw', ?, ?, ?, ?)");
        SQLite::bind(insert,
                     id,
                     candidate.text(),
                     all->front().id,
                     text,
                     signature.publicKey,
                     signature.signature);
        insert.exec();
        return {};
    });
}

/// Columns: id, candidate, record, public_key, signature, withdrawn, the evaluation's document, the
/// candidate's hash. Valid means: the text was signed by that key, and what it names is still what
/// the workspace holds.
std::optional<AcceptRecord> Store::acceptFrom(SQLite::Statement& query)
{
    const std::string text = query.getColumn(2).getString();
    const auto json = parseJson(text);
    AcceptRecord record;
    record.id = query.getColumn(0).getString();
    record.publicKey = query.getColumn(3).getString();
    record.signature = query.getColumn(4).getString();
    record.withdrawn = query.getColumn(5).getInt() > 0;
    if (!json) {
        return record;
    }
    record.evaluation = EvaluationId(stringOr(*json, "evaluation"));
    record.who = stringOr(*json, "who");
    record.when = stringOr(*json, "when");
    record.note = stringOr(*json, "note");
    record.provisional = boolOr(*json, "provisional", false);
    record.because = stringOr(*json, "because");
    const std::string documentHash = stringOr(*json, "documentHash");
    record.signatureValid = verifySignature(text, {record.publicKey, record.signature})
                            && stringOr(*json, "id") == record.id
                            && stringOr(*json, "candidate") == query.getColumn(1).getString()
                            && documentHash == query.getColumn(6).getString()
                            && stringOr(*json, "contentHash") == query.getColumn(7).getString()
                            && m_blobs.get(documentHash).has_value();
    return record;
}

Result<std::vector<AcceptRecord>> Store::accepts(const CandidateId& candidate)
{
    return guarded([&]() -> Result<std::vector<AcceptRecord>> {
        std::vector<AcceptRecord> records;
        SQLite::Statement query(*m_database, R"sql(
SELECT a.id, a.candidate, a.record, a.public_key, a.signature, (SELECT count(*) FROM accepts w WHERE w.accept = a.id),
       coalesce((SELECT document FROM evaluations e WHERE e.id = json_extract(a.record, '$.evaluation')), ''),
       (SELECT content_hash FROM candidates c WHERE c.id = a.candidate)
FROM accepts a WHERE a.candidate = ? AND a.kind = 'accept' ORDER BY a.seq DESC)sql");
        query.bind(1, candidate.text());
        while (query.executeStep()) {
            if (auto record = acceptFrom(query)) {
                records.push_back(std::move(*record));
            }
        }
        return records;
    });
}

} // namespace lathe::session
