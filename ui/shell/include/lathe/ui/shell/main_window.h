// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/adapters/session_adapter.h>
#include <lathe/ui/evaluation/pin_answer.h>
#include <lathe/ui/style/theme.h>

#include <QMainWindow>

#include <optional>

class QDockWidget;
class QSplitter;
class QTimer;

namespace lathe::ui {

class ActionRegistry;
class AgentPanel;
class CandidatePane;
class EvaluationPanel;
class ReferencePane;
class ResultStrip;
class StatusPanel;
class TimelinePanel;
class TopBar;
class WorkListPanel;
class Workbench;

/// The one window: composes the panels and wires them to the workbench's state. GUI thread.
class MainWindow : public QMainWindow
{
    Q_OBJECT
public:
    MainWindow(Theme& theme, Workbench& workbench, QWidget* parent = nullptr);
    ~MainWindow() override;

    [[nodiscard]] ActionRegistry& actions() { return *m_actions; }

Q_SIGNALS:
    void painted(); ///< the first time the window was drawn

protected:
    void closeEvent(QCloseEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    void registerActions();
    void registerViewActions();
    void build();
    QDockWidget* addDock(const QString& id, Qt::DockWidgetArea area, QWidget* content);
    void wireWorkbench();
    void wirePanels();
    void restoreLayout();
    void saveLayout();

    void showCandidate(const std::vector<protocol::CandidateFile>& files);
    void showResult();
    void showActivity();
    [[nodiscard]] std::optional<PinAnswer> againstPin() const;
    void runEditor();
    void startAgent();
    void openCandidate(const QString& id);
    void saveDraftNow();
    void showCard();
    void showAccept();
    void showExport();
    void showPalette();

    Theme& m_theme;
    Workbench& m_workbench;
    ActionRegistry* m_actions;
    TopBar* m_top = nullptr;
    WorkListPanel* m_lists = nullptr;
    ReferencePane* m_reference = nullptr;
    CandidatePane* m_candidate = nullptr;
    ResultStrip* m_strip = nullptr;
    EvaluationPanel* m_evidence = nullptr;
    TimelinePanel* m_timeline = nullptr;
    AgentPanel* m_agent = nullptr;
    StatusPanel* m_status = nullptr;
    QSplitter* m_editors = nullptr;
    QDockWidget* m_leftDock = nullptr;
    QDockWidget* m_bottomDock = nullptr;
    QDockWidget* m_rightDock = nullptr;
    QTimer* m_draftTimer = nullptr;
    bool m_painted = false;
    bool m_follows = false; ///< what the agent makes is opened as it comes, until a person opens or
                            ///< edits something
};

} // namespace lathe::ui
