// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>
#include <QWidget>

#include <vector>

class QLabel;

namespace lathe::ui {

class CodeEditor;
class Theme;

/// Two texts side by side, kept level, changed lines marked, scrolled together.
class CompareView : public QWidget
{
    Q_OBJECT
public:
    explicit CompareView(const Theme& theme, QWidget* parent = nullptr);

    /// Rebuilds both sides; the scroll position is kept when the same file is shown again.
    void setTexts(const QString& path,
                  const QString& leftTitle,
                  const QString& left,
                  const QString& rightTitle,
                  const QString& right);
    void nextChange(int direction);
    void showFirstChange();
    [[nodiscard]] int changeCount() const { return static_cast<int>(m_changeRows.size()); }

private:
    void showRow(int row);

    const Theme& m_theme;
    QLabel* m_leftTitle;
    QLabel* m_rightTitle;
    QLabel* m_summary;
    CodeEditor* m_left = nullptr;
    CodeEditor* m_right = nullptr;
    QString m_path;
    std::vector<int> m_changeRows; ///< visible row of each changed run
};

} // namespace lathe::ui
