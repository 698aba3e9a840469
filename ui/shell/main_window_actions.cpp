// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/candidates/candidate_pane.h>
#include <lathe/ui/candidates/work_list_panel.h>
#include <lathe/ui/evaluation/evaluation_panel.h>
#include <lathe/ui/shell/action_registry.h>
#include <lathe/ui/shell/command_palette.h>
#include <lathe/ui/shell/main_window.h>
#include <lathe/ui/shell/workbench.h>
#include <lathe/ui/tasks/reference_pane.h>
#include <lathe/ui/trajectory/agent_panel.h>

#include <QAction>
#include <QDockWidget>

namespace lathe::ui {

// One table: what can be done, where it is found, its key, and when it is possible.
void MainWindow::registerActions()
{
    const auto add = [this](const char* id,
                            const char* group,
                            const QString& text,
                            const QKeySequence& keys,
                            std::function<void()> run,
                            std::function<bool()> when = {}) {
        return m_actions->add(QString::fromLatin1(id),
                              QString::fromLatin1(group),
                              text,
                              keys,
                              std::move(run),
                              std::move(when));
    };
    const auto taskOpen = [this] { return m_workbench.task().has_value(); };
    const auto judged = [this] {
        return m_workbench.candidate() != nullptr && m_workbench.result()
               && m_workbench.result()->finished;
    };
    const auto open = [this] { return m_workbench.candidate() != nullptr; };
    const auto hasParent = [this] { return m_workbench.parentCandidate() != nullptr; };
    add(
        "candidate.run",
        "Candidate",
        QStringLiteral("Run"),
        Qt::Key_F5,
        [this] { runEditor(); },
        taskOpen);
    add(
        "candidate.acceptTier",
        "Candidate",
        QStringLiteral("Run the accept tier"),
        QKeySequence(QStringLiteral("Shift+F5")),
        [this] { m_workbench.evaluateOpen(protocol::Tier::Accept); },
        open);
    add(
        "candidate.accept",
        "Candidate",
        QStringLiteral("Accept…"),
        QKeySequence(QStringLiteral("Ctrl+Return")),
        [this] { showAccept(); },
        judged);
    add(
        "candidate.export",
        "Candidate",
        QStringLiteral("Export…"),
        QKeySequence(),
        [this] { showExport(); },
        open);
    m_actions->action(QStringLiteral("candidate.export"))
        ->setShortcut(QKeySequence(QStringLiteral("Ctrl+Shift+E")));
    m_actions->setShownKeys(QStringLiteral("candidate.accept"), QStringLiteral("Ctrl+Return"));
    add(
        "candidate.pin",
        "Candidate",
        QStringLiteral("Pin as baseline"),
        QKeySequence(QStringLiteral("Ctrl+Shift+B")),
        [this] { m_workbench.pinOpen(); },
        open);
    add(
        "candidate.compare",
        "Candidate",
        QStringLiteral("Compare with its parent"),
        QKeySequence(QStringLiteral("Ctrl+D")),
        [this] { m_candidate->showCompare(!m_candidate->comparing()); },
        hasParent);
    add(
        "candidate.nextChange",
        "Candidate",
        QStringLiteral("Next change"),
        QKeySequence(QStringLiteral("Alt+Down")),
        [this] { m_candidate->nextChange(1); },
        hasParent);
    add(
        "candidate.previousChange",
        "Candidate",
        QStringLiteral("Previous change"),
        QKeySequence(QStringLiteral("Alt+Up")),
        [this] { m_candidate->nextChange(-1); },
        hasParent);
    add(
        "candidate.card",
        "Candidate",
        QStringLiteral("How the number was measured"),
        QKeySequence(QStringLiteral("Ctrl+I")),
        [this] { showCard(); },
        judged);
    add(
        "candidate.addShipped",
        "Candidate",
        QStringLiteral("Add the task's shipped solutions"),
        QKeySequence(),
        [this] { m_workbench.addShippedSolutions(); },
        [this] { return m_workbench.task() && !m_workbench.task()->task.solutions.empty(); });
    add(
        "agent.start",
        "Agent",
        QStringLiteral("Start agent"),
        Qt::Key_F6,
        [this] { startAgent(); },
        [this, taskOpen] {
            return taskOpen() && !m_workbench.agentRunning() && m_agent != nullptr
                   && !m_agent->provider().isEmpty();
        });
    add(
        "all.stop",
        "Agent",
        QStringLiteral("Stop"),
        QKeySequence(),
        [this] { m_workbench.stop(); },
        [this] { return m_workbench.evaluating() || m_workbench.agentRunning(); });
    m_actions->setShownKeys(QStringLiteral("all.stop"), QStringLiteral("Esc Esc"));
}

void MainWindow::registerViewActions()
{
    const auto add =
        [this](const char* id, const QString& text, const char* keys, std::function<void()> run) {
            m_actions->add(QString::fromLatin1(id),
                           QStringLiteral("View"),
                           text,
                           QKeySequence(QString::fromLatin1(keys)),
                           std::move(run));
        };
    add("view.palette", QStringLiteral("Command palette"), "Ctrl+Shift+P", [this] {
        showPalette();
    });
    add("view.editor", QStringLiteral("Candidate editor"), "Ctrl+1", [this] {
        m_candidate->showCompare(false);
        m_candidate->focusEditor();
    });
    add("view.tasks", QStringLiteral("Tasks"), "Ctrl+2", [this] { m_lists->focusTasks(); });
    add("view.candidates", QStringLiteral("Candidates"), "Ctrl+3", [this] {
        m_lists->focusCandidates();
    });
    add("view.notes", QStringLiteral("Notes of the task"), "Ctrl+4", [this] {
        m_reference->showNotes(true);
    });
    int number = 5;
    for (const char* tab : {"Timeline", "Benchmark", "Gates", "Build log", "Problems"}) {
        const QString title = QString::fromLatin1(tab);
        const QByteArray id = "view.tab" + QByteArray::number(number);
        const QByteArray keys = "Ctrl+" + QByteArray::number(number);
        add(id.constData(), title, keys.constData(), [this, title] {
            m_bottomDock->show();
            m_evidence->showTab(title);
        });
        ++number;
    }
    add("view.left", QStringLiteral("Show or hide tasks and candidates"), "Ctrl+B", [this] {
        m_leftDock->setVisible(!m_leftDock->isVisible());
    });
    add("view.bottom", QStringLiteral("Show or hide evidence"), "Ctrl+J", [this] {
        m_bottomDock->setVisible(!m_bottomDock->isVisible());
    });
    add("view.right", QStringLiteral("Show or hide the agent"), "Ctrl+Alt+B", [this] {
        m_rightDock->setVisible(!m_rightDock->isVisible());
    });
    add("view.theme", QStringLiteral("Dark or light"), "Ctrl+Shift+L", [this] {
        m_theme.setDark(!m_theme.isDark());
    });
    add("view.shortcuts", QStringLiteral("Shortcuts"), "F1", [this] {
        (new ShortcutSheet(m_theme, *m_actions, this))->open();
    });
    // Editors and fields take a typed question mark for themselves; elsewhere it opens the sheet
    // too.
    m_actions->action(QStringLiteral("view.shortcuts"))
        ->setShortcuts({QKeySequence(Qt::Key_F1), QKeySequence(Qt::Key_Question)});
    m_actions->setShownKeys(QStringLiteral("view.shortcuts"), QStringLiteral("F1 or ?"));
    add("view.quit", QStringLiteral("Quit"), "Ctrl+Q", [this] { close(); });
}

} // namespace lathe::ui
