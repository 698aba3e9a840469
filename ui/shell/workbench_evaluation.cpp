// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/candidate/candidate.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/shell/workbench.h>

#include <QCoreApplication>
#include <QThreadPool>

#include <algorithm>

namespace lathe::ui {
namespace {

bool hasFailed(const evaluation::EvaluationResult& result)
{
    return std::any_of(result.gates.begin(), result.gates.end(), [](const auto& gate) {
        return gate.status == protocol::GateStatus::Fail;
    });
}

} // namespace

void Workbench::keepUnrun(std::vector<protocol::CandidateFile> files)
{
    session::CandidateDraft draft{.task = m_task->row.id, .label = "edited by hand, not run"};
    if (!m_open.empty()) {
        draft.parent = m_open;
    }
    draft.spec.files = std::move(files);
    m_session.createCandidate(std::move(draft),
                              guarded(this, [this](Result<session::CandidateRow> row) {
                                  if (!row) {
                                      report(row.error());
                                  }
                              }));
    m_session.discardDraft(m_task->row.id);
}

void Workbench::run(std::vector<protocol::CandidateFile> files, bool changed)
{
    if (!m_task) {
        return;
    }
    session::EvaluateOptions options;
    options.thenFull = true;
    if (!m_variant.isEmpty()) {
        options.variants = {m_variant.toStdString()};
    }
    if (!changed && !m_open.empty()) {
        evaluate(m_open, options);
        return;
    }
    session::CandidateDraft draft{.task = m_task->row.id,
                                  .label = m_open.empty() ? "first try" : "edited by hand"};
    if (!m_open.empty()) {
        draft.parent = m_open;
    }
    draft.spec.files = std::move(files);
    const auto generation = m_openGeneration;
    m_session.createCandidate(
        std::move(draft),
        guarded(this, [this, generation, options](Result<session::CandidateRow> row) {
            if (!row) {
                report(row.error());
                return;
            }
            if (generation == m_openGeneration) {
                created(*row);
            }
            evaluate(row->id, options);
        }));
}

void Workbench::created(const session::CandidateRow& row)
{
    ++m_openGeneration;
    if (rowOf(row.id) == nullptr) {
        m_candidates.push_back(row);
    }
    m_open = row.id;
    m_parentResult = row.parent ? m_result : nullptr;
    m_result = nullptr;
    m_running = nullptr;
    rememberOpen();
    m_session.discardDraft(m_task->row.id);
    Q_EMIT candidateKept();
    Q_EMIT candidatesChanged();
    loadParent();
}

void Workbench::addShippedSolutions()
{
    if (!m_task) {
        return;
    }
    QThreadPool::globalInstance()->start(
        [self = QPointer<Workbench>(this), id = m_task->row.id, folders = m_task->task.solutions] {
            for (const auto& folder : folders) {
                auto spec = candidate::loadSolution(folder);
                QMetaObject::invokeMethod(
                    qApp,
                    [self, id, name = folder.filename().string(), spec = std::move(spec)] {
                        if (!self) {
                            return;
                        }
                        if (!spec) {
                            self->report(spec.error());
                            return;
                        }
                        session::CandidateDraft draft{
                            .task = id, .author = session::Author::Import, .label = name};
                        draft.spec = *spec;
                        self->m_session.createCandidate(
                            std::move(draft),
                            guarded(self.data(), [self](Result<session::CandidateRow> row) {
                                if (!row) {
                                    self->report(row.error());
                                }
                            }));
                    },
                    Qt::QueuedConnection);
            }
        });
}

void Workbench::evaluateOpen(protocol::Tier tier)
{
    if (!m_open.empty()) {
        session::EvaluateOptions options;
        options.tier = tier;
        evaluate(m_open, options);
    }
}

void Workbench::evaluate(const CandidateId& candidate, session::EvaluateOptions options)
{
    const auto generation = ++m_jobGeneration;
    const bool follows = options.thenFull;
    m_running = nullptr;
    m_jobCandidate = candidate;
    if (follows) {
        options.onFull = guarded(this, [this, generation](Result<EvaluationPtr> result) {
            if (result) {
                onEvaluation(*result);
            }
            if (generation != m_jobGeneration) {
                return; // superseded or stopped
            }
            if (!result) {
                report(result.error());
            }
            endJob();
        });
    }
    m_job = m_session.evaluate(
        candidate,
        std::move(options),
        guarded(this, [this, generation, follows](Result<EvaluationPtr> result) {
            if (result) {
                onEvaluation(*result);
            }
            if (generation != m_jobGeneration) {
                return; // superseded or stopped
            }
            if (result && follows && (*result)->verdict == protocol::Verdict::Correct) {
                Q_EMIT activityChanged();
                return; // the full tier follows by itself under the same job
            }
            if (!result) {
                report(result.error());
            }
            endJob();
        }));
    Q_EMIT activityChanged();
}

void Workbench::endJob()
{
    m_job = 0;
    m_running = nullptr;
    Q_EMIT activityChanged();
    Q_EMIT resultChanged();
}

void Workbench::onEvaluation(const EvaluationPtr& result)
{
    if (!result) {
        return;
    }
    const bool ofJob = m_job != 0 && result->candidate == m_jobCandidate;
    if (ofJob || (result->candidate == m_open && !m_open.empty())) {
        m_running = result->finished ? nullptr : result;
    }
    if (result->candidate == m_open && !m_open.empty()) {
        // A fuller tier that has only begun does not take away what is known: it replaces it once
        // it has numbers.
        const bool keepsOld =
            m_result && m_result->id != result->id && m_result->finished && !result->finished
            && m_result->verdict == protocol::Verdict::Correct && result->comparisons.empty()
            && result->tier != protocol::Tier::Quick && !hasFailed(*result);
        if (!keepsOld) {
            m_result = result;
        }
        Q_EMIT resultChanged();
    }
}

void Workbench::stop()
{
    if (m_job != 0) {
        ++m_jobGeneration;
        m_session.cancel(m_job);
        endJob();
        Q_EMIT message(QStringLiteral("Evaluation stopped"), false);
    }
    if (!m_run.empty()) {
        m_session.stopAgent(m_run);
        Q_EMIT message(QStringLiteral("Agent stopped"), false);
    }
    Q_EMIT activityChanged();
}

} // namespace lathe::ui
