// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>
#include <lathe/ui/tasks/task_model.h>

#include <QAbstractItemModel>

#include <memory>
#include <string>
#include <vector>

namespace lathe::ui {

/// The candidates of the open task as the tree of who was made from whom, in the order they were
/// made.
class CandidateModel : public QAbstractItemModel
{
    Q_OBJECT
public:
    explicit CandidateModel(QObject* parent = nullptr);
    ~CandidateModel() override;

    /// Keeps the model's indexes when only the rows' contents changed or rows were added.
    void setCandidates(const std::vector<session::CandidateRow>& rows);
    /// The candidate whose editor holds text that was not run yet; empty: none.
    void setUnsaved(const CandidateId& parent);
    void setOpen(const CandidateId& candidate);
    [[nodiscard]] const session::CandidateRow* at(const QModelIndex& index) const;
    [[nodiscard]] QModelIndex indexOf(const CandidateId& candidate) const;
    [[nodiscard]] int count() const;
    [[nodiscard]] int branches() const; ///< leaves of the tree
    static RowLook look(const session::CandidateRow& row);

    [[nodiscard]] QModelIndex
    index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

private:
    struct Node;
    [[nodiscard]] Node* find(Node* below, const std::string& id) const;
    [[nodiscard]] Node* nodeOf(const QModelIndex& index) const;
    [[nodiscard]] QModelIndex indexOf(const Node* node) const;
    std::unique_ptr<Node> m_root;
    CandidateId m_unsaved;
    CandidateId m_open;
};

} // namespace lathe::ui
