// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "core_state.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/exporter/exporter.h>

#include <nlohmann/json.hpp>

namespace lathe::session {

void CoreState::candidates(const TaskId& task, const Callback<std::vector<CandidateRow>>& done)
{
    auto rows = m_store->candidates(task);
    if (rows) {
        for (auto& row : *rows) {
            for (const auto& [id, job] : m_jobs) {
                row.running = row.running || (job->candidate == row.id && !job->isExec);
            }
        }
        m_openTasks.insert(task);
    }
    m_notifier->answer(done, std::move(rows));
}

void CoreState::source(const CandidateId& id, const Callback<protocol::CandidateSpec>& done)
{
    m_notifier->answer(done, m_store->source(id));
}

void CoreState::createCandidate(const CandidateDraft& draft, const Callback<CandidateRow>& done)
{
    auto row = m_store->addCandidate(draft, {});
    if (row) {
        candidatesChanged(draft.task);
        tasksChanged();
    }
    m_notifier->answer(done, std::move(row));
}

void CoreState::labelCandidate(const CandidateId& id,
                               const std::string& label,
                               const Callback<void>& done)
{
    auto result = m_store->label(id, label);
    if (const auto row = m_store->candidate(id); result && row) {
        candidatesChanged(row->task);
    }
    m_notifier->answer(done, std::move(result));
}

void CoreState::pin(const TaskId& task, const CandidateId& id, const Callback<void>& done)
{
    auto result = m_store->pin(task, id);
    if (result) {
        candidatesChanged(task);
    }
    m_notifier->answer(done, std::move(result));
}

void CoreState::evaluationOf(const CandidateId& id, const Callback<EvaluationPtr>& done)
{
    const auto kept = m_store->shownEvaluation(id);
    if (!kept || !*kept) {
        m_notifier->answer<EvaluationPtr>(
            done,
            tl::unexpected(
                kept ? Error{ErrorCode::NotFound, "the candidate has no finished evaluation", {}}
                     : kept.error()));
        return;
    }
    auto result = m_store->loadEvaluation(**kept);
    if (!result) {
        m_notifier->answer<EvaluationPtr>(done, tl::unexpected(result.error()));
        return;
    }
    m_notifier->answer<EvaluationPtr>(
        done, std::make_shared<const evaluation::EvaluationResult>(std::move(*result)));
}

void CoreState::accept(const CandidateId& id,
                       const std::string& note,
                       const Callback<AcceptRecord>& done)
{
    const auto key = SigningKey::loadOrCreate(configFolder() / "signing.key");
    auto record = key ? m_store->accept(id, whoAmI(), note, *key) : tl::unexpected(key.error());
    if (const auto row = m_store->candidate(id); record && row) {
        candidatesChanged(row->task);
    }
    m_notifier->answer(done, std::move(record));
}

void CoreState::withdrawAccept(const CandidateId& id,
                               const std::string& note,
                               const Callback<void>& done)
{
    const auto key = SigningKey::loadOrCreate(configFolder() / "signing.key");
    auto result = key ? m_store->withdraw(id, whoAmI(), note, *key)
                      : Result<void>(tl::unexpected(key.error()));
    if (const auto row = m_store->candidate(id); result && row) {
        candidatesChanged(row->task);
    }
    m_notifier->answer(done, std::move(result));
}

void CoreState::exportCandidate(const CandidateId& id,
                                const std::string& as,
                                const std::filesystem::path& folder,
                                const Callback<std::vector<std::filesystem::path>>& done)
{
    using Files = std::vector<std::filesystem::path>;
    const auto row = m_store->candidate(id);
    const auto spec = m_store->source(id);
    const auto task = row ? taskOf(row->task) : Result<task::Task>(tl::unexpected(row.error()));
    const auto kept = m_store->shownEvaluation(id);
    if (!task || !spec || !kept) {
        m_notifier->answer<Files>(done,
                                  tl::unexpected(!task   ? task.error()
                                                 : !spec ? spec.error()
                                                         : kept.error()));
        return;
    }
    nlohmann::ordered_json document;
    if (*kept) {
        const auto text = m_store->documentText(**kept);
        const auto parsed = text ? parseOrderedJson(*text) : tl::unexpected(text.error());
        if (!parsed) {
            m_notifier->answer<Files>(done, tl::unexpected(parsed.error()));
            return;
        }
        document = *parsed;
    }
    m_notifier->answer(
        done, exporter::exportCandidate(*task, *spec, *kept ? &document : nullptr, as, folder));
}

} // namespace lathe::session
