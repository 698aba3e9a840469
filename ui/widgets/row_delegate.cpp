// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/tasks/task_model.h>
#include <lathe/ui/widgets/painting.h>
#include <lathe/ui/widgets/row_delegate.h>

#include <QPainter>

namespace lathe::ui {

RowDelegate::RowDelegate(const Theme& theme, QObject* parent)
    : QStyledItemDelegate(parent)
    , m_theme(theme)
{}

void RowDelegate::paint(QPainter* painter,
                        const QStyleOptionViewItem& option,
                        const QModelIndex& index) const
{
    painter->save();
    if (option.state & QStyle::State_Selected) {
        painter->fillRect(option.rect, m_theme.palette().selection);
    } else if (option.state & QStyle::State_MouseOver) {
        painter->fillRect(option.rect, m_theme.palette().bg3);
    }
    const auto tone = [&](int role) {
        return m_theme.colour(static_cast<Tone>(index.data(role).toInt()));
    };
    QRect area = option.rect.adjusted(12, 0, -12, 0);
    QRect glyph = area;
    glyph.setWidth(16);
    drawText(*painter,
             glyph,
             Qt::AlignHCenter,
             index.data(GlyphRole).toString(),
             m_theme.uiFont(12),
             tone(GlyphToneRole));
    area.setLeft(area.left() + 24);
    const QString right = index.data(RightRole).toString();
    const QFont figure = m_theme.uiFont(13);
    drawText(*painter, area, Qt::AlignRight, right, figure, tone(RightToneRole));
    area.setRight(area.right() - QFontMetrics(figure).horizontalAdvance(right) - 8);
    QFont name =
        m_theme.uiFont(13, index.data(BoldRole).toBool() ? QFont::DemiBold : QFont::Normal);
    const bool italic = index.data(ItalicRole).toBool();
    name.setItalic(italic);
    const int used = drawText(*painter,
                              area,
                              Qt::AlignLeft,
                              index.data(Qt::DisplayRole).toString(),
                              name,
                              italic ? m_theme.palette().text2 : m_theme.palette().text);
    const QString author = index.data(AuthorRole).toString();
    const QFont small = m_theme.uiFont(11);
    area.setLeft(area.left() + used + 8);
    if (!author.isEmpty() && QFontMetrics(small).horizontalAdvance(author) < area.width()) {
        drawText(*painter, area, Qt::AlignLeft, author, small, m_theme.palette().text3);
    }
    painter->restore();
}

QSize RowDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const
{
    return {120, 26};
}

} // namespace lathe::ui
