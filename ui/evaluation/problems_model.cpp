// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/problems_model.h>
#include <lathe/ui/tasks/task_model.h>

#include <algorithm>

namespace lathe::ui {

void ProblemsModel::setProblems(std::vector<protocol::Diagnostic> problems)
{
    const bool same = std::equal(problems.begin(),
                                 problems.end(),
                                 m_problems.begin(),
                                 m_problems.end(),
                                 [](const auto& a, const auto& b) {
                                     return a.file == b.file && a.line == b.line
                                            && a.column == b.column && a.severity == b.severity
                                            && a.message == b.message;
                                 });
    if (same) {
        return; // snapshots come often: keep the selection
    }
    beginResetModel();
    m_problems = std::move(problems);
    endResetModel();
}

int ProblemsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_problems.size());
}

int ProblemsModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant ProblemsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const auto& problem = at(index.row());
    const bool error = problem.severity == "error";
    if (role == Qt::DisplayRole) {
        switch (index.column()) {
        case Severity:
            return (error ? QStringLiteral("✗ ") : QStringLiteral("⚠ ")) + qs(problem.severity);
        case Place:
            return problem.file.empty() ? QString()
                                        : QStringLiteral("%1:%2:%3")
                                              .arg(qs(problem.file))
                                              .arg(problem.line)
                                              .arg(problem.column);
        default:
            return qs(problem.message);
        }
    }
    if (role == GlyphToneRole && index.column() == Severity) {
        return static_cast<int>(error ? Tone::Bad : Tone::Warn);
    }
    return role == Qt::ToolTipRole ? QVariant(qs(problem.message)) : QVariant();
}

QVariant ProblemsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    static const char* const kNames[] = {"severity", "where", "message"};
    return orientation == Qt::Horizontal && role == Qt::DisplayRole
               ? QVariant(QString::fromLatin1(kNames[section]))
               : QVariant();
}

} // namespace lathe::ui
