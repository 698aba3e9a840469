// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/shell/action_registry.h>

#include <QAction>
#include <QMenu>
#include <QWidget>

namespace lathe::ui {

ActionRegistry::ActionRegistry(QWidget* owner)
    : QObject(owner)
    , m_owner(owner)
{}

QAction* ActionRegistry::add(const QString& id,
                             const QString& group,
                             const QString& text,
                             const QKeySequence& keys,
                             std::function<void()> run,
                             std::function<bool()> enabledWhen)
{
    auto* action = new QAction(text, m_owner);
    action->setObjectName(id);
    action->setShortcutContext(Qt::WindowShortcut);
    if (!keys.isEmpty()) {
        action->setShortcut(keys);
        action->setProperty("keys", keys.toString(QKeySequence::PortableText));
    }
    connect(action, &QAction::triggered, m_owner, [run = std::move(run)] { run(); });
    m_owner->addAction(action);
    m_entries.push_back(
        {id, group, action, keys.toString(QKeySequence::PortableText), std::move(enabledWhen)});
    return action;
}

void ActionRegistry::setShownKeys(const QString& id, const QString& keys)
{
    for (ActionEntry& entry : m_entries) {
        if (entry.id == id) {
            entry.keys = keys;
            entry.action->setProperty("keys", keys);
        }
    }
}

QAction* ActionRegistry::action(const QString& id) const
{
    for (const ActionEntry& entry : m_entries) {
        if (entry.id == id) {
            return entry.action;
        }
    }
    return nullptr;
}

void ActionRegistry::fillMenu(QMenu& menu) const
{
    QMenu* current = nullptr;
    for (const ActionEntry& entry : m_entries) {
        if (current == nullptr || current->title() != entry.group) {
            current = nullptr;
            for (QAction* there : menu.actions()) {
                current = there->menu() != nullptr && there->text() == entry.group ? there->menu()
                                                                                   : current;
            }
            current = current != nullptr ? current : menu.addMenu(entry.group);
        }
        current->addAction(entry.action);
    }
}

void ActionRegistry::refresh()
{
    for (const ActionEntry& entry : m_entries) {
        if (entry.enabledWhen) {
            entry.action->setEnabled(entry.enabledWhen());
        }
    }
}

} // namespace lathe::ui
