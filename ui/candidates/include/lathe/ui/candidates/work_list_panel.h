// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>

#include <QWidget>

#include <vector>

class QListView;
class QTreeView;

namespace lathe::ui {

class CandidateModel;
class SectionHeader;
class SpeedupChart;
class TaskModel;
class Theme;

/// Left of the editors: the tasks, the candidate tree of the open task, and how the candidates
/// developed.
class WorkListPanel : public QWidget
{
    Q_OBJECT
public:
    explicit WorkListPanel(const Theme& theme, QWidget* parent = nullptr);

    void setTasks(const std::vector<session::TaskRow>& tasks);
    void setCurrentTask(const QString& key);
    void setCandidates(const std::vector<session::CandidateRow>& rows);
    void setOpenCandidate(const CandidateId& candidate);
    void setUnsaved(const CandidateId& parent);
    void focusTasks();
    void focusCandidates();
    [[nodiscard]] CandidateModel& candidateModel() { return *m_candidates; }
    [[nodiscard]] TaskModel& taskModel() { return *m_tasks; }

Q_SIGNALS:
    void taskOpened(const QString& key);
    void candidateOpened(const QString& candidate);
    void candidateMenu(const QString& candidate, const QPoint& globalPosition);

private:
    TaskModel* m_tasks;
    CandidateModel* m_candidates;
    SectionHeader* m_taskHeader;
    SectionHeader* m_candidateHeader;
    QListView* m_taskView;
    QTreeView* m_candidateView;
    SpeedupChart* m_chart;
    std::vector<session::CandidateRow> m_rows;
    CandidateId m_open;
    bool m_quiet = false;
};

} // namespace lathe::ui
