// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/adapters/session_adapter.h>

#include <QWidget>

class QAbstractItemModel;
class QLabel;
class QPlainTextEdit;
class QStackedWidget;
class QTabBar;
class QTableView;

namespace lathe::ui {

class BenchmarkModel;
class GatesModel;
class ProblemsModel;
class Theme;

/// The tabs beneath the editors: timeline, benchmark, gates, build log, problems of the open
/// candidate.
class EvaluationPanel : public QWidget
{
    Q_OBJECT
public:
    explicit EvaluationPanel(const Theme& theme, QWidget* parent = nullptr);

    /// Shows a snapshot (null: nothing). Selections and scroll positions survive a re-benchmark.
    void setResult(const EvaluationPtr& result);
    /// Puts a view in front of the other tabs (the timeline).
    void addFirstTab(const QString& title, QWidget* view);
    void showTab(const QString& title);
    void setNote(const QString& note);

Q_SIGNALS:
    void problemActivated(const QString& file, int line, int column);
    void tabChanged(const QString& title);

private:
    QTableView* makeTable(QAbstractItemModel* model, const QString& name);
    void addTab(const QString& title, QWidget* view);
    const Theme& m_theme;
    QTabBar* m_tabs;
    QStackedWidget* m_stack;
    QLabel* m_note;
    BenchmarkModel* m_benchmark;
    GatesModel* m_gates;
    ProblemsModel* m_problems;
    QPlainTextEdit* m_log = nullptr;
    std::size_t m_logShown = 0;
    std::string m_logOf;
};

/// The problems an evaluation names: compiler findings, then warnings.
std::vector<protocol::Diagnostic> problemsOf(const evaluation::EvaluationResult& result);

} // namespace lathe::ui
