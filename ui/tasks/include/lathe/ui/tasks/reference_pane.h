// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>

class QStackedWidget;
class QTabBar;
class QTextBrowser;

namespace lathe::ui {

class CodeEditor;
class Theme;

/// The reference and the task's notes, read-only, left of the candidate.
class ReferencePane : public QWidget
{
    Q_OBJECT
public:
    explicit ReferencePane(const Theme& theme, QWidget* parent = nullptr);
    void setTask(const QString& source, const QString& notes);
    void showNotes(bool notes);

private:
    QTabBar* m_tabs;
    QStackedWidget* m_pages;
    CodeEditor* m_reference;
    QTextBrowser* m_notes;
};

} // namespace lathe::ui
