// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include "lane_marks.h"

#include <lathe/ui/timeline/timeline_view.h>

#include <QHash>
#include <QImage>
#include <QPair>
#include <QStaticText>

#include <utility>

namespace lathe::ui {

constexpr int kGutterWidth = 124; ///< titles to the left of the spans
constexpr int kAxisHeight = 22;

/// One lane's place below the axis; y does not know of scrolling.
struct LaneBox
{
    int y = 0;
    int height = 0;
    bool main = false; ///< outermost spans: full colour
    LaneIndex index;
};

struct RowBox
{
    int y = 0;
    int height = 0;
    std::vector<LaneBox> lanes;
};

/// What the view shows, without the widget: rows and their places, window, selection, search hits.
class TimelineScene
{
public:
    std::vector<TimelineRow> rows;
    std::vector<RowBox> boxes; ///< one per row
    TimelineColors colors;
    TimeWindow window;
    bool fitted = true; ///< shows everything and goes on doing so
    int contentHeight = 0;
    int scrollY = 0;
    TimelineSelection selection;
    TimelinePaintStats stats;
    QString needle;
    std::int64_t hits = 0;
    std::vector<std::vector<std::vector<std::size_t>>> matches; ///< row, lane: indexes of hits
    QHash<QPair<QString, int>, QStaticText> labels;             ///< elided names by width
    LaneMarks marks;                                            ///< reused between lanes
    QImage column;                                              ///< reused between lanes

    void replaceRows(std::vector<TimelineRow> fresh);
    [[nodiscard]] double spanNs() const; ///< of the longest row, at least 1
    void fit();
    void keepInside(); ///< after zooming or panning
    void zoomAt(double x, double factor);

    [[nodiscard]] bool valid(const SpanRef& span) const;
    [[nodiscard]] const profile::Lane& laneOf(const SpanRef& span) const;
    [[nodiscard]] QString nameOf(const SpanRef& span) const;
    [[nodiscard]] std::optional<SpanRef> spanAt(double x, double y) const; ///< widget position
    [[nodiscard]] QRectF rectOf(const SpanRef& span) const;                ///< widget position
    /// The span of a lane that lies nearest to the time.
    [[nodiscard]] std::int64_t nearest(int row, int lane, double timeNs) const;

    void select(const std::optional<SpanRef>& span);
    void selectRange(std::optional<std::pair<std::int64_t, std::int64_t>> range);
    [[nodiscard]] QStringList selectionText() const;
    std::int64_t search(const QString& text);
    [[nodiscard]] std::optional<SpanRef> nextMatch(bool backwards) const;

private:
    struct Remembered; ///< what a selected span is called, to find it in other rows
    [[nodiscard]] std::optional<Remembered> remember() const;
    [[nodiscard]] std::optional<SpanRef> recall(const Remembered& wanted) const;
    void layOut();
    void sumSelection();
};

} // namespace lathe::ui
