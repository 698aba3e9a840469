// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/candidates/candidate_model.h>
#include <lathe/ui/candidates/candidate_pane.h>
#include <lathe/ui/candidates/work_list_panel.h>
#include <lathe/ui/evaluation/accept_dialog.h>
#include <lathe/ui/evaluation/believability_card.h>
#include <lathe/ui/evaluation/checklist.h>
#include <lathe/ui/evaluation/evaluation_panel.h>
#include <lathe/ui/evaluation/export_dialog.h>
#include <lathe/ui/evaluation/pin_answer.h>
#include <lathe/ui/evaluation/result_strip.h>
#include <lathe/ui/shell/action_registry.h>
#include <lathe/ui/shell/command_palette.h>
#include <lathe/ui/shell/main_window.h>
#include <lathe/ui/shell/status_panel.h>
#include <lathe/ui/shell/stop_key.h>
#include <lathe/ui/shell/stored_settings.h>
#include <lathe/ui/shell/timeline_panel.h>
#include <lathe/ui/shell/top_bar.h>
#include <lathe/ui/shell/workbench.h>
#include <lathe/ui/tasks/reference_pane.h>
#include <lathe/ui/trajectory/agent_panel.h>
#include <lathe/ui/widgets/small_widgets.h>

#include <QApplication>
#include <QCloseEvent>
#include <QDir>
#include <QDockWidget>
#include <QMenu>
#include <QSplitter>
#include <QTimer>
#include <QVBoxLayout>

#include <pwd.h>
#include <unistd.h>

namespace lathe::ui {

MainWindow::MainWindow(Theme& theme, Workbench& workbench, QWidget* parent)
    : QMainWindow(parent)
    , m_theme(theme)
    , m_workbench(workbench)
    , m_actions(new ActionRegistry(this))
    , m_draftTimer(new QTimer(this))
{
    setWindowTitle(QStringLiteral("Lathe"));
    setDockNestingEnabled(false);
    registerActions();
    registerViewActions();
    build();
    wireWorkbench();
    wirePanels();
    restoreLayout();
    m_actions->refresh();
}

MainWindow::~MainWindow() = default;

QDockWidget* MainWindow::addDock(const QString& id, Qt::DockWidgetArea area, QWidget* content)
{
    auto* dock = new QDockWidget(id, this);
    dock->setObjectName(id);
    dock->setTitleBarWidget(new QWidget(dock)); // the panels carry their own headers
    dock->setFeatures(QDockWidget::DockWidgetClosable);
    dock->setWidget(content);
    addDockWidget(area, dock);
    return dock;
}

void MainWindow::build()
{
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    m_top = new TopBar(m_theme, *m_actions, this);
    addToolBar(m_top);
    m_status = new StatusPanel(m_theme, this);
    setStatusBar(m_status);
    if (!m_theme.fontsFound()) {
        m_status->showNote(
            QStringLiteral("No fonts are installed: install fonts-inter and fonts-jetbrains-mono"),
            true);
    }
    m_strip = new ResultStrip(m_theme, this);
    m_reference = new ReferencePane(m_theme, this);
    m_candidate = new CandidatePane(m_theme, this);
    m_editors = new QSplitter(Qt::Horizontal, this);
    m_editors->setHandleWidth(1);
    m_editors->setChildrenCollapsible(false);
    m_editors->addWidget(m_reference);
    m_editors->addWidget(m_candidate);
    m_editors->setSizes({500, 500});
    auto* centre = new QWidget(this);
    auto* rows = new QVBoxLayout(centre);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(0);
    rows->addWidget(m_strip);
    rows->addWidget(new Hairline(Qt::Horizontal, centre));
    rows->addWidget(m_editors, 1);
    setCentralWidget(centre);
    m_lists = new WorkListPanel(m_theme, this);
    m_agent = new AgentPanel(m_theme,
                             m_actions->action(QStringLiteral("agent.start")),
                             m_actions->action(QStringLiteral("all.stop")),
                             this);
    m_evidence = new EvaluationPanel(m_theme, this);
    m_timeline = new TimelinePanel(m_theme, this);
    m_evidence->addFirstTab(QStringLiteral("Timeline"), m_timeline);
    m_leftDock = addDock(QStringLiteral("Tasks and candidates"), Qt::LeftDockWidgetArea, m_lists);
    m_rightDock = addDock(QStringLiteral("Agent"), Qt::RightDockWidgetArea, m_agent);
    m_bottomDock = addDock(QStringLiteral("Evidence"), Qt::BottomDockWidgetArea, m_evidence);
    resizeDocks({m_leftDock, m_rightDock}, {272, 356}, Qt::Horizontal);
    resizeDocks({m_bottomDock}, {330}, Qt::Vertical);
}

void MainWindow::showCandidate(const std::vector<protocol::CandidateFile>& files)
{
    const auto* row = m_workbench.candidate();
    m_candidate->setCandidate(row != nullptr
                                  ? QStringLiteral("%1 %2").arg(row->number).arg(qs(row->label))
                                  : QStringLiteral("new candidate"),
                              files);
    m_lists->setUnsaved({});
    if (m_workbench.result()) {
        m_candidate->setProblems(problemsOf(*m_workbench.result()));
    }
    m_actions->refresh();
}

void MainWindow::showResult()
{
    const EvaluationPtr& result = m_workbench.result();
    const auto* parent = m_workbench.parentCandidate();
    if (result) {
        StripContent strip =
            describe(*result,
                     m_workbench.parentResult().get(),
                     parent == nullptr ? QStringLiteral("its parent")
                                       : QStringLiteral("candidate %1").arg(parent->number));
        if (const auto pin = againstPin()) {
            strip.vsPin = pin->answer;
        }
        if (const auto& running = m_workbench.running()) {
            strip.running = true;
            strip.stage = QStringLiteral("%1 tier: %2")
                              .arg(QString::fromLatin1(protocol::toString(running->tier)),
                                   qs(running->stage));
        }
        m_strip->show(strip);
        if (!m_candidate->isChanged()) {
            m_candidate->setProblems(problemsOf(*result));
        }
    } else {
        m_strip->showNothing(
            m_workbench.evaluating()
                ? QStringLiteral("starting")
                : QStringLiteral("Run (F5) builds, verifies and measures the text in the editor"));
    }
    m_evidence->setResult(result);
    const auto* row = m_workbench.candidate();
    m_timeline->setResult(
        result, row == nullptr ? QString() : QStringLiteral("candidate %1").arg(row->number));
    m_evidence->setNote(m_timeline->note());
    showActivity();
}

void MainWindow::showActivity()
{
    m_agent->setRunning(m_workbench.agentRunning());
    const EvaluationPtr& running = m_workbench.running();
    if (running) {
        m_status->setJob(
            QStringLiteral("%1 tier: %2")
                .arg(QString::fromLatin1(protocol::toString(running->tier)), qs(running->stage)),
            -1);
    } else if (m_workbench.evaluating()) {
        m_status->setJob(QStringLiteral("evaluating"), -1);
    } else {
        m_status->setJob(m_workbench.agentRunning() ? QStringLiteral("agent running") : QString(),
                         -1);
    }
    m_actions->refresh();
}

std::optional<PinAnswer> MainWindow::againstPin() const
{
    const auto* pinned = m_workbench.pinnedCandidate();
    const auto* open = m_workbench.candidate();
    if (pinned == nullptr || open == nullptr || pinned->id == open->id || !m_workbench.result()) {
        return std::nullopt;
    }
    const auto* parent = m_workbench.parentCandidate();
    const QString name = QStringLiteral("pinned candidate %1").arg(pinned->number);
    if (parent != nullptr && parent->id == pinned->id) {
        return timedAgainstPin(*m_workbench.result(), name);
    }
    return m_workbench.pinResult()
               ? storedAgainstPin(*m_workbench.result(), *m_workbench.pinResult(), name)
               : std::nullopt;
}

void MainWindow::runEditor()
{
    m_draftTimer->stop();
    m_candidate->showCompare(m_candidate->comparing());
    m_workbench.run(m_candidate->files(), m_candidate->isChanged());
}

void MainWindow::startAgent()
{
    saveDraftNow();
    // A recording begins where it was recorded: at the task's skeleton.
    m_follows = !m_candidate->isChanged();
    const bool replay = m_agent->provider().startsWith(QLatin1String("replay"));
    m_workbench.startAgent(m_agent->provider(), !replay);
}

void MainWindow::openCandidate(const QString& id)
{
    const CandidateId candidate(id.toStdString());
    if (m_workbench.candidate() != nullptr && m_workbench.candidate()->id == candidate) {
        return;
    }
    m_draftTimer->stop();
    if (m_candidate->isChanged()) {
        m_workbench.keepUnrun(m_candidate->files());
        m_candidate->markUnchanged(); // kept: a quick second step must not keep it again
    }
    m_workbench.openCandidate(candidate);
}

void MainWindow::saveDraftNow()
{
    m_draftTimer->stop();
    if (m_candidate->isChanged()) {
        m_workbench.saveDraft(m_candidate->files());
    } else {
        m_workbench.discardDraft();
    }
}

void MainWindow::showCard()
{
    if (m_workbench.result()) {
        const auto pin = againstPin();
        (new BelievabilityCard(
             m_theme, cardRows(*m_workbench.result(), pin ? &*pin : nullptr), this))
            ->showAt(m_strip->mapToGlobal(QPoint(m_strip->width() / 3, m_strip->height())));
    }
}

void MainWindow::showAccept()
{
    const auto* row = m_workbench.candidate();
    const passwd* account = getpwuid(getuid());
    const QString signer =
        account != nullptr ? QString::fromLocal8Bit(account->pw_name) : QStringLiteral("this user");
    auto* dialog = new AcceptDialog(m_theme, *row, m_workbench.result(), signer, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog, &AcceptDialog::acceptRequested, &m_workbench, &Workbench::accept);
    connect(dialog, &AcceptDialog::withdrawRequested, &m_workbench, &Workbench::withdraw);
    dialog->open();
}

void MainWindow::showExport()
{
    const auto* row = m_workbench.candidate();
    const QString folder = m_workbench.settings()
                               .value(QStringLiteral("export/folder"),
                                      QDir::homePath() + QStringLiteral("/lathe-export"))
                               .toString();
    auto* dialog = new ExportDialog(
        QStringLiteral("%1 %2").arg(row->number).arg(qs(row->label)), folder, this);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog,
            &ExportDialog::exportRequested,
            this,
            [this](const QString& format, const QString& place) {
                m_workbench.settings().setValue(QStringLiteral("export/folder"), place);
                m_workbench.exportOpen(format, place);
            });
    dialog->open();
}

void MainWindow::showPalette()
{
    std::vector<PaletteEntry> entries = CommandPalette::entriesOf(*m_actions);
    for (const auto& task : m_workbench.tasks()) {
        const QString key = qs(task.key);
        entries.push_back(
            {key, QStringLiteral("task"), [this, key] { m_workbench.openTask(key); }});
    }
    for (const auto& row : m_workbench.candidates()) {
        const QString id = qs(row.id.text());
        entries.push_back({QStringLiteral("candidate %1: %2").arg(row.number).arg(qs(row.label)),
                           CandidateModel::look(row).right,
                           [this, id] { openCandidate(id); }});
    }
    auto* palette = new CommandPalette(m_theme, std::move(entries), this);
    palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, 44)));
    palette->show();
}

void MainWindow::restoreLayout()
{
    const StoredSettings& settings = m_workbench.settings();
    resize(1680, 1050);
    restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray());
    restoreState(settings.value(QStringLiteral("window/state")).toByteArray());
    m_editors->restoreState(settings.value(QStringLiteral("window/editors")).toByteArray());
    m_agent->chooseProvider(settings.value(QStringLiteral("agent/provider")).toString());
}

void MainWindow::saveLayout()
{
    StoredSettings& settings = m_workbench.settings();
    settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
    settings.setValue(QStringLiteral("window/state"), saveState());
    settings.setValue(QStringLiteral("window/editors"), m_editors->saveState());
    settings.setValue(QStringLiteral("agent/provider"), m_agent->provider());
    settings.flush();
}

void MainWindow::closeEvent(QCloseEvent* event)
{
    saveDraftNow();
    saveLayout();
    m_workbench.stop();
    event->accept();
}

void MainWindow::paintEvent(QPaintEvent* event)
{
    QMainWindow::paintEvent(event);
    if (!m_painted) {
        m_painted = true;
        QTimer::singleShot(0, this, [this] { Q_EMIT painted(); });
    }
}

} // namespace lathe::ui
