// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_guard.h"
#include "store_rows.h"
#include "task_snapshot.h"

#include <lathe/base/clock.h>

namespace lathe::session {
namespace {

/// What loadTask finds the same task by again. A shipped task is the same wherever the program is
/// installed; any other one is its folder, or its file when it was read without a task.json.
std::string locationOf(const task::Task& task)
{
    if (!task.spec.key.starts_with("local/")) {
        return task.spec.key;
    }
    const auto folder = task::loadTask(task.folder.string(), {});
    return folder && folder->hash == task.hash ? task.folder.string() : task.referenceFile.string();
}

} // namespace

Result<TaskId> Store::putTask(const task::Task& task)
{
    const std::string location = locationOf(task);
    const auto snapshot = putBlob(taskToSnapshot(task));
    if (!snapshot) {
        return tl::unexpected(snapshot.error());
    }
    return guarded([&]() -> Result<TaskId> {
        SQLite::Statement find(*m_database, "SELECT id, snapshot FROM tasks WHERE location = ?");
        find.bind(1, location);
        if (find.executeStep() && find.getColumn(1).getString() == *snapshot) {
            m_newBlobs.clear();
            return TaskId(find.getColumn(0).getString());
        }
        find.reset();
        return writing([&]() -> Result<TaskId> {
            SQLite::Statement insert(
                *m_database,
                "INSERT INTO tasks (id, key, location, title, suite, hash, snapshot, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (location) DO UPDATE SET key = excluded.key, title = excluded.title, "
                "suite = excluded.suite, "
                "hash = excluded.hash, snapshot = excluded.snapshot RETURNING id");
            SQLite::bind(insert,
                         TaskId::fresh().text(),
                         task.spec.key,
                         location,
                         task.title,
                         task.suite,
                         task.hash,
                         *snapshot,
                         utcNow());
            insert.executeStep();
            const TaskId id(insert.getColumn(0).getString());
            while (insert.executeStep()) {
            }
            return id;
        });
    });
}

Result<std::vector<TaskRow>> Store::tasks()
{
    return guarded([&]() -> Result<std::vector<TaskRow>> {
        std::vector<TaskRow> rows;
        // Of every candidate the latest evaluation decides whether it counts, the latest full or
        // accept one how fast it is.
        SQLite::Statement query(*m_database, R"sql(
SELECT t.id, t.key, t.title, t.suite,
       (SELECT count(*) FROM candidates c WHERE c.task = t.id),
       (SELECT count(*) FROM evaluations e WHERE e.task = t.id AND e.candidate <> ''),
       (SELECT count(*) FROM candidates c WHERE c.task = t.id AND 'correct' =
           (SELECT e.verdict FROM evaluations e WHERE e.candidate = c.id ORDER BY e.seq DESC LIMIT 1)),
       (SELECT s.summary FROM candidates c JOIN evaluations s ON s.seq =
           (SELECT max(e.seq) FROM evaluations e WHERE e.candidate = c.id AND e.tier <> 'quick' AND e.measured = 1)
         WHERE c.task = t.id AND s.verdict = 'correct' AND s.best_ratio IS NOT NULL AND 'correct' =
           (SELECT e.verdict FROM evaluations e WHERE e.candidate = c.id ORDER BY e.seq DESC LIMIT 1)
         ORDER BY s.best_ratio DESC LIMIT 1)
FROM tasks t ORDER BY t.key)sql");
        while (query.executeStep()) {
            TaskRow row;
            row.id = TaskId(query.getColumn(0).getString());
            row.key = query.getColumn(1).getString();
            row.title = query.getColumn(2).getString();
            row.suite = query.getColumn(3).getString();
            row.candidates = query.getColumn(4).getInt();
            const bool evaluated = query.getColumn(5).getInt() > 0;
            const bool correct = query.getColumn(6).getInt() > 0;
            row.status = correct ? "correct" : evaluated ? "wrong" : "not run";
            row.best = readSummary(query.getColumn(7).getString()).best;
            rows.push_back(std::move(row));
        }
        return rows;
    });
}

Result<Store::TaskPlace> Store::taskPlace(const std::string& idOrKey)
{
    return guarded([&]() -> Result<TaskPlace> {
        SQLite::Statement query(*m_database,
                                "SELECT id, key, location, hash, snapshot FROM tasks WHERE id = ?1 "
                                "OR key = ?1 ORDER BY id = ?1 DESC LIMIT 1");
        query.bind(1, idOrKey);
        if (!query.executeStep()) {
            return fail(ErrorCode::NotFound, "this workspace has no task \"" + idOrKey + "\"");
        }
        return TaskPlace{TaskId(query.getColumn(0).getString()),
                         query.getColumn(1).getString(),
                         query.getColumn(2).getString(),
                         query.getColumn(3).getString(),
                         query.getColumn(4).getString()};
    });
}

Result<task::Task> Store::taskSnapshot(const TaskPlace& place)
{
    const auto text = m_blobs.get(place.snapshotBlob);
    return text ? taskFromSnapshot(*text) : tl::unexpected(text.error());
}

Result<void> Store::pin(const TaskId& task, const CandidateId& candidate)
{
    if (!candidate.empty()) {
        const auto row = this->candidate(candidate);
        if (!row) {
            return tl::unexpected(row.error());
        }
        if (row->task != task) {
            return fail(ErrorCode::InvalidArgument,
                        "the candidate belongs to another task and cannot be pinned here");
        }
    }
    return writing([&]() -> Result<void> {
        SQLite::Statement update(*m_database, "UPDATE tasks SET pinned = ? WHERE id = ?");
        SQLite::bind(update, candidate.text(), task.text());
        if (update.exec() != 1) {
            return fail(ErrorCode::NotFound, "this workspace has no such task");
        }
        return {};
    });
}

} // namespace lathe::session
