// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/adapters/session_adapter.h>

#include <QString>
#include <QWidget>

class QLabel;

namespace lathe::ui {

class Theme;
class TimelineView;

/// Reference and candidate timelines of the open candidate's evaluation. Traces are parsed beside
/// the GUI thread.
class TimelinePanel : public QWidget
{
    Q_OBJECT
public:
    explicit TimelinePanel(const Theme& theme, QWidget* parent = nullptr);
    void setResult(const EvaluationPtr& result, const QString& candidateTitle);
    [[nodiscard]] const QString& note() const { return m_note; }

private:
    void applyColors();
    const Theme& m_theme;
    TimelineView* m_view;
    QLabel* m_empty;
    QString m_note;
    std::string m_shown; ///< evaluation and number of traces that the view holds
    std::uint64_t m_generation = 0;
};

} // namespace lathe::ui
