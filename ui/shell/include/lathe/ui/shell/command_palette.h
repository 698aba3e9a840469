// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QDialog>
#include <QString>

#include <functional>
#include <vector>

class QLineEdit;
class QListWidget;

namespace lathe::ui {

class ActionRegistry;
class Theme;

/// Something the palette can do or open.
struct PaletteEntry
{
    QString text;
    QString hint; ///< shortcut, or what kind of thing it is
    std::function<void()> run;
};

/// Type to find an action, a task or a candidate; Enter does it.
class CommandPalette : public QDialog
{
    Q_OBJECT
public:
    CommandPalette(const Theme& theme, std::vector<PaletteEntry> entries, QWidget* parent);
    static std::vector<PaletteEntry> entriesOf(const ActionRegistry& actions);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void filter(const QString& text);
    void choose();
    const Theme& m_theme;
    std::vector<PaletteEntry> m_entries;
    QLineEdit* m_field;
    QListWidget* m_list;
};

/// Every action with its key.
class ShortcutSheet : public QDialog
{
    Q_OBJECT
public:
    ShortcutSheet(const Theme& theme, const ActionRegistry& actions, QWidget* parent);
};

} // namespace lathe::ui
