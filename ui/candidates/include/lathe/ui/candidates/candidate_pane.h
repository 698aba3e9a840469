// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/protocol/types.h>

#include <QString>
#include <QWidget>

#include <vector>

class QStackedWidget;
class QTabBar;

namespace lathe::ui {

class CodeEditor;
class CompareView;
class Theme;

/// The open candidate: an editor per file, and the comparison with its parent. Knows whether the
/// text was changed.
class CandidatePane : public QWidget
{
    Q_OBJECT
public:
    explicit CandidatePane(const Theme& theme, QWidget* parent = nullptr);

    /// Opens a candidate's files. The file that was in front stays in front when the new candidate
    /// has it.
    void setCandidate(const QString& title, const std::vector<protocol::CandidateFile>& files);
    void setTitle(const QString& title);
    /// What the comparison shows on its left; an empty title hides the tab.
    void setParentFiles(const QString& title, const std::vector<protocol::CandidateFile>& files);
    /// Puts text into the editors as an edit of the open candidate (a restored draft).
    void restoreText(const std::vector<protocol::CandidateFile>& files);
    /// The editors' text is now the candidate's own (it was just run).
    void markUnchanged();

    [[nodiscard]] std::vector<protocol::CandidateFile> files() const;
    [[nodiscard]] bool isChanged() const;
    void setProblems(const std::vector<protocol::Diagnostic>& problems);
    void goTo(const QString& file, int line, int column);
    void showCompare(bool compare);
    [[nodiscard]] bool comparing() const;
    void nextChange(int direction);
    [[nodiscard]] CodeEditor* editorOf(const QString& path) const;
    [[nodiscard]] CodeEditor* currentEditor() const;
    void focusEditor();

Q_SIGNALS:
    void edited();
    void comparingChanged(bool comparing);

private:
    struct File
    {
        QString path;
        QString base; ///< text of the candidate as stored
        CodeEditor* editor;
    };
    void showFile(int index);
    void refreshCompare();
    const Theme& m_theme;
    QTabBar* m_tabs;
    QTabBar* m_fileTabs;
    QStackedWidget* m_pages;
    QStackedWidget* m_editors;
    CompareView* m_compare;
    std::vector<File> m_files;
    std::vector<protocol::CandidateFile> m_parentFiles;
    QString m_title;
    QString m_parentTitle;
};

/// True when a compiler's file name means this file of the candidate ("/tmp/x/kernels/a.cpp" and
/// "kernels/a.cpp").
bool sameFile(const QString& named, const QString& path);

} // namespace lathe::ui
