// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStyledItemDelegate>

namespace lathe::ui {

class Theme;

/// Paints a step: glyph, title, meta at the right end, text, and the diff of an edit on its own
/// ground.
class TrajectoryDelegate : public QStyledItemDelegate
{
    Q_OBJECT
public:
    explicit TrajectoryDelegate(const Theme& theme, QObject* parent = nullptr);
    void paint(QPainter* painter,
               const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                                 const QModelIndex& index) const override;

private:
    [[nodiscard]] QStringList diffLines(const QModelIndex& index) const;
    [[nodiscard]] int textHeight(const QString& text, int width) const;
    const Theme& m_theme;
};

} // namespace lathe::ui
