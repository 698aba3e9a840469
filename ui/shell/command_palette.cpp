// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/shell/action_registry.h>
#include <lathe/ui/shell/command_palette.h>
#include <lathe/ui/style/theme.h>
#include <lathe/ui/tasks/task_model.h>
#include <lathe/ui/widgets/row_delegate.h>

#include <QAction>
#include <QGridLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QVBoxLayout>

namespace lathe::ui {
namespace {

bool matches(const QString& text, const QString& typed)
{
    for (const QString& word : typed.split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        if (!text.contains(word, Qt::CaseInsensitive)) {
            return false;
        }
    }
    return true;
}

} // namespace

CommandPalette::CommandPalette(const Theme& theme,
                               std::vector<PaletteEntry> entries,
                               QWidget* parent)
    : QDialog(parent, Qt::Popup)
    , m_theme(theme)
    , m_entries(std::move(entries))
    , m_field(new QLineEdit(this))
    , m_list(new QListWidget(this))
{
    setObjectName(QStringLiteral("palette"));
    setStyleSheet(QStringLiteral("QDialog#palette { border: 1px solid %1; }")
                      .arg(theme.palette().line.name()));
    setAttribute(Qt::WA_DeleteOnClose);
    setAccessibleName(QStringLiteral("Command palette"));
    auto* rows = new QVBoxLayout(this);
    rows->setContentsMargins(8, 8, 8, 8);
    m_field->setPlaceholderText(QStringLiteral("Commands, tasks, candidates"));
    m_field->setAccessibleName(QStringLiteral("Find a command"));
    m_field->installEventFilter(this);
    m_list->setItemDelegate(new RowDelegate(theme, m_list));
    m_list->setAccessibleName(QStringLiteral("Commands"));
    rows->addWidget(m_field);
    rows->addWidget(m_list);
    resize(560, 420);
    connect(m_field, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_field, &QLineEdit::returnPressed, this, &CommandPalette::choose);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::choose);
    filter(QString());
    m_field->setFocus();
}

std::vector<PaletteEntry> CommandPalette::entriesOf(const ActionRegistry& actions)
{
    std::vector<PaletteEntry> entries;
    for (const ActionEntry& entry : actions.entries()) {
        if (entry.action->isEnabled()) {
            QAction* action = entry.action;
            entries.push_back({entry.group + QStringLiteral(": ") + action->text(),
                               entry.keys,
                               [action] { action->trigger(); }});
        }
    }
    return entries;
}

void CommandPalette::filter(const QString& text)
{
    m_list->clear();
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        if (matches(m_entries[i].text, text)) {
            auto* item = new QListWidgetItem(m_entries[i].text, m_list);
            item->setData(Qt::UserRole, static_cast<int>(i));
            item->setData(RightRole, m_entries[i].hint);
            item->setData(RightToneRole, static_cast<int>(Tone::Muted));
        }
    }
    m_list->setCurrentRow(0);
}

void CommandPalette::choose()
{
    const QListWidgetItem* item = m_list->currentItem();
    if (item == nullptr) {
        return;
    }
    const auto run = m_entries[static_cast<std::size_t>(item->data(Qt::UserRole).toInt())].run;
    close();
    run();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        if (key == Qt::Key_Down || key == Qt::Key_Up) {
            const int step = key == Qt::Key_Down ? 1 : -1;
            m_list->setCurrentRow(qBound(0, m_list->currentRow() + step, m_list->count() - 1));
            return true;
        }
    }
    return QDialog::eventFilter(watched, event);
}

ShortcutSheet::ShortcutSheet(const Theme& theme, const ActionRegistry& actions, QWidget* parent)
    : QDialog(parent)
{
    setWindowTitle(QStringLiteral("Shortcuts"));
    setAttribute(Qt::WA_DeleteOnClose);
    auto* grid = new QGridLayout(this);
    grid->setContentsMargins(20, 16, 20, 18);
    grid->setHorizontalSpacing(28);
    grid->setVerticalSpacing(6);
    int row = 0;
    int column = 0;
    QString group;
    for (const ActionEntry& entry : actions.entries()) {
        if (entry.keys.isEmpty()) {
            continue;
        }
        if (entry.group != group) {
            group = entry.group;
            if (row > 14) {
                row = 0;
                column += 2;
            }
            auto* head = new QLabel(group, this);
            head->setObjectName(QStringLiteral("section"));
            grid->addWidget(head, row++, column, 1, 2);
        }
        auto* keys = new QLabel(entry.keys, this);
        keys->setStyleSheet(QStringLiteral("font-family: '%1'; font-size: 12px; color: %2")
                                .arg(theme.codeFont().family(), theme.palette().text2.name()));
        grid->addWidget(new QLabel(entry.action->text(), this), row, column);
        grid->addWidget(keys, row++, column + 1);
    }
}

} // namespace lathe::ui
