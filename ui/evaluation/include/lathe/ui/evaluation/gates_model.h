// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/protocol/types.h>

#include <QAbstractTableModel>

#include <vector>

namespace lathe::ui {

/// The gates in the order they ran, with why.
class GatesModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column { Gate, Status, Reason, ColumnCount };
    using QAbstractTableModel::QAbstractTableModel;
    void setGates(std::vector<protocol::GateResult> gates);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant
    headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<protocol::GateResult> m_gates;
};

} // namespace lathe::ui
