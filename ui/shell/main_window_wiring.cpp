// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/candidates/candidate_pane.h>
#include <lathe/ui/candidates/work_list_panel.h>
#include <lathe/ui/evaluation/evaluation_panel.h>
#include <lathe/ui/evaluation/result_strip.h>
#include <lathe/ui/shell/action_registry.h>
#include <lathe/ui/shell/main_window.h>
#include <lathe/ui/shell/status_panel.h>
#include <lathe/ui/shell/stop_key.h>
#include <lathe/ui/shell/stored_settings.h>
#include <lathe/ui/shell/top_bar.h>
#include <lathe/ui/shell/workbench.h>
#include <lathe/ui/tasks/reference_pane.h>
#include <lathe/ui/trajectory/agent_panel.h>

#include <QApplication>
#include <QMenu>
#include <QTimer>

namespace lathe::ui {

void MainWindow::wireWorkbench()
{
    Workbench* w = &m_workbench;
    connect(w, &Workbench::tasksChanged, this, [this] {
        m_lists->setTasks(m_workbench.tasks());
        if (m_workbench.task()) {
            m_lists->setCurrentTask(qs(m_workbench.task()->row.key));
        }
    });
    connect(w, &Workbench::taskOpened, this, [this] {
        const auto& task = *m_workbench.task();
        m_top->setTask(task, m_workbench.device());
        m_reference->setTask(qs(task.task.spec.source), qs(task.task.notes));
        m_lists->setCurrentTask(qs(task.row.key));
        setWindowTitle(QStringLiteral("%1 · Lathe").arg(qs(task.row.key)));
        m_actions->refresh();
    });
    connect(w, &Workbench::candidatesChanged, this, [this] {
        m_lists->setCandidates(m_workbench.candidates());
        m_lists->setOpenCandidate(m_workbench.candidate() != nullptr ? m_workbench.candidate()->id
                                                                     : CandidateId());
        if (const auto* row = m_workbench.candidate()) {
            m_candidate->setTitle(QStringLiteral("%1 %2").arg(row->number).arg(qs(row->label)));
        }
        m_actions->refresh();
    });
    connect(w, &Workbench::candidateOpened, this, &MainWindow::showCandidate);
    connect(w,
            &Workbench::parentLoaded,
            this,
            [this](const std::vector<protocol::CandidateFile>& files) {
                const auto* parent = m_workbench.parentCandidate();
                m_candidate->setParentFiles(
                    parent == nullptr
                        ? QString()
                        : QStringLiteral("%1 %2").arg(parent->number).arg(qs(parent->label)),
                    files);
            });
    connect(w, &Workbench::candidateKept, this, [this] {
        m_draftTimer->stop();
        m_candidate->markUnchanged();
        m_lists->setUnsaved({});
        m_candidate->setProblems({});
    });
    connect(
        w, &Workbench::draftFound, this, [this](const std::vector<protocol::CandidateFile>& files) {
            m_candidate->restoreText(files);
            if (m_candidate->isChanged()) {
                m_status->showNote(QStringLiteral("Text that was not run is restored"), false);
            }
        });
    connect(w, &Workbench::resultChanged, this, &MainWindow::showResult);
    connect(w, &Workbench::activityChanged, this, &MainWindow::showActivity);
    connect(w, &Workbench::workerChanged, this, [this] {
        const auto& status = m_workbench.worker();
        m_status->setWorker(status);
        if (status.hello) {
            const QString device = qs(status.hello->target.device);
            m_top->setTarget(device.startsWith(QLatin1String("CPU")) ? QStringLiteral("this CPU")
                                                                     : device,
                             device);
        }
        m_actions->refresh();
    });
    connect(w, &Workbench::message, m_status, &StatusPanel::showNote);
    connect(w, &Workbench::providersChanged, m_agent, &AgentPanel::setProviders);
    connect(w, &Workbench::trajectoryGrew, this, [this](const agent::TrajectoryItem& item) {
        m_agent->add(item);
        if (m_follows && !item.candidate.empty() && !m_candidate->isChanged()) {
            openCandidate(qs(item.candidate));
        }
    });
    connect(w, &Workbench::budgetChanged, m_agent, &AgentPanel::setBudget);
    connect(w,
            &Workbench::runShown,
            this,
            [this](const session::RunRow& run, const std::vector<agent::TrajectoryItem>& items) {
                if (run.run.empty()) {
                    m_agent->clearRun();
                } else {
                    m_agent->setRun(run, items);
                }
            });
}

void MainWindow::wirePanels()
{
    connect(m_lists, &WorkListPanel::taskOpened, this, [this](const QString& key) {
        if (!m_workbench.task() || qs(m_workbench.task()->row.key) != key) {
            saveDraftNow();
            m_workbench.openTask(key);
        }
    });
    const auto openByHand = [this](const QString& id) {
        m_follows = false;
        openCandidate(id);
    };
    connect(m_lists, &WorkListPanel::candidateOpened, this, openByHand);
    connect(
        m_lists, &WorkListPanel::candidateMenu, this, [this](const QString& id, const QPoint& at) {
            openCandidate(id);
            QMenu menu(this);
            for (const char* action : {"candidate.run",
                                       "candidate.acceptTier",
                                       "candidate.compare",
                                       "candidate.pin",
                                       "candidate.accept",
                                       "candidate.export",
                                       "agent.start"}) {
                menu.addAction(m_actions->action(QString::fromLatin1(action)));
            }
            menu.exec(at);
        });
    connect(m_candidate, &CandidatePane::edited, this, [this] {
        const bool changed = m_candidate->isChanged();
        m_follows = m_follows && !changed;
        m_lists->setUnsaved(changed && m_workbench.candidate() != nullptr
                                ? m_workbench.candidate()->id
                                : CandidateId());
        m_draftTimer->start();
    });
    // Two versions of the candidate need the room of the reference.
    connect(m_candidate, &CandidatePane::comparingChanged, m_reference, [this](bool comparing) {
        m_reference->setVisible(!comparing);
    });
    m_draftTimer->setSingleShot(true);
    m_draftTimer->setInterval(500);
    connect(m_draftTimer, &QTimer::timeout, this, &MainWindow::saveDraftNow);
    connect(m_strip, &ResultStrip::numberClicked, this, &MainWindow::showCard);
    connect(m_evidence, &EvaluationPanel::problemActivated, m_candidate, &CandidatePane::goTo);
    connect(m_agent, &AgentPanel::candidateOpened, this, openByHand);
    connect(m_agent, &AgentPanel::forked, this, [this](const QString& id) {
        openCandidate(id);
        m_candidate->focusEditor();
    });
    connect(m_agent, &AgentPanel::steered, &m_workbench, &Workbench::steer);
    connect(m_agent, &AgentPanel::providerChanged, this, [this](const QString& name) {
        m_status->setModel(name);
        m_actions->refresh();
    });
    connect(m_top, &TopBar::variantChosen, &m_workbench, &Workbench::setVariant);
    connect(m_status,
            &StatusPanel::cancelClicked,
            m_actions->action(QStringLiteral("all.stop")),
            &QAction::trigger);
    connect(new StopKey(this), &StopKey::pressedTwice, this, [this] { m_workbench.stop(); });
    // Each step restyles every widget, so that input is handled between them; painted is once.
    connect(&m_theme, &Theme::changed, this, [this] {
        m_workbench.settings().setValue(QStringLiteral("window/dark"), m_theme.isDark());
        setUpdatesEnabled(false);
        QTimer::singleShot(0, this, [this] {
            m_theme.applyPaletteTo(*qApp);
            QTimer::singleShot(0, this, [this] {
                m_theme.applySheetTo(*qApp);
                setUpdatesEnabled(true);
            });
        });
    });
}

} // namespace lathe::ui
