// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>
#include <lathe/ui/style/theme.h>

#include <QAbstractListModel>

#include <vector>

namespace lathe::ui {

/// How a row of a list looks at a glance: glyph, name, and the figure at its right end.
struct RowLook
{
    QString glyph;
    Tone glyphTone = Tone::Muted;
    QString right;
    Tone rightTone = Tone::Muted;
};

enum RowRole {
    GlyphRole = Qt::UserRole + 1,
    GlyphToneRole,
    RightRole,
    RightToneRole,
    KeyRole,
    BoldRole,
    AuthorRole,
    ItalicRole
};

/// The tasks of the workspace and of the shipped suites. Figures come from finished evaluations
/// only.
class TaskModel : public QAbstractListModel
{
    Q_OBJECT
public:
    using QAbstractListModel::QAbstractListModel;

    void setTasks(std::vector<session::TaskRow> tasks);
    [[nodiscard]] const session::TaskRow* at(const QModelIndex& index) const;
    [[nodiscard]] QModelIndex indexOf(const std::string& key) const;
    static RowLook look(const session::TaskRow& task);

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;

private:
    std::vector<session::TaskRow> m_tasks;
};

} // namespace lathe::ui
