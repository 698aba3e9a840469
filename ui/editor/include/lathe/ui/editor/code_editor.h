// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>

#include <memory>
#include <vector>

class QsciScintilla;

namespace lathe::ui {

class Theme;

enum class Language { Python, Cpp, Plain };
/// By the file name's suffix (.py; .cpp .cu .h ...).
Language languageOf(const QString& path);

/// One finding at a line of the text, shown beneath it.
struct EditorProblem
{
    int line = 0;     ///< from 1
    QString severity; ///< "error", "warning", "note"
    QString message;
    bool operator==(const EditorProblem&) const = default;
};

enum class LineMark { None, Added, Removed, Changed };

/// A code editor in the theme's colours. Wraps QScintilla, which is not visible outside ui/editor.
/// GUI thread.
class CodeEditor : public QWidget
{
    Q_OBJECT
public:
    CodeEditor(const Theme& theme, Language language, QWidget* parent = nullptr);
    ~CodeEditor() override;

    void setText(const QString& text); ///< not undoable; clears the modified mark and emits nothing
    /// Replaces the text as one undoable edit, keeping the scroll position; emits textEdited.
    void replaceText(const QString& text);
    [[nodiscard]] QString text() const;
    void setReadOnly(bool readOnly);
    void setProblems(const std::vector<EditorProblem>& problems);
    [[nodiscard]] int problemCount() const;
    /// The text shown beneath the line (from 1); empty when there is none.
    [[nodiscard]] QString problemTextAt(int line) const;
    void goTo(int line, int column = 1);

    /// Line backgrounds for a diff (one per line), and blank rows beneath lines so that two sides
    /// stay level.
    void setLineMarks(const std::vector<LineMark>& marks);
    void setFillersBelow(const std::vector<int>& rowsBelowLine);
    [[nodiscard]] int firstVisibleRow() const;
    void setFirstVisibleRow(int row);

Q_SIGNALS:
    void textEdited();
    void scrolled(int firstVisibleRow);

protected:
    void focusInEvent(QFocusEvent* event) override;

private:
    void applyTheme();
    void showProblems();
    const Theme& m_theme;
    Language m_language;
    QsciScintilla* m_view = nullptr;
    std::vector<EditorProblem> m_problems;
    bool m_quiet = false;
};

} // namespace lathe::ui
