// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "core_state.h"

#include <lathe/base/clock.h>

namespace lathe::session {

/// Reads the task afresh, so that an edited reference counts; a task whose folder is gone is judged
/// by its kept copy.
Result<task::Task> CoreState::taskOf(const TaskId& id)
{
    const auto place = m_store->taskPlace(id.text());
    if (!place) {
        return tl::unexpected(place.error());
    }
    auto task = task::loadTask(place->location, m_options.taskRoots);
    if (!task && task.error().code == ErrorCode::NotFound) {
        return m_store->taskSnapshot(*place);
    }
    if (task && task->hash != place->hash) {
        if (const auto put = m_store->putTask(*task); !put) {
            problem(put.error());
        }
    }
    return task;
}

void CoreState::enterShippedTasks()
{
    std::vector<task::Finding> problems;
    bool changed = false;
    for (const auto& task : task::listTasks(m_options.taskRoots, problems)) {
        const auto before = m_store->taskPlace(task.spec.key);
        const auto put = m_store->putTask(task);
        if (!put) {
            problem(put.error());
            return;
        }
        changed = changed || !before || before->hash != task.hash;
    }
    for (const auto& finding : problems) {
        problem({ErrorCode::InvalidArgument, finding.message, finding.file});
    }
    if (changed) {
        tasksChanged();
    }
}

TaskRow CoreState::withStatus(TaskRow row) const
{
    if (isRunning(row.id)) {
        row.status = "running";
    }
    return row;
}

void CoreState::tasks(const Callback<std::vector<TaskRow>>& done)
{
    auto rows = m_store->tasks();
    if (rows) {
        for (auto& row : *rows) {
            row = withStatus(std::move(row));
        }
    }
    m_notifier->answer(done, std::move(rows));
}

void CoreState::openTask(const std::string& reference, const Callback<TaskDetail>& done)
{
    const auto answer = [&](Result<TaskDetail> result) {
        m_notifier->answer(done, std::move(result));
    };
    auto task = task::loadTask(reference, m_options.taskRoots);
    Result<TaskId> id = fail(ErrorCode::NotFound, {});
    if (task) {
        id = m_store->putTask(*task);
    } else if (task.error().code == ErrorCode::NotFound) {
        const auto place =
            m_store->taskPlace(reference); // an id, or the key of a task from elsewhere
        if (!place) {
            answer(tl::unexpected(task.error()));
            return;
        }
        id = place->id;
        task = taskOf(place->id);
    }
    if (!task || !id) {
        answer(tl::unexpected(task ? id.error() : task.error()));
        return;
    }
    const auto rows = m_store->tasks();
    if (!rows) {
        answer(tl::unexpected(rows.error()));
        return;
    }
    TaskDetail detail;
    detail.task = std::move(*task);
    for (const auto& row : *rows) {
        if (row.id == *id) {
            detail.row = withStatus(row);
        }
    }
    m_openTasks.insert(*id);
    tasksChanged();
    answer(std::move(detail));
}

void CoreState::saveDraft(const TaskId& task, Session::Draft draft)
{
    draft.savedAt = utcNow();
    const bool armed = !m_drafts.empty();
    m_drafts[task] = std::move(draft);
    if (armed) {
        return; // the timer runs: typing never writes more often than it fires
    }
    m_draftTimer.expires_after(std::chrono::milliseconds(300));
    m_draftTimer.async_wait([this](boost::system::error_code error) {
        if (!error) {
            flushDrafts();
        }
    });
}

void CoreState::flushDrafts()
{
    std::map<TaskId, Session::Draft> drafts;
    drafts.swap(m_drafts);
    for (const auto& [task, draft] : drafts) {
        if (const auto saved = m_store->saveDraft(task, draft); !saved) {
            problem(saved.error());
        }
    }
}

void CoreState::loadDraft(const TaskId& task, const Callback<std::optional<Session::Draft>>& done)
{
    flushDrafts();
    m_notifier->answer(done, m_store->loadDraft(task));
}

void CoreState::discardDraft(const TaskId& task)
{
    m_drafts.erase(task);
    if (const auto done = m_store->discardDraft(task); !done) {
        problem(done.error());
    }
}

} // namespace lathe::session
