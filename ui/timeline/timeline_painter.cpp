// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "timeline_painter.h"

#include "time_text.h"
#include "timeline_scene.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace lathe::ui {

namespace {

constexpr int kMaxLabels = 4096;
constexpr double kLeastLabelPixels = 26;

QColor mixed(const QColor& a, const QColor& b, double share)
{
    const auto mix = [share](float x, float y) {
        return static_cast<float>(x * share + y * (1 - share));
    };
    return QColor::fromRgbF(
        mix(a.redF(), b.redF()), mix(a.greenF(), b.greenF()), mix(a.blueF(), b.blueF()));
}

class Painter
{
public:
    Painter(QPainter& painter, TimelineScene& scene, const QSize& size, const QFont& font)
        : m_painter(painter)
        , m_scene(scene)
        , m_colors(scene.colors)
        , m_size(size)
        , m_title(font)
        , m_small(font)
        , m_label(font)
    {
        m_title.setPixelSize(12);
        m_small.setPixelSize(11);
        m_label.setPixelSize(11);
    }

    void paint(bool focused)
    {
        m_scene.stats = {};
        if (m_scene.labels.size() > kMaxLabels)
            m_scene.labels.clear();
        m_painter.fillRect(QRect(QPoint(0, 0), m_size), m_colors.background);
        drawAxis();
        m_painter.save();
        m_painter.setClipRect(
            0, kAxisHeight + 1, m_size.width(), m_size.height() - kAxisHeight - 1);
        drawRange();
        for (std::size_t r = 0; r < m_scene.rows.size(); ++r)
            drawRow(r);
        drawSelected();
        m_painter.restore();
        if (focused) {
            m_painter.setPen(m_colors.accent);
            m_painter.drawLine(0, 0, m_size.width(), 0);
        }
        drawCard();
    }

private:
    [[nodiscard]] QColor accentOf(const TimelineRow& row) const
    {
        switch (row.accent) {
        case TimelineAccent::Reference:
            return m_colors.reference;
        case TimelineAccent::Compiled:
            return m_colors.compiled;
        case TimelineAccent::Candidate:
            return m_colors.candidate;
        case TimelineAccent::Other:
            break;
        }
        return m_colors.other;
    }

    void drawAxis()
    {
        const TimeWindow& window = m_scene.window;
        const double step = tickStepNs(window.nsPerPixel, 90);
        m_painter.setFont(m_small);
        QColor grid = m_colors.line;
        grid.setAlphaF(0.7f);
        m_painter.fillRect(
            kGutterWidth, kAxisHeight, m_size.width() - kGutterWidth, 1, m_colors.line);
        const double first = std::max(0.0, std::ceil(window.fromNs / step));
        for (double k = first; k * step < window.timeOf(window.pixels); ++k) {
            const int x = kGutterWidth + static_cast<int>(std::lround(window.xOf(k * step)));
            if (k > 0)
                m_painter.fillRect(x, kAxisHeight, 1, m_size.height() - kAxisHeight, grid);
            m_painter.setPen(m_colors.textFaint);
            m_painter.drawText(x, kAxisHeight - 7, tickText(k * step, step));
        }
    }

    void drawRange()
    {
        if (!m_scene.selection.rangeNs)
            return;
        const auto [from, to] = *m_scene.selection.rangeNs;
        const double left = std::max(0.0, m_scene.window.xOf(static_cast<double>(from)));
        const double right =
            std::min<double>(m_scene.window.pixels, m_scene.window.xOf(static_cast<double>(to)));
        if (right < left)
            return;
        QColor band = m_colors.accent;
        band.setAlphaF(0.14f);
        const QRectF area(
            kGutterWidth + left, kAxisHeight + 1, std::max(1.0, right - left), m_size.height());
        m_painter.fillRect(area, band);
        m_painter.fillRect(QRectF(area.left(), area.top(), 1, area.height()), m_colors.accent);
        m_painter.fillRect(QRectF(area.right() - 1, area.top(), 1, area.height()), m_colors.accent);
    }

    void drawRow(std::size_t r)
    {
        const TimelineRow& row = m_scene.rows[r];
        const RowBox& box = m_scene.boxes[r];
        const int top = kAxisHeight + box.y - m_scene.scrollY;
        if (top + box.height < kAxisHeight || top > m_size.height())
            return;
        for (std::size_t l = 0; l < box.lanes.size(); ++l) {
            const int y = kAxisHeight + box.lanes[l].y - m_scene.scrollY;
            if (y + box.lanes[l].height >= kAxisHeight && y <= m_size.height())
                drawLane(r, l, y);
        }
        const QRect gutter(12, top, kGutterWidth - 20, box.height);
        m_title.setWeight(row.emphasised ? QFont::DemiBold : QFont::Normal);
        m_painter.setFont(m_title);
        m_painter.setPen(row.emphasised ? m_colors.text : m_colors.textMuted);
        m_painter.drawText(
            gutter.left(),
            top + 24,
            QFontMetrics(m_title).elidedText(row.title, Qt::ElideRight, gutter.width()));
        m_painter.setFont(m_small);
        m_painter.setPen(m_colors.textFaint);
        m_painter.drawText(
            gutter.left(),
            top + 39,
            QFontMetrics(m_small).elidedText(row.subtitle, Qt::ElideRight, gutter.width()));
    }

    void drawLane(std::size_t r, std::size_t l, int y)
    {
        const LaneBox& box = m_scene.boxes[r].lanes[l];
        LaneMarks& marks = m_scene.marks;
        collectMarks(box.index, m_scene.window, marks);
        m_scene.stats.steps += marks.steps;
        const QColor full = accentOf(m_scene.rows[r]);
        const QColor fill = box.main ? full : mixed(full, m_colors.background, 0.45);
        drawCoverage(marks, fill, y, box.height);
        drawWide(r, marks, box, fill, y);
        if (!m_scene.needle.isEmpty())
            drawMatches(r, l, y);
    }

    /// One computed row of pixels, stretched to the lane's height.
    void drawCoverage(const LaneMarks& marks, const QColor& fill, int y, int height)
    {
        const int pixels = m_scene.window.pixels;
        if (pixels <= 0)
            return;
        if (m_scene.column.width() != pixels)
            m_scene.column = QImage(pixels, 1, QImage::Format_RGB32);
        const QRgb background = m_colors.background.rgb();
        auto* line =
            reinterpret_cast<QRgb*>(m_scene.column.scanLine(0)); // NOLINT: QImage hands out bytes
        int begin = -1;
        const auto flush = [&](int end) {
            if (begin >= 0)
                m_painter.drawImage(QRect(kGutterWidth + begin, y, end - begin, height),
                                    m_scene.column,
                                    QRect(begin, 0, end - begin, 1));
            begin = -1;
        };
        for (int x = 0; x < pixels; ++x) {
            const float coverage = std::min(1.0f, marks.coverage[static_cast<std::size_t>(x)]);
            if (coverage <= 0) {
                flush(x);
                continue;
            }
            if (begin < 0)
                begin = x;
            ++m_scene.stats.columnsDrawn;
            // Never fainter than a quarter: a short kernel in a long gap must be seen.
            const auto share = static_cast<int>(256 * (0.25f + 0.75f * coverage));
            const auto mix = [share](int a, int b) { return (a * share + b * (256 - share)) >> 8; };
            line[x] = qRgb(mix(fill.red(), qRed(background)),
                           mix(fill.green(), qGreen(background)),
                           mix(fill.blue(), qBlue(background)));
        }
        flush(pixels);
    }

    void
    drawWide(std::size_t r, const LaneMarks& marks, const LaneBox& box, const QColor& fill, int y)
    {
        const profile::Lane& lane = box.index.lane();
        const profile::Trace& trace = *m_scene.rows[r].trace;
        m_painter.setPen(box.main ? m_colors.background : m_colors.text);
        m_painter.setFont(m_label);
        for (const std::size_t i : marks.wide) {
            const double left =
                std::max(0.0, m_scene.window.xOf(static_cast<double>(lane.startNs[i])));
            const double right = std::min<double>(
                m_scene.window.pixels,
                m_scene.window.xOf(static_cast<double>(lane.startNs[i] + lane.durationNs[i])));
            // A hairline of background parts neighbours that touch.
            const QRectF rect(kGutterWidth + left,
                              y,
                              std::max(1.0, right - left - (right - left > 4 ? 1 : 0)),
                              box.height);
            m_painter.fillRect(rect, fill);
            ++m_scene.stats.spansDrawn;
            if (rect.width() >= kLeastLabelPixels)
                drawLabel(QString::fromStdString(trace.name(lane.nameId[i])), rect);
        }
    }

    void drawLabel(const QString& name, const QRectF& rect)
    {
        // Widths in steps of 8 pixels, so that a pan or a small zoom finds the text laid out
        // already.
        const int room = static_cast<int>(rect.width() - 10) / 8 * 8;
        QStaticText& text = m_scene.labels[{name, std::min(room, 640)}];
        if (text.text().isEmpty()) {
            text = QStaticText(
                QFontMetrics(m_label).elidedText(shortName(name), Qt::ElideRight, room));
            text.setTextFormat(Qt::PlainText);
            text.prepare(QTransform(), m_label);
        }
        if (text.text().size() < 2)
            return;
        m_painter.drawStaticText(
            QPointF(rect.left() + 5, rect.top() + (rect.height() - text.size().height()) / 2),
            text);
        ++m_scene.stats.labelsDrawn;
    }

    void drawMatches(std::size_t r, std::size_t l, int y)
    {
        const LaneBox& box = m_scene.boxes[r].lanes[l];
        const profile::Lane& lane = box.index.lane();
        const auto& found = m_scene.matches[r][l];
        const TimeWindow& window = m_scene.window;
        auto at =
            std::lower_bound(found.begin(), found.end(), box.index.firstEndingAfter(window.fromNs));
        const double endNs = window.timeOf(window.pixels);
        while (at != found.end() && static_cast<double>(lane.startNs[*at]) < endNs) {
            const double x = std::max(0.0, window.xOf(static_cast<double>(lane.startNs[*at])));
            const double right =
                window.xOf(static_cast<double>(lane.startNs[*at] + lane.durationNs[*at]));
            const double width = std::clamp(right - x, 2.0, static_cast<double>(window.pixels));
            m_painter.fillRect(QRectF(kGutterWidth + x, y + box.height - 3, width, 3),
                               m_colors.match);
            ++m_scene.stats.spansDrawn;
            const double next = window.timeOf(std::floor(x) + 1);
            at = std::lower_bound(at + 1, found.end(), next, [&](std::size_t index, double time) {
                return static_cast<double>(lane.startNs[index]) < time;
            });
        }
    }

    void drawSelected()
    {
        if (!m_scene.selection.span)
            return;
        QRectF rect = m_scene.rectOf(*m_scene.selection.span);
        rect = rect.intersected(
            QRectF(kGutterWidth - 1, 0, m_scene.window.pixels + 2, m_size.height()));
        if (rect.isEmpty())
            return;
        m_painter.save();
        m_painter.setRenderHint(QPainter::Antialiasing);
        m_painter.setPen(QPen(m_colors.selection, 1.5));
        m_painter.setBrush(Qt::NoBrush);
        m_painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 2, 2);
        m_painter.restore();
    }

    /// Beside the selected span where there is room, else below it, else in the corner.
    [[nodiscard]] QPointF cardPlace(const QSizeF& card) const
    {
        const double right = m_size.width() - 12;
        const double lowest =
            std::max<double>(kAxisHeight + 6, m_size.height() - card.height() - 8);
        // A range reaches over all rows: the corner below them hides least.
        if (!m_scene.selection.span)
            return {right - card.width(), lowest};
        const QRectF anchor = m_scene.rectOf(*m_scene.selection.span);
        const double y = std::clamp<double>(anchor.top() - 2, kAxisHeight + 6, lowest);
        if (anchor.right() + 20 + card.width() <= right && anchor.right() >= kGutterWidth)
            return {anchor.right() + 20, y};
        if (anchor.left() - 20 - card.width() >= kGutterWidth)
            return {anchor.left() - 20 - card.width(), y};
        return {right - card.width(),
                std::clamp<double>(anchor.bottom() + 10, kAxisHeight + 6, lowest)};
    }

    void drawCard()
    {
        const QStringList lines = m_scene.selectionText();
        if (lines.isEmpty())
            return;
        m_title.setWeight(QFont::DemiBold);
        QFont body = m_title;
        body.setWeight(QFont::Normal);
        const QFontMetrics head(m_title);
        const QFontMetrics rest(body);
        const int most = std::max(160, m_size.width() - kGutterWidth - 60);
        QStringList shown;
        int width = 0;
        for (int i = 0; i < lines.size(); ++i) {
            const QFontMetrics& metrics = i == 0 ? head : rest;
            shown << metrics.elidedText(lines[i], Qt::ElideRight, most);
            width = std::max(width, metrics.horizontalAdvance(shown.back()));
        }
        constexpr int kLine = 16;
        const QSizeF size(width + 24, static_cast<double>(lines.size()) * kLine + 14);
        const QRectF card(cardPlace(size), size);
        m_painter.save();
        m_painter.setRenderHint(QPainter::Antialiasing);
        m_painter.setPen(m_colors.line);
        m_painter.setBrush(m_colors.surface);
        m_painter.drawRoundedRect(card.adjusted(0.5, 0.5, -0.5, -0.5), 5, 5);
        for (int i = 0; i < shown.size(); ++i) {
            m_painter.setFont(i == 0 ? m_title : body);
            m_painter.setPen(i == 0 ? m_colors.text : m_colors.textMuted);
            m_painter.drawText(QPointF(card.left() + 12, card.top() + 19 + i * kLine), shown[i]);
        }
        m_painter.restore();
    }

    QPainter& m_painter;
    TimelineScene& m_scene;
    const TimelineColors& m_colors;
    QSize m_size;
    QFont m_title;
    QFont m_small;
    QFont m_label;
};

} // namespace

void paintTimeline(
    QPainter& painter, TimelineScene& scene, const QSize& size, const QFont& font, bool focused)
{
    Painter(painter, scene, size, font).paint(focused);
}

} // namespace lathe::ui
