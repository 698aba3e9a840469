// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/benchmark_model.h>

#include <algorithm>

namespace lathe::ui {

void BenchmarkModel::setResult(std::shared_ptr<const evaluation::EvaluationResult> result)
{
    std::vector<protocol::TimingRow> rows;
    if (result) {
        std::vector<std::string> order;
        for (const auto& row : result->timings) {
            if (std::find(order.begin(), order.end(), row.variant) == order.end()) {
                order.push_back(row.variant);
            }
        }
        for (const auto& variant : order) {
            std::copy_if(result->timings.begin(),
                         result->timings.end(),
                         std::back_inserter(rows),
                         [&](const auto& row) { return row.variant == variant; });
        }
    }
    const bool sameShape = std::equal(
        rows.begin(), rows.end(), m_rows.begin(), m_rows.end(), [](const auto& a, const auto& b) {
            return a.arm == b.arm && a.variant == b.variant && a.protocol == b.protocol;
        });
    if (sameShape) { // a re-benchmark keeps selection and scroll position
        m_result = std::move(result);
        m_rows = std::move(rows);
        if (!m_rows.empty()) {
            Q_EMIT dataChanged(index(0, 0),
                               index(static_cast<int>(m_rows.size()) - 1, ColumnCount - 1));
        }
        return;
    }
    beginResetModel();
    m_result = std::move(result);
    m_rows = std::move(rows);
    endResetModel();
}

int BenchmarkModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int BenchmarkModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : int(ColumnCount);
}

const protocol::Comparison* BenchmarkModel::comparisonOf(const protocol::TimingRow& row) const
{
    for (const auto& comparison : m_result->comparisons) {
        if (comparison.arm == "candidate" && comparison.against == row.arm
            && comparison.variant == row.variant && comparison.protocol == row.protocol) {
            return &comparison;
        }
    }
    return nullptr;
}

double BenchmarkModel::slowest(const protocol::TimingRow& row) const
{
    double slow = 0;
    for (const auto& other : m_rows) {
        if (other.variant == row.variant && other.protocol == row.protocol) {
            slow = std::max(slow, other.highUs);
        }
    }
    return slow;
}

QVariant BenchmarkModel::text(const protocol::TimingRow& row, int column) const
{
    switch (column) {
    case Variant:
        return qs(row.variant);
    case Arm:
        return armText(row.arm);
    case Protocol:
        return qs(row.protocol);
    case Median:
        return timeText(row.medianUs);
    case Interval:
        return QStringLiteral("%1 – %2").arg(timeText(row.lowUs), timeText(row.highUs));
    case Ratio:
        if (const auto* comparison = comparisonOf(row)) {
            return QStringLiteral("%1 %2 %3")
                .arg(ratioText(comparison->ratio),
                     intervalText(comparison->low, comparison->high),
                     qs(comparison->verdict));
        }
        return {};
    case Noise:
        return QStringLiteral("%1 %").arg(row.cvPercent, 0, 'f', 1);
    case Samples:
        return row.discarded > 0
                   ? QStringLiteral("%1, %2 discarded").arg(row.samples).arg(row.discarded)
                   : QString::number(row.samples);
    default:
        return {};
    }
}

QVariant BenchmarkModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const auto& row = m_rows[static_cast<std::size_t>(index.row())];
    const double slow = slowest(row);
    const bool number = index.column() >= Median && index.column() != Plot;
    switch (role) {
    case Qt::DisplayRole:
        return text(row, index.column());
    case Qt::TextAlignmentRole:
        return static_cast<int>((number ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    case LowRole:
        return slow > 0 ? row.lowUs / slow : 0;
    case MidRole:
        return slow > 0 ? row.medianUs / slow : 0;
    case HighRole:
        return slow > 0 ? row.highUs / slow : 0;
    case ArmRole:
        return qs(row.arm);
    default:
        return {};
    }
}

QVariant BenchmarkModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    static const char* const kNames[] = {"variant",
                                         "arm",
                                         "cache",
                                         "median",
                                         "95 % interval",
                                         "",
                                         "candidate is faster by",
                                         "noise",
                                         "samples"};
    if (orientation != Qt::Horizontal) {
        return {};
    }
    if (role == Qt::TextAlignmentRole) {
        return static_cast<int>(
            (section >= Median && section != Plot ? Qt::AlignRight : Qt::AlignLeft)
            | Qt::AlignVCenter);
    }
    return role == Qt::DisplayRole ? QVariant(QString::fromLatin1(kNames[section])) : QVariant();
}

} // namespace lathe::ui
