// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/candidates/candidate_model.h>
#include <lathe/ui/candidates/speedup_chart.h>
#include <lathe/ui/style/theme.h>
#include <lathe/ui/widgets/painting.h>

#include <QHelpEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>

#include <algorithm>
#include <cmath>

namespace lathe::ui {

SpeedupChart::SpeedupChart(const Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setFixedHeight(104);
    setAccessibleName(QStringLiteral("Speed-up over the best baseline, by candidate"));
}

void SpeedupChart::setCandidates(std::vector<session::CandidateRow> rows, const CandidateId& open)
{
    rows.erase(
        std::remove_if(rows.begin(), rows.end(), [](const auto& row) { return !row.verdict; }),
        rows.end());
    std::sort(
        rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
    m_rows = std::move(rows);
    m_open = open;
    update();
}

// Ratios on a logarithmic axis, so that 2x faster and 2x slower are equally far from 1.
std::vector<QPointF> SpeedupChart::points() const
{
    double low = std::log(0.9);
    double high = std::log(1.25);
    for (const auto& row : m_rows) {
        if (row.best) {
            low = std::min(low, std::log(row.best->ratio));
            high = std::max(high, std::log(row.best->ratio));
        }
    }
    const double top = 34;
    const double bottom = height() - 16;
    const auto y = [&](double ratio) {
        return bottom - (std::log(ratio) - low) / (high - low) * (bottom - top);
    };
    std::vector<QPointF> result;
    const double span = width() - 12 - 50;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const double x = m_rows.size() < 2 ? 36
                                           : 36
                                                 + (span - 36) * static_cast<double>(i)
                                                       / static_cast<double>(m_rows.size() - 1);
        result.emplace_back(x, y(m_rows[i].best ? m_rows[i].best->ratio : 1.0));
    }
    result.emplace_back(0, y(1.0)); // the line of "as fast as the best baseline"
    return result;
}

void SpeedupChart::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const Palette& p = m_theme.palette();
    drawText(painter,
             QRect(12, 2, width() - 24, 18),
             Qt::AlignLeft,
             QStringLiteral("speed-up over the best baseline, by candidate"),
             m_theme.uiFont(11),
             p.text3);
    const std::vector<QPointF> places = points();
    const double one = places.back().y();
    painter.setPen(QPen(p.line, 1));
    painter.drawLine(QPointF(28, one), QPointF(width() - 12, one));
    drawText(painter,
             QRect(12, static_cast<int>(one) - 8, 16, 16),
             Qt::AlignLeft,
             QStringLiteral("1×"),
             m_theme.uiFont(10),
             p.text3);
    QPolygonF line;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        if (m_rows[i].best) {
            line.append(places[i]);
        }
    }
    painter.setPen(QPen(p.good, 2));
    painter.drawPolyline(line);
    int best = -1;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        const QPointF at = places[i];
        if (m_rows[i].best) {
            painter.setPen(Qt::NoPen);
            painter.setBrush(p.good);
            const double radius = m_rows[i].id == m_open ? 4 : 3;
            painter.drawEllipse(at, radius, radius);
            if (best < 0
                || m_rows[i].best->ratio > m_rows[static_cast<std::size_t>(best)].best->ratio) {
                best = static_cast<int>(i);
            }
        } else if (*m_rows[i].verdict != protocol::Verdict::Correct) {
            painter.setPen(QPen(p.bad, 1.6));
            const QPointF cross(at.x(), one + 8);
            painter.drawLine(cross + QPointF(-3, -3), cross + QPointF(3, 3));
            painter.drawLine(cross + QPointF(-3, 3), cross + QPointF(3, -3));
        }
    }
    if (best >= 0) {
        const QPointF at = places[static_cast<std::size_t>(best)];
        drawText(painter,
                 QRect(static_cast<int>(at.x()) + 4, static_cast<int>(at.y()) - 19, 52, 18),
                 Qt::AlignLeft,
                 ratioText(m_rows[static_cast<std::size_t>(best)].best->ratio),
                 m_theme.uiFont(11),
                 p.good);
    }
}

int SpeedupChart::nearest(const QPointF& position) const
{
    const std::vector<QPointF> places = points();
    int found = -1;
    double distance = 14;
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        if (const double d = std::abs(places[i].x() - position.x()); d < distance) {
            distance = d;
            found = static_cast<int>(i);
        }
    }
    return found;
}

void SpeedupChart::mousePressEvent(QMouseEvent* event)
{
    if (const int row = nearest(event->position()); row >= 0) {
        Q_EMIT opened(m_rows[static_cast<std::size_t>(row)].id);
    }
}

bool SpeedupChart::event(QEvent* event)
{
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        if (const int row = nearest(help->pos()); row >= 0) {
            const auto& candidate = m_rows[static_cast<std::size_t>(row)];
            QToolTip::showText(
                help->globalPos(),
                QStringLiteral("%1 %2: %3")
                    .arg(candidate.number)
                    .arg(qs(candidate.label), CandidateModel::look(candidate).right));
        }
        return true;
    }
    return QWidget::event(event);
}

} // namespace lathe::ui
