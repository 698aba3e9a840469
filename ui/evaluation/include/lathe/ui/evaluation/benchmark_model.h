// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/protocol/types.h>

#include <QAbstractTableModel>

#include <memory>
#include <vector>

namespace lathe::evaluation {
struct EvaluationResult;
}

namespace lathe::ui {

/// Every timing row of one evaluation, with its ratio to the candidate. Immutable snapshot behind
/// it.
class BenchmarkModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column {
        Variant,
        Arm,
        Protocol,
        Median,
        Interval,
        Plot,
        Ratio,
        Noise,
        Samples,
        ColumnCount
    };
    /// For the Plot column: low, median and high as fractions of the variant's slowest arm.
    enum Role { LowRole = Qt::UserRole + 40, MidRole, HighRole, ArmRole };

    using QAbstractTableModel::QAbstractTableModel;
    void setResult(std::shared_ptr<const evaluation::EvaluationResult> result);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
    [[nodiscard]] QVariant
    headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    [[nodiscard]] QVariant text(const protocol::TimingRow& row, int column) const;
    [[nodiscard]] const protocol::Comparison* comparisonOf(const protocol::TimingRow& row) const;
    [[nodiscard]] double slowest(const protocol::TimingRow& row) const;
    std::shared_ptr<const evaluation::EvaluationResult> m_result;
    std::vector<protocol::TimingRow> m_rows; ///< variant by variant, in the order of arms
};

} // namespace lathe::ui
