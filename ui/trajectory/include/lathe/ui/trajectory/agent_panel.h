// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>

#include <QWidget>

#include <vector>

class QLabel;
class QListView;
class QPlainTextEdit;
class QPushButton;
class QAction;

namespace lathe::ui {

class Meter;
class PickButton;
class SectionHeader;
class StageBar;
class Theme;
class TrajectoryModel;

/// The agent beside the editors: who plays the model, its steps as they come, budgets, and a box to
/// steer it.
class AgentPanel : public QWidget
{
    Q_OBJECT
public:
    AgentPanel(const Theme& theme, QAction* start, QAction* stop, QWidget* parent = nullptr);

    void setProviders(const std::vector<session::Session::ProviderRow>& providers);
    [[nodiscard]] QString provider() const { return m_provider; }
    void chooseProvider(const QString& name);
    void setRun(const session::RunRow& run, const std::vector<agent::TrajectoryItem>& items);
    void clearRun();
    void add(const agent::TrajectoryItem& item);
    void setBudget(const agent::AgentBudget& budget);
    void setRunning(bool running);
    [[nodiscard]] const TrajectoryModel& model() const { return *m_model; }

Q_SIGNALS:
    void candidateOpened(const QString& candidate);
    void forked(const QString& candidate);
    void steered(const QString& message);
    void providerChanged(const QString& name);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void openStep(const QModelIndex& index);
    void showChoices(const QModelIndex& index);
    void refreshStages();
    const Theme& m_theme;
    TrajectoryModel* m_model;
    SectionHeader* m_header;
    PickButton* m_pick;
    StageBar* m_stages;
    QLabel* m_stepText;
    Meter* m_stepMeter;
    QLabel* m_tokenText;
    Meter* m_tokenMeter;
    QListView* m_steps;
    QLabel* m_empty;
    QWidget* m_choices;
    QPushButton* m_open;
    QPushButton* m_fork;
    QPlainTextEdit* m_message;
    QString m_provider;
    bool m_running = false;
    std::vector<session::Session::ProviderRow> m_providers;
};

} // namespace lathe::ui
