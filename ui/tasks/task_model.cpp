// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/tasks/task_model.h>

#include <algorithm>

namespace lathe::ui {

void TaskModel::setTasks(std::vector<session::TaskRow> tasks)
{
    const bool sameRows = std::equal(tasks.begin(),
                                     tasks.end(),
                                     m_tasks.begin(),
                                     m_tasks.end(),
                                     [](const auto& a, const auto& b) { return a.key == b.key; });
    if (sameRows) { // keep selection and scroll position
        m_tasks = std::move(tasks);
        if (!m_tasks.empty()) {
            Q_EMIT dataChanged(index(0), index(static_cast<int>(m_tasks.size()) - 1));
        }
        return;
    }
    beginResetModel();
    m_tasks = std::move(tasks);
    endResetModel();
}

const session::TaskRow* TaskModel::at(const QModelIndex& index) const
{
    return index.isValid() ? &m_tasks[static_cast<std::size_t>(index.row())] : nullptr;
}

QModelIndex TaskModel::indexOf(const std::string& key) const
{
    const auto found = std::find_if(
        m_tasks.begin(), m_tasks.end(), [&](const auto& task) { return task.key == key; });
    return found == m_tasks.end() ? QModelIndex()
                                  : index(static_cast<int>(found - m_tasks.begin()));
}

RowLook TaskModel::look(const session::TaskRow& task)
{
    if (task.status == "running") {
        return {QStringLiteral("◐"), Tone::Accent, QStringLiteral("running"), Tone::Muted};
    }
    if (task.best) {
        const bool faster = task.best->verdict == "faster";
        const bool slower = task.best->verdict == "slower";
        const QString word =
            faster || slower ? QString() : QStringLiteral(" ") + qs(task.best->verdict);
        return {QStringLiteral("●"),
                faster ? Tone::Good : Tone::Warn,
                ratioText(task.best->ratio) + word,
                faster ? Tone::Good : Tone::Neutral};
    }
    if (task.status == "not run" || task.status.empty()) {
        return {QStringLiteral("○"), Tone::Muted, QStringLiteral("not run"), Tone::Muted};
    }
    const bool correct = task.status == "correct";
    return {QStringLiteral("●"),
            correct ? Tone::Good : Tone::Bad,
            qs(task.status).replace(QLatin1Char('_'), QLatin1Char(' ')),
            correct ? Tone::Neutral : Tone::Bad};
}

int TaskModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_tasks.size());
}

QVariant TaskModel::data(const QModelIndex& index, int role) const
{
    const session::TaskRow* task = at(index);
    if (task == nullptr) {
        return {};
    }
    const RowLook row = look(*task);
    const QString name = qs(task->key).section(QLatin1Char('/'), -1);
    switch (role) {
    case Qt::DisplayRole:
        return name;
    case Qt::ToolTipRole:
        return task->title.empty() ? qs(task->key) : qs(task->title);
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1, %2").arg(name, row.right);
    case GlyphRole:
        return row.glyph;
    case GlyphToneRole:
        return static_cast<int>(row.glyphTone);
    case RightRole:
        return row.right;
    case RightToneRole:
        return static_cast<int>(row.rightTone);
    case KeyRole:
        return qs(task->key);
    default:
        return {};
    }
}

} // namespace lathe::ui
