// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QKeySequence>
#include <QObject>
#include <QString>

#include <functional>
#include <vector>

class QAction;
class QMenu;
class QWidget;

namespace lathe::ui {

/// One thing a person can do. Registered once; menu, toolbar, command palette and shortcut sheet
/// read it from here.
struct ActionEntry
{
    QString id;    ///< "candidate.run"
    QString group; ///< menu it belongs to
    QAction* action = nullptr;
    QString keys; ///< what the sheet shows
    std::function<bool()> enabledWhen;
};

class ActionRegistry : public QObject
{
    Q_OBJECT
public:
    /// Shortcuts work anywhere in the owner's window.
    explicit ActionRegistry(QWidget* owner);

    QAction* add(const QString& id,
                 const QString& group,
                 const QString& text,
                 const QKeySequence& keys,
                 std::function<void()> run,
                 std::function<bool()> enabledWhen = {});
    /// A key that the sheet shows and something else handles (Esc Esc).
    void setShownKeys(const QString& id, const QString& keys);
    [[nodiscard]] QAction* action(const QString& id) const;
    [[nodiscard]] const std::vector<ActionEntry>& entries() const { return m_entries; }
    void fillMenu(QMenu& menu) const; ///< one submenu a group, in the order of registration
    void refresh();                   ///< asks every action whether it is enabled now

private:
    QWidget* m_owner;
    std::vector<ActionEntry> m_entries;
};

} // namespace lathe::ui
