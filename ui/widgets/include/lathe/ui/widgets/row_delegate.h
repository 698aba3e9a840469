// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStyledItemDelegate>

namespace lathe::ui {

class Theme;

/// Paints a row of tasks or candidates: glyph, name, figure at the right end. Reads the roles of
/// RowRole.
class RowDelegate : public QStyledItemDelegate
{
    Q_OBJECT
public:
    explicit RowDelegate(const Theme& theme, QObject* parent = nullptr);
    void paint(QPainter* painter,
               const QStyleOptionViewItem& option,
               const QModelIndex& index) const override;
    [[nodiscard]] QSize sizeHint(const QStyleOptionViewItem& option,
                                 const QModelIndex& index) const override;

private:
    const Theme& m_theme;
};

} // namespace lathe::ui
