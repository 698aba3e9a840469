// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/trajectory/trajectory_delegate.h>
#include <lathe/ui/trajectory/trajectory_model.h>
#include <lathe/ui/widgets/painting.h>

#include <QPainter>

#include <algorithm>

namespace lathe::ui {
namespace {

constexpr int kMargin = 12;
constexpr int kIndent = 24;
constexpr int kTop = 7;
constexpr int kTitleHeight = 19;
constexpr int kDiffLine = 17;
constexpr int kFoldedDiffLines = 8;
constexpr int kWrap = Qt::TextWordWrap;

} // namespace

TrajectoryDelegate::TrajectoryDelegate(const Theme& theme, QObject* parent)
    : QStyledItemDelegate(parent)
    , m_theme(theme)
{}

QStringList TrajectoryDelegate::diffLines(const QModelIndex& index) const
{
    const QString diff = index.data(TrajectoryModel::DiffRole).toString();
    if (diff.isEmpty()) {
        return {};
    }
    QStringList lines = diff.split(QLatin1Char('\n'));
    if (index.data(TrajectoryModel::FoldedRole).toBool() && lines.size() > kFoldedDiffLines) {
        const auto more = lines.size() - kFoldedDiffLines + 1;
        lines = lines.mid(0, kFoldedDiffLines - 1);
        lines.append(QStringLiteral("… %1 more lines").arg(more));
    }
    return lines;
}

int TrajectoryDelegate::textHeight(const QString& text, int width) const
{
    return text.isEmpty() ? 0
                          : QFontMetrics(m_theme.uiFont(12))
                                    .boundingRect(QRect(0, 0, width, 100000), kWrap, text)
                                    .height()
                                + 3;
}

QSize TrajectoryDelegate::sizeHint(const QStyleOptionViewItem& option,
                                   const QModelIndex& index) const
{
    const int width = std::max(120, option.rect.width() > 0 ? option.rect.width() : 340);
    const int inner = width - 2 * kMargin - kIndent;
    const auto lines = diffLines(index).size();
    const int diff = lines > 0 ? static_cast<int>(lines) * kDiffLine + 12 + 5 : 0;
    return {width,
            kTop + kTitleHeight
                + textHeight(index.data(TrajectoryModel::TextRole).toString(), inner) + diff
                + kTop};
}

void TrajectoryDelegate::paint(QPainter* painter,
                               const QStyleOptionViewItem& option,
                               const QModelIndex& index) const
{
    painter->save();
    painter->setRenderHint(QPainter::Antialiasing);
    const Palette& p = m_theme.palette();
    const bool selected = option.state & QStyle::State_Selected;
    if (selected) {
        painter->fillRect(option.rect, p.selection);
    }
    const QRect area = option.rect.adjusted(kMargin, 0, -kMargin, 0);
    painter->fillRect(QRect(area.left(), area.top(), area.width(), 1), p.line);
    QRect title(area.left(), area.top() + kTop, area.width(), kTitleHeight);
    QRect glyph = title;
    glyph.setWidth(16);
    drawText(*painter,
             glyph,
             Qt::AlignHCenter,
             index.data(TrajectoryModel::GlyphRole).toString(),
             m_theme.uiFont(13),
             m_theme.colour(static_cast<Tone>(index.data(TrajectoryModel::ToneRole).toInt())));
    title.setLeft(title.left() + kIndent);
    const QString meta = index.data(TrajectoryModel::MetaRole).toString();
    drawText(*painter, title, Qt::AlignRight, meta, m_theme.uiFont(12), p.text3);
    const QRect name =
        title.adjusted(0, 0, -QFontMetrics(m_theme.uiFont(12)).horizontalAdvance(meta) - 8, 0);
    const bool thought =
        index.data(TrajectoryModel::KindRole).toString() == QLatin1String("thinking");
    drawText(*painter,
             name,
             Qt::AlignLeft,
             index.data(TrajectoryModel::TitleRole).toString(),
             m_theme.uiFont(13, QFont::DemiBold),
             thought ? p.text2 : p.text);
    int y = title.bottom() + 1;
    const int left = title.left();
    const int width = area.right() - left;
    const QString text = index.data(TrajectoryModel::TextRole).toString();
    if (!text.isEmpty()) {
        const int height = textHeight(text, width);
        painter->setFont(m_theme.uiFont(12));
        painter->setPen(selected ? p.text : p.text2);
        painter->drawText(QRect(left, y + 2, width, height), kWrap, text);
        y += height;
    }
    const QStringList lines = diffLines(index);
    if (!lines.isEmpty()) {
        const QRect ground(left, y + 5, width, static_cast<int>(lines.size()) * kDiffLine + 12);
        painter->setPen(Qt::NoPen);
        painter->setBrush(p.bg2);
        painter->drawRoundedRect(ground, 5, 5);
        painter->setClipRect(ground);
        for (int i = 0; i < lines.size(); ++i) {
            const QColor colour = lines[i].startsWith(QLatin1Char('-'))   ? p.bad
                                  : lines[i].startsWith(QLatin1Char('+')) ? p.good
                                                                          : p.text3;
            drawText(*painter,
                     QRect(left + 9, ground.top() + 6 + i * kDiffLine, width - 14, kDiffLine),
                     Qt::AlignLeft,
                     lines[i],
                     m_theme.codeFont(12),
                     colour);
        }
    }
    painter->restore();
}

} // namespace lathe::ui
