// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "store_guard.h"
#include "store_rows.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <sstream>
#include <unistd.h>

namespace lathe::session {
namespace {

/// Field 22 of /proc/PID/stat, in clock ticks since boot; empty when there is no such process.
std::string startTimeOf(const std::string& pid)
{
    const auto stat = readFile("/proc/" + pid + "/stat", 4096);
    const auto close =
        stat ? stat->rfind(')') : std::string::npos; // the name before it may hold anything
    if (close == std::string::npos) {
        return {};
    }
    std::istringstream fields(stat->substr(close + 1));
    std::string field;
    for (int i = 3; i <= 22; ++i) {
        fields >> field;
    }
    return field;
}

} // namespace

std::string ownerOfThisProcess()
{
    const std::string pid = std::to_string(::getpid());
    return pid + ":" + startTimeOf(pid);
}

bool ownerIsAlive(const std::string& owner)
{
    const auto colon = owner.find(':');
    if (colon == 0 || colon == std::string::npos
        || owner.find_first_not_of("0123456789:") != std::string::npos) {
        return false;
    }
    return startTimeOf(owner.substr(0, colon)) == owner.substr(colon + 1);
}

/// A run whose program was killed ends here, so that it does not look as if it still ran.
Result<void> Store::endDeadRuns()
{
    return guarded([&]() -> Result<void> {
        std::vector<std::string> dead;
        SQLite::Statement query(*m_database, "SELECT id, owner FROM runs WHERE stop_reason = ''");
        while (query.executeStep()) {
            if (!ownerIsAlive(query.getColumn(1).getString())) {
                dead.push_back(query.getColumn(0).getString());
            }
        }
        query.reset();
        for (const auto& run : dead) {
            if (auto done = finishRun(run, "interrupted", 0); !done) {
                return done;
            }
        }
        return {};
    });
}

Result<void> Store::addRun(const RunRow& run)
{
    return writing([&]() -> Result<void> {
        SQLite::Statement insert(*m_database, "INSERT INTO runs VALUES (?, ?, ?, ?, ?, '', 0, ?)");
        SQLite::bind(insert,
                     run.run,
                     run.task.text(),
                     run.provider,
                     run.replay ? 1 : 0,
                     run.startedAt,
                     ownerOfThisProcess());
        insert.exec();
        return {};
    });
}

Result<void> Store::finishRun(const std::string& run, const std::string& stopReason, int steps)
{
    return writing([&]() -> Result<void> {
        SQLite::Statement update(*m_database,
                                 "UPDATE runs SET stop_reason = ?, steps = max(steps, ?) WHERE id "
                                 "= ? AND stop_reason = ''");
        SQLite::bind(update, stopReason, steps, run);
        update.exec();
        return {};
    });
}

Result<std::vector<RunRow>> Store::runs(const TaskId& task)
{
    return guarded([&]() -> Result<std::vector<RunRow>> {
        std::vector<RunRow> rows;
        SQLite::Statement query(*m_database,
                                "SELECT id, task, provider, replay, started_at, stop_reason, steps "
                                "FROM runs WHERE task = ? ORDER BY started_at, id");
        query.bind(1, task.text());
        while (query.executeStep()) {
            RunRow row;
            row.run = query.getColumn(0).getString();
            row.task = TaskId(query.getColumn(1).getString());
            row.provider = query.getColumn(2).getString();
            row.replay = query.getColumn(3).getInt() != 0;
            row.startedAt = query.getColumn(4).getString();
            row.stopReason = query.getColumn(5).getString();
            row.steps = query.getColumn(6).getInt();
            rows.push_back(std::move(row));
        }
        return rows;
    });
}

Result<void> Store::saveDraft(const TaskId& task, const Session::Draft& draft)
{
    nlohmann::json files = nlohmann::json::array();
    for (const auto& file : draft.files) {
        files.push_back({{"path", file.path}, {"text", file.text}});
    }
    return writing([&]() -> Result<void> {
        SQLite::Statement insert(*m_database, "INSERT OR REPLACE INTO drafts VALUES (?, ?, ?, ?)");
        SQLite::bind(insert,
                     task.text(),
                     draft.parent ? draft.parent->text() : std::string(),
                     dumpJson(files),
                     draft.savedAt);
        insert.exec();
        return {};
    });
}

Result<std::optional<Session::Draft>> Store::loadDraft(const TaskId& task)
{
    return guarded([&]() -> Result<std::optional<Session::Draft>> {
        SQLite::Statement query(*m_database,
                                "SELECT parent, files, saved_at FROM drafts WHERE task = ?");
        query.bind(1, task.text());
        if (!query.executeStep()) {
            return std::optional<Session::Draft>();
        }
        Session::Draft draft;
        if (const auto parent = query.getColumn(0).getString(); !parent.empty()) {
            draft.parent = CandidateId(parent);
        }
        draft.savedAt = query.getColumn(2).getString();
        const auto files = parseJson(query.getColumn(1).getString());
        for (const auto& file : files && files->is_array() ? *files : nlohmann::json::array()) {
            draft.files.push_back({stringOr(file, "path"), stringOr(file, "text")});
        }
        return std::optional<Session::Draft>(std::move(draft));
    });
}

Result<void> Store::discardDraft(const TaskId& task)
{
    return writing([&]() -> Result<void> {
        SQLite::Statement remove(*m_database, "DELETE FROM drafts WHERE task = ?");
        remove.bind(1, task.text());
        remove.exec();
        return {};
    });
}

} // namespace lathe::session
