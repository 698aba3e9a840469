// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/result_strip.h>
#include <lathe/ui/widgets/painting.h>

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace lathe::ui {

VariantCurve::VariantCurve(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setFixedSize(190, 46);
    setAccessibleName(QStringLiteral("Speed-up per variant"));
}

void VariantCurve::setPoints(std::vector<VariantPoint> points)
{
    m_points = std::move(points);
    update();
}

void VariantCurve::paintEvent(QPaintEvent*)
{
    if (m_points.empty()) {
        return;
    }
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& p = m_theme.palette();
    double low = std::log(0.95);
    double high = std::log(1.1);
    for (const auto& point : m_points) {
        low = std::min(low, std::log(std::max(0.01, point.low)));
        high = std::max(high, std::log(std::max(0.01, point.high)));
    }
    const auto y = [&](double ratio) {
        return height() - 5
               - (std::log(std::max(0.01, ratio)) - low) / (high - low) * (height() - 10);
    };
    painter.setPen(QPen(p.line, 1));
    painter.drawLine(QPointF(16, y(1)), QPointF(width(), y(1)));
    drawText(painter,
             QRect(0, static_cast<int>(y(1)) - 8, 14, 16),
             Qt::AlignLeft,
             QStringLiteral("1×"),
             m_theme.uiFont(10),
             p.text3);
    for (const bool parents : {true, false}) {
        std::vector<const VariantPoint*> row;
        for (const auto& point : m_points) {
            if (point.vsParent == parents) {
                row.push_back(&point);
            }
        }
        const QColor colour = parents ? p.text3 : p.good;
        QPolygonF line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const double x =
                26
                + (width() - 34) * (static_cast<double>(i) + 0.5) / static_cast<double>(row.size());
            painter.setPen(QPen(colour, 1));
            painter.drawLine(QPointF(x, y(row[i]->low)), QPointF(x, y(row[i]->high)));
            line.append(QPointF(x, y(row[i]->ratio)));
        }
        painter.setPen(QPen(colour, parents ? 1 : 1.6, parents ? Qt::DotLine : Qt::SolidLine));
        painter.drawPolyline(line);
        for (int i = 0; i < line.size(); ++i) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(!parents && row[static_cast<std::size_t>(i)]->ratio < 1 ? p.bad
                                                                                     : colour);
            painter.drawEllipse(line[i], parents ? 1.8 : 2.8, parents ? 1.8 : 2.8);
        }
    }
}

bool VariantCurve::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        QStringList lines;
        for (const auto& point : m_points) {
            lines.append(QStringLiteral("%1: %2 %3 than %4")
                             .arg(point.variant,
                                  ratioText(point.ratio),
                                  intervalText(point.low, point.high),
                                  point.vsParent ? QStringLiteral("the parent")
                                                 : QStringLiteral("the best baseline")));
        }
        QToolTip::showText(
            static_cast<QHelpEvent*>(event)->globalPos(), lines.join(QLatin1Char('\n')), this);
        return true;
    }
    return QWidget::event(event);
}

} // namespace lathe::ui
