// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/evaluation/benchmark_model.h>
#include <lathe/ui/tasks/task_model.h>
#include <lathe/ui/widgets/painting.h>
#include <lathe/ui/widgets/table_delegate.h>

#include <QPainter>

#include <algorithm>

namespace lathe::ui {

TableDelegate::TableDelegate(const Theme& theme, QObject* parent)
    : QStyledItemDelegate(parent)
    , m_theme(theme)
{}

void TableDelegate::paint(QPainter* painter,
                          const QStyleOptionViewItem& option,
                          const QModelIndex& index) const
{
    painter->save();
    const Palette& p = m_theme.palette();
    if (option.state & QStyle::State_Selected) {
        painter->fillRect(option.rect, p.selection);
    }
    const QRect cell = option.rect.adjusted(10, 0, -10, 0);
    const QString arm = index.data(BenchmarkModel::ArmRole).toString();
    if (!arm.isEmpty() && index.column() == BenchmarkModel::Plot) {
        painter->setRenderHint(QPainter::Antialiasing);
        const QColor colour = arm == QLatin1String("candidate")          ? p.candidate
                              : arm.startsWith(QLatin1String("compile")) ? p.compiled
                              : arm == QLatin1String("parent")           ? p.accent
                                                                         : p.reference;
        const auto x = [&](int role) {
            return cell.left() + cell.width() * index.data(role).toDouble();
        };
        const double y = cell.center().y() + 0.5;
        QColor body = colour;
        body.setAlphaF(0.35F);
        painter->fillRect(QRectF(cell.left(), y - 4, x(BenchmarkModel::MidRole) - cell.left(), 8),
                          body);
        painter->setPen(QPen(colour, 1.6));
        painter->drawLine(QPointF(x(BenchmarkModel::LowRole), y),
                          QPointF(x(BenchmarkModel::HighRole), y));
        painter->drawLine(QPointF(x(BenchmarkModel::MidRole), y - 5),
                          QPointF(x(BenchmarkModel::MidRole), y + 5));
        painter->restore();
        return;
    }
    const QVariant tone = index.data(GlyphToneRole);
    const bool candidate = arm == QLatin1String("candidate");
    const QColor colour = tone.isValid() ? m_theme.colour(static_cast<Tone>(tone.toInt()))
                          : candidate || index.column() == 0 ? p.text
                                                             : p.text2;
    const auto align = index.data(Qt::TextAlignmentRole);
    drawText(*painter,
             cell,
             align.isValid() ? align.toInt() & Qt::AlignHorizontal_Mask : int(Qt::AlignLeft),
             index.data(Qt::DisplayRole).toString(),
             m_theme.uiFont(13, candidate ? QFont::DemiBold : QFont::Normal),
             colour);
    painter->restore();
}

QSize TableDelegate::sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const
{
    const int text = QFontMetrics(m_theme.uiFont(13, QFont::DemiBold))
                         .horizontalAdvance(index.data(Qt::DisplayRole).toString());
    return {std::min(text + 22, 700), 25};
}

} // namespace lathe::ui
