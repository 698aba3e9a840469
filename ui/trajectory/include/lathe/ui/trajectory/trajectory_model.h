// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/agent/trajectory.h>
#include <lathe/ui/style/theme.h>

#include <QAbstractListModel>

#include <vector>

namespace lathe::ui {

/// One row of the trajectory: a tool call together with its result, a text, a thought, a message.
struct TrajectoryStep
{
    agent::TrajectoryItem item;
    bool hasResult = false; ///< a tool call whose result came
    std::string resultText;
    bool abandoned = false; ///< the run ended before the result came
    bool folded = true;     ///< thoughts and long texts show their beginning only
};

/// The steps of one agent run. A streamed text grows in place; a tool's result joins its call.
class TrajectoryModel : public QAbstractListModel
{
    Q_OBJECT
public:
    enum Role {
        TitleRole = Qt::UserRole + 60,
        MetaRole,
        TextRole,
        DiffRole,
        GlyphRole,
        ToneRole,
        CandidateRole,
        FoldedRole,
        KindRole
    };
    using QAbstractListModel::QAbstractListModel;

    void setItems(const std::vector<agent::TrajectoryItem>& items);
    void add(const agent::TrajectoryItem& item);
    void toggleFold(int row);
    /// One tone per tool step, for the stage bar.
    [[nodiscard]] std::vector<Tone> stages() const;
    [[nodiscard]] const TrajectoryStep& at(int row) const
    {
        return m_steps[static_cast<std::size_t>(row)];
    }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

private:
    bool merge(const agent::TrajectoryItem& item);
    void closeOpenCalls();
    std::vector<TrajectoryStep> m_steps;
};

} // namespace lathe::ui
