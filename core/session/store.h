// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "accept_record.h"
#include "blob_store.h"

#include <lathe/session/session.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace SQLite {
class Database;
class Statement;
} // namespace SQLite

namespace lathe::session {

/// The workspace's database and blobs. One connection, used from the core thread only; other
/// processes may use the same workspace at the same time. Every write is one transaction, made
/// after the blobs that it names.
class Store
{
public:
    static constexpr int kSchemaVersion = 1;

    /// Opens or creates the workspace; a file of a newer version is refused.
    static Result<std::unique_ptr<Store>> open(const std::filesystem::path& workspace);
    ~Store();

    // tasks
    Result<TaskId> putTask(const task::Task& task);
    Result<std::vector<TaskRow>> tasks();
    struct TaskPlace
    {
        TaskId id;
        std::string key;
        std::string location; ///< shipped key or absolute path, what loadTask takes
        std::string hash;
        std::string snapshotBlob;
    };
    Result<TaskPlace> taskPlace(const std::string& idOrKey);
    Result<task::Task> taskSnapshot(const TaskPlace& place);
    Result<void> pin(const TaskId& task, const CandidateId& candidate);

    // candidates
    Result<CandidateRow> addCandidate(const CandidateDraft& draft, const std::string& run);
    Result<std::vector<CandidateRow>> candidates(const TaskId& task);
    Result<CandidateRow> candidate(const CandidateId& id);
    Result<protocol::CandidateSpec> source(const CandidateId& id);
    Result<void> label(const CandidateId& id, const std::string& text);

    // evaluations
    Result<void> addEvaluation(const evaluation::EvaluationResult& result,
                               const TaskId& task,
                               const std::string& taskHash);
    struct KeptEvaluation
    {
        EvaluationId id;
        TaskId task;
        std::string taskHash;
        std::string documentBlob;
        std::optional<protocol::Verdict> verdict;
        protocol::Tier tier = protocol::Tier::Quick;
        bool measured = false;
    };
    /// Newest first.
    Result<std::vector<KeptEvaluation>> evaluations(const CandidateId& candidate);
    /// The one that the candidate's row tells of; none when it was never evaluated.
    Result<std::optional<KeptEvaluation>> shownEvaluation(const CandidateId& candidate);
    Result<evaluation::EvaluationResult> loadEvaluation(const KeptEvaluation& kept);
    Result<std::string> documentText(const KeptEvaluation& kept)
    {
        return m_blobs.get(kept.documentBlob);
    }
    /// The candidate whose latest evaluation is correct and whose best full, accept or quick one is
    /// fastest.
    Result<std::optional<CandidateId>> bestCandidate(const TaskId& task);

    // accepts
    Result<AcceptRecord> accept(const CandidateId& candidate,
                                const std::string& who,
                                const std::string& note,
                                const SigningKey& key);
    Result<void> withdraw(const CandidateId& candidate,
                          const std::string& who,
                          const std::string& note,
                          const SigningKey& key);
    /// Every accept of the candidate, newest first, verified.
    Result<std::vector<AcceptRecord>> accepts(const CandidateId& candidate);

    // runs
    Result<void> addRun(const RunRow& run);
    Result<void> finishRun(const std::string& run, const std::string& stopReason, int steps);
    Result<std::vector<RunRow>> runs(const TaskId& task);

    // drafts
    Result<void> saveDraft(const TaskId& task, const Session::Draft& draft);
    Result<std::optional<Session::Draft>> loadDraft(const TaskId& task);
    Result<void> discardDraft(const TaskId& task);

    /// Changes when another process wrote.
    std::int64_t dataVersion();
    [[nodiscard]] const std::filesystem::path& folder() const { return m_folder; }

private:
    Store(std::filesystem::path folder, std::unique_ptr<SQLite::Database> database);
    /// Runs f, turning what SQLite throws into an Error that says what to do.
    template <class F>
    auto guarded(F&& f) -> decltype(f());
    /// guarded, inside one immediate transaction.
    template <class F>
    auto writing(F&& f) -> decltype(f());
    Error explain(int code, const std::string& text) const;
    Result<void> migrate();
    Result<void> endDeadRuns();
    Result<std::string> putBlob(std::string_view bytes);
    void indexBlobs();
    CandidateRow rowFrom(SQLite::Statement& query);
    Result<std::vector<CandidateRow>> candidateRows(const std::string& where,
                                                    const std::string& argument);
    std::optional<AcceptRecord> acceptFrom(SQLite::Statement& query);

    std::filesystem::path m_folder;
    std::unique_ptr<SQLite::Database> m_database;
    BlobStore m_blobs;
    std::map<std::string, std::size_t> m_newBlobs; ///< written, not yet indexed by a committed row
};

} // namespace lathe::session
