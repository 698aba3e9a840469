// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/widgets/painting.h>

#include <QFontMetrics>
#include <QPainter>

namespace lathe::ui {

int drawText(QPainter& painter,
             const QRect& rect,
             int flags,
             const QString& text,
             const QFont& font,
             const QColor& colour)
{
    const QFontMetrics metrics(font);
    const QString shown = metrics.elidedText(text, Qt::ElideRight, rect.width());
    painter.setFont(font);
    painter.setPen(colour);
    painter.drawText(rect, flags | Qt::AlignVCenter | Qt::TextSingleLine, shown);
    return metrics.horizontalAdvance(shown);
}

} // namespace lathe::ui
