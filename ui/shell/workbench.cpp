// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/candidate/candidate.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/shell/stored_settings.h>
#include <lathe/ui/shell/workbench.h>

#include <algorithm>

namespace lathe::ui {
namespace {

const QString kLastTask = QStringLiteral("open/task");

QString lastCandidateKey(const std::string& task)
{
    return QStringLiteral("candidates/%1")
        .arg(qs(task).replace(QLatin1Char('/'), QLatin1Char('|')));
}

} // namespace

Workbench::Workbench(session::Session& session,
                     SessionAdapter& adapter,
                     const std::string& device,
                     QObject* parent)
    : QObject(parent)
    , m_session(session)
    , m_adapter(adapter)
    , m_device(device.substr(0, device.find(':')))
    , m_settings(std::make_unique<StoredSettings>(session.workspace() / "workbench.ini"))
{
    connectAdapter();
}

Workbench::~Workbench() = default;

void Workbench::connectAdapter()
{
    connect(&m_adapter,
            &SessionAdapter::workerStatus,
            this,
            [this](const session::WorkerStatus& status) {
                m_worker = status;
                Q_EMIT workerChanged();
            });
    connect(&m_adapter, &SessionAdapter::tasksChanged, this, &Workbench::loadTasks);
    connect(&m_adapter, &SessionAdapter::candidatesChanged, this, [this](const TaskId& task) {
        if (m_task && m_task->row.id == task) {
            loadCandidates(false);
        }
    });
    connect(&m_adapter, &SessionAdapter::evaluation, this, &Workbench::onEvaluation);
    connect(
        &m_adapter, &SessionAdapter::trajectory, this, [this](const agent::TrajectoryItem& item) {
            if (item.run == m_shownRun) {
                Q_EMIT trajectoryGrew(item);
            }
        });
    connect(&m_adapter,
            &SessionAdapter::budget,
            this,
            [this](const std::string& run, const agent::AgentBudget& budget) {
                if (run == m_shownRun) {
                    Q_EMIT budgetChanged(budget);
                }
            });
    connect(&m_adapter, &SessionAdapter::runFinished, this, &Workbench::onRunFinished);
    connect(&m_adapter, &SessionAdapter::problem, this, &Workbench::report);
}

void Workbench::report(const Error& error)
{
    if (error.code != ErrorCode::Cancelled) {
        Q_EMIT message(qs(error.message), true);
    }
}

const session::CandidateRow* Workbench::rowOf(const CandidateId& id) const
{
    const auto found = std::find_if(
        m_candidates.begin(), m_candidates.end(), [&](const auto& row) { return row.id == id; });
    return found == m_candidates.end() || id.empty() ? nullptr : &*found;
}

const session::CandidateRow* Workbench::parentCandidate() const
{
    const auto* row = candidate();
    return row != nullptr && row->parent ? rowOf(*row->parent) : nullptr;
}

void Workbench::start(const QString& reference)
{
    loadTasks();
    m_session.providers(
        guarded(this, [this](Result<std::vector<session::Session::ProviderRow>> rows) {
            if (rows) {
                Q_EMIT providersChanged(*rows);
            } else {
                report(rows.error());
            }
        }));
    const QString last = m_settings->value(kLastTask).toString();
    if (!reference.isEmpty() || !last.isEmpty()) {
        openTask(reference.isEmpty() ? last : reference);
    }
}

void Workbench::loadTasks()
{
    m_session.tasks(guarded(this, [this](Result<std::vector<session::TaskRow>> rows) {
        if (!rows) {
            report(rows.error());
            return;
        }
        m_tasks = std::move(*rows);
        Q_EMIT tasksChanged();
        if (m_taskGeneration == 0 && !m_tasks.empty()) {
            openTask(qs(m_tasks.front().key));
        }
    }));
}

void Workbench::openTask(const QString& reference)
{
    const auto generation = ++m_taskGeneration;
    m_session.openTask(reference.toStdString(),
                       guarded(this, [this, generation](Result<session::TaskDetail> detail) {
                           if (generation != m_taskGeneration) {
                               return;
                           }
                           if (!detail) {
                               report(detail.error());
                               return;
                           }
                           ++m_openGeneration;
                           m_task = std::move(*detail);
                           m_candidates.clear();
                           m_open = {};
                           m_result = nullptr;
                           m_parentResult = nullptr;
                           m_pinResult = nullptr;
                           m_variant.clear();
                           m_settings->setValue(kLastTask, qs(m_task->row.key));
                           m_session.prepare(m_task->row.id);
                           Q_EMIT taskOpened();
                           Q_EMIT candidatesChanged();
                           Q_EMIT resultChanged();
                           loadCandidates(true);
                           showLatestRun();
                       }));
}

void Workbench::loadCandidates(bool chooseOne)
{
    const auto generation = m_taskGeneration;
    m_session.candidates(
        m_task->row.id,
        guarded(this,
                [this, generation, chooseOne](Result<std::vector<session::CandidateRow>> rows) {
                    if (generation != m_taskGeneration) {
                        return;
                    }
                    if (!rows) {
                        report(rows.error());
                        return;
                    }
                    m_candidates = std::move(*rows);
                    Q_EMIT candidatesChanged();
                    loadPinned();
                    if (!chooseOne) {
                        return;
                    }
                    m_session.loadDraft(
                        m_task->row.id,
                        guarded(this,
                                [this,
                                 generation](Result<std::optional<session::Session::Draft>> draft) {
                                    if (generation == m_taskGeneration) {
                                        chooseCandidate(draft ? *draft : std::nullopt);
                                    }
                                }));
                }));
}

void Workbench::chooseCandidate(const std::optional<session::Session::Draft>& draft)
{
    CandidateId chosen(
        m_settings->value(lastCandidateKey(m_task->row.key)).toString().toStdString());
    if (draft && draft->parent) {
        chosen = *draft->parent;
    } else if (draft) {
        chosen = {};
    } else if (rowOf(chosen) == nullptr) {
        chosen = m_candidates.empty() ? CandidateId() : m_candidates.back().id;
    }
    if (rowOf(chosen) != nullptr) {
        openCandidate(chosen);
    } else {
        openSkeleton();
    }
    if (draft) {
        // The source comes first: the draft is an edit of it.
        const auto generation = m_openGeneration;
        const auto files = draft->files;
        if (m_open.empty()) {
            Q_EMIT draftFound(files);
        } else {
            m_session.source(
                chosen,
                guarded(this, [this, generation, files](Result<protocol::CandidateSpec> spec) {
                    if (spec && generation == m_openGeneration) {
                        Q_EMIT draftFound(files);
                    }
                }));
        }
    }
}

void Workbench::rememberOpen()
{
    m_settings->setValue(lastCandidateKey(m_task->row.key), qs(m_open.text()));
}

void Workbench::openSkeleton()
{
    ++m_openGeneration;
    m_open = {};
    m_result = nullptr;
    m_parentResult = nullptr;
    const protocol::CandidateSpec spec = candidate::skeleton(m_task->task.spec, m_device);
    Q_EMIT candidateOpened(spec.files);
    Q_EMIT parentLoaded({});
    Q_EMIT resultChanged();
}

void Workbench::openCandidate(const CandidateId& id)
{
    if (rowOf(id) == nullptr) {
        return;
    }
    const auto generation = ++m_openGeneration;
    m_open = id;
    m_running = m_running && m_running->candidate == id ? m_running : nullptr;
    m_result = nullptr;
    m_parentResult = nullptr;
    rememberOpen();
    m_session.source(id, guarded(this, [this, generation](Result<protocol::CandidateSpec> spec) {
                         if (generation != m_openGeneration) {
                             return;
                         }
                         if (spec) {
                             Q_EMIT candidateOpened(spec->files);
                         } else {
                             report(spec.error());
                         }
                     }));
    m_session.evaluationOf(id, guarded(this, [this, generation](Result<EvaluationPtr> result) {
                               if (generation == m_openGeneration && !m_result) {
                                   m_result = result ? *result : nullptr;
                                   Q_EMIT resultChanged();
                               }
                           }));
    loadParent();
    Q_EMIT candidatesChanged();
}

void Workbench::loadParent()
{
    const auto generation = m_openGeneration;
    const auto* parent = parentCandidate();
    if (parent == nullptr) {
        Q_EMIT parentLoaded({});
        return;
    }
    m_session.source(parent->id,
                     guarded(this, [this, generation](Result<protocol::CandidateSpec> spec) {
                         if (spec && generation == m_openGeneration) {
                             Q_EMIT parentLoaded(spec->files);
                         }
                     }));
    m_session.evaluationOf(parent->id,
                           guarded(this, [this, generation](Result<EvaluationPtr> result) {
                               if (result && generation == m_openGeneration) {
                                   m_parentResult = *result;
                                   Q_EMIT resultChanged();
                               }
                           }));
}

const session::CandidateRow* Workbench::pinnedCandidate() const
{
    const auto found = std::find_if(
        m_candidates.begin(), m_candidates.end(), [](const auto& row) { return row.pinned; });
    return found == m_candidates.end() ? nullptr : &*found;
}

// What is known of the pinned candidate is read again when another is pinned or it was measured
// anew.
void Workbench::loadPinned()
{
    const auto* pinned = pinnedCandidate();
    if (pinned == nullptr || !pinned->evaluation) {
        if (m_pinResult) {
            m_pinResult = nullptr;
            Q_EMIT resultChanged();
        }
        return;
    }
    if (m_pinResult && m_pinResult->id == *pinned->evaluation) {
        return;
    }
    const auto generation = m_taskGeneration;
    m_session.evaluationOf(
        pinned->id,
        guarded(this, [this, generation, id = pinned->id](Result<EvaluationPtr> result) {
            const auto* now = pinnedCandidate();
            if (result && generation == m_taskGeneration && now != nullptr && now->id == id) {
                m_pinResult = *result;
                Q_EMIT resultChanged();
            }
        }));
}

void Workbench::setVariant(const QString& variant)
{
    m_variant = variant;
    Q_EMIT activityChanged();
}

void Workbench::pinOpen()
{
    const auto* row = candidate();
    if (row != nullptr) {
        m_session.pin(m_task->row.id,
                      row->pinned ? CandidateId() : row->id,
                      guarded(this, [this](Result<void> done) {
                          if (!done) {
                              report(done.error());
                          }
                      }));
    }
}

void Workbench::accept(const QString& note)
{
    m_session.accept(
        m_open, note.toStdString(), guarded(this, [this](Result<session::AcceptRecord> record) {
            if (record) {
                Q_EMIT message(
                    QStringLiteral("Accepted%1 and signed by %2")
                        .arg(record->provisional ? QStringLiteral(" provisionally") : QString(),
                             qs(record->who)),
                    false);
                loadCandidates(false);
            } else {
                report(record.error());
            }
        }));
}

void Workbench::withdraw(const QString& note)
{
    m_session.withdrawAccept(m_open, note.toStdString(), guarded(this, [this](Result<void> done) {
                                 if (done) {
                                     Q_EMIT message(QStringLiteral("The acceptance is withdrawn"),
                                                    false);
                                     loadCandidates(false);
                                 } else {
                                     report(done.error());
                                 }
                             }));
}

void Workbench::exportOpen(const QString& format, const QString& folder)
{
    m_session.exportCandidate(
        m_open,
        format.toStdString(),
        folder.toStdString(),
        guarded(this, [this](Result<std::vector<std::filesystem::path>> files) {
            if (!files) {
                report(files.error());
                return;
            }
            QStringList names;
            for (const auto& file : *files) {
                names.append(qs(file.string()));
            }
            Q_EMIT message(QStringLiteral("Exported %1 files below %2")
                               .arg(names.size())
                               .arg(names.isEmpty()
                                        ? QString()
                                        : names.front().section(QLatin1Char('/'), 0, -2)),
                           false);
            Q_EMIT exported(names);
        }));
}

void Workbench::saveDraft(std::vector<protocol::CandidateFile> files)
{
    if (m_task) {
        m_session.saveDraft(m_task->row.id,
                            m_open.empty() ? std::nullopt : std::optional(m_open),
                            std::move(files));
    }
}

void Workbench::discardDraft()
{
    if (m_task) {
        m_session.discardDraft(m_task->row.id);
    }
}

} // namespace lathe::ui
