// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/protocol/types.h>

#include <QAbstractTableModel>

#include <vector>

namespace lathe::ui {

/// Compiler findings and warnings of the open candidate.
class ProblemsModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column { Severity, Place, Message, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;
    void setProblems(std::vector<protocol::Diagnostic> problems);
    [[nodiscard]] const protocol::Diagnostic& at(int row) const
    {
        return m_problems[static_cast<std::size_t>(row)];
    }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant
    headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<protocol::Diagnostic> m_problems;
};

} // namespace lathe::ui
