// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/gates_model.h>
#include <lathe/ui/tasks/task_model.h>

namespace lathe::ui {
namespace {

std::pair<QString, Tone> look(protocol::GateStatus status)
{
    switch (status) {
    case protocol::GateStatus::Pass:
        return {QStringLiteral("✓ pass"), Tone::Good};
    case protocol::GateStatus::Fail:
        return {QStringLiteral("✗ fail"), Tone::Bad};
    case protocol::GateStatus::Warn:
        return {QStringLiteral("⚠ warn"), Tone::Warn};
    case protocol::GateStatus::Skip:
        break;
    }
    return {QStringLiteral("○ skip"), Tone::Muted};
}

} // namespace

void GatesModel::setGates(std::vector<protocol::GateResult> gates)
{
    const int known = static_cast<int>(m_gates.size());
    const int now = static_cast<int>(gates.size());
    bool grown = now >= known;
    for (int i = 0; grown && i < known; ++i) {
        grown =
            gates[static_cast<std::size_t>(i)].name == m_gates[static_cast<std::size_t>(i)].name;
    }
    if (!grown) {
        beginResetModel();
        m_gates = std::move(gates);
        endResetModel();
        return;
    }
    if (now > known) {
        beginInsertRows({}, known, now - 1);
        m_gates = std::move(gates);
        endInsertRows();
    } else {
        m_gates = std::move(gates);
    }
    if (known > 0) {
        Q_EMIT dataChanged(index(0, 0), index(known - 1, ColumnCount - 1));
    }
}

int GatesModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_gates.size());
}

int GatesModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : int(ColumnCount);
}

QVariant GatesModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid()) {
        return {};
    }
    const auto& gate = m_gates[static_cast<std::size_t>(index.row())];
    if (role == Qt::DisplayRole) {
        return index.column() == Gate     ? qs(gate.name)
               : index.column() == Status ? look(gate.status).first
                                          : qs(gate.reason);
    }
    if (role == GlyphToneRole && index.column() == Status) {
        return static_cast<int>(look(gate.status).second);
    }
    if (role == Qt::ToolTipRole) {
        return gate.detailJson == "{}" ? qs(gate.reason) : qs(gate.reason + "\n" + gate.detailJson);
    }
    return {};
}

QVariant GatesModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    static const char* const kNames[] = {"gate", "status", "why"};
    return orientation == Qt::Horizontal && role == Qt::DisplayRole
               ? QVariant(QString::fromLatin1(kNames[section]))
               : QVariant();
}

} // namespace lathe::ui
