// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "timeline_scene.h"

#include "time_text.h"

#include <QRectF>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace lathe::ui {

namespace {

constexpr int kRowPadding = 10;
constexpr int kLeastRowHeight = 50; ///< room for title and subtitle
constexpr int kMainHeight = 20;
constexpr int kSubHeight = 14;
constexpr int kLaneGap = 3;
constexpr double kRightPadding = 16;
constexpr double kLeastNsPerPixel = 0.02;

} // namespace

struct TimelineScene::Remembered
{
    QString title, process, lane, name;
    int depth = 0;
    std::int64_t ordinal = 0; ///< among the lane's spans of that name
};

std::optional<TimelineScene::Remembered> TimelineScene::remember() const
{
    if (!selection.span || !valid(*selection.span))
        return std::nullopt;
    const SpanRef& span = *selection.span;
    const profile::Lane& lane = laneOf(span);
    Remembered out;
    out.title = rows[static_cast<std::size_t>(span.row)].title;
    out.process = QString::fromStdString(lane.process);
    out.lane = QString::fromStdString(lane.name);
    out.depth = lane.depth;
    out.name = nameOf(span);
    const auto at = lane.nameId.begin() + span.index;
    out.ordinal = std::count(lane.nameId.begin(), at, *at);
    return out;
}

std::optional<SpanRef> TimelineScene::recall(const Remembered& wanted) const
{
    for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows[r].title != wanted.title || !rows[r].trace)
            continue;
        const profile::Trace& trace = *rows[r].trace;
        const auto name =
            std::find(trace.names.begin(), trace.names.end(), wanted.name.toStdString());
        if (name == trace.names.end())
            return std::nullopt;
        const auto id = static_cast<std::uint32_t>(name - trace.names.begin());
        // Process and thread numbers change with every run: the first lane of that depth with the
        // name will do then.
        std::optional<SpanRef> found;
        for (std::size_t l = 0; l < trace.lanes.size(); ++l) {
            const profile::Lane& lane = trace.lanes[l];
            const bool same = QString::fromStdString(lane.name) == wanted.lane
                              && QString::fromStdString(lane.process) == wanted.process;
            if (lane.depth != wanted.depth || (found && !same))
                continue;
            std::int64_t ordinal = -1;
            std::int64_t last = -1;
            for (std::size_t i = 0; i < lane.size() && ordinal < wanted.ordinal; ++i) {
                if (lane.nameId[i] != id)
                    continue;
                ++ordinal;
                last = static_cast<std::int64_t>(i);
            }
            if (last >= 0)
                found = SpanRef{static_cast<int>(r), static_cast<int>(l), last};
            if (last >= 0 && same)
                break;
        }
        return found;
    }
    return std::nullopt;
}

void TimelineScene::replaceRows(std::vector<TimelineRow> fresh)
{
    const auto remembered = remember();
    const auto range = selection.rangeNs;
    rows = std::move(fresh);
    layOut();
    labels.clear();
    selection = {};
    selection.rangeNs = range;
    if (remembered)
        selection.span = recall(*remembered);
    sumSelection();
    if (!needle.isEmpty())
        search(QString(needle));
    if (fitted)
        fit();
    else
        keepInside();
}

void TimelineScene::layOut()
{
    boxes.clear();
    int y = 6;
    for (const TimelineRow& row : rows) {
        RowBox box;
        box.y = y;
        int laneY = y + kRowPadding;
        if (row.trace) {
            for (const profile::Lane& lane : row.trace->lanes) {
                const bool main = lane.depth == 0;
                const int height = main ? kMainHeight : kSubHeight;
                box.lanes.push_back({laneY, height, main, LaneIndex(lane)});
                laneY += height + kLaneGap;
            }
        }
        box.height = std::max(laneY + kRowPadding - kLaneGap - y, kLeastRowHeight);
        y += box.height;
        boxes.push_back(std::move(box));
    }
    contentHeight = y + 6;
}

double TimelineScene::spanNs() const
{
    std::int64_t longest = 1;
    for (const TimelineRow& row : rows)
        if (row.trace)
            longest = std::max(longest, row.trace->spanNs);
    return static_cast<double>(longest);
}

void TimelineScene::fit()
{
    fitted = true;
    window.fromNs = 0;
    window.nsPerPixel = spanNs() / std::max(window.pixels - kRightPadding, 16.0);
}

void TimelineScene::keepInside()
{
    const double span = spanNs();
    const double most = span / std::max(window.pixels - kRightPadding, 16.0) * 1.25;
    window.nsPerPixel = std::clamp(window.nsPerPixel, std::min(kLeastNsPerPixel, most), most);
    const double shown = window.nsPerPixel * window.pixels;
    // Some of the spans always stay on screen.
    window.fromNs =
        std::clamp(window.fromNs, -shown * 0.5, std::max(span - shown * 0.5, -shown * 0.5));
}

void TimelineScene::zoomAt(double x, double factor)
{
    const double anchor = window.timeOf(x - kGutterWidth);
    fitted = false;
    window.nsPerPixel /= factor;
    keepInside();
    window.fromNs = anchor - (x - kGutterWidth) * window.nsPerPixel;
}

bool TimelineScene::valid(const SpanRef& span) const
{
    if (span.row < 0 || static_cast<std::size_t>(span.row) >= rows.size())
        return false;
    const auto& trace = rows[static_cast<std::size_t>(span.row)].trace;
    return trace && span.lane >= 0 && static_cast<std::size_t>(span.lane) < trace->lanes.size()
           && span.index >= 0
           && static_cast<std::size_t>(span.index)
                  < trace->lanes[static_cast<std::size_t>(span.lane)].size();
}

const profile::Lane& TimelineScene::laneOf(const SpanRef& span) const
{
    return rows[static_cast<std::size_t>(span.row)]
        .trace->lanes[static_cast<std::size_t>(span.lane)];
}

QString TimelineScene::nameOf(const SpanRef& span) const
{
    const profile::Trace& trace = *rows[static_cast<std::size_t>(span.row)].trace;
    return QString::fromStdString(
        trace.name(laneOf(span).nameId[static_cast<std::size_t>(span.index)]));
}

std::int64_t TimelineScene::nearest(int row, int lane, double timeNs) const
{
    const auto& box = boxes[static_cast<std::size_t>(row)].lanes[static_cast<std::size_t>(lane)];
    const profile::Lane& spans = box.index.lane();
    const std::size_t after = std::min(box.index.firstEndingAfter(timeNs), spans.size() - 1);
    if (after == 0)
        return 0;
    const double toNext = static_cast<double>(spans.startNs[after]) - timeNs;
    const double toLast =
        timeNs - static_cast<double>(spans.startNs[after - 1] + spans.durationNs[after - 1]);
    return static_cast<std::int64_t>(toLast < toNext ? after - 1 : after);
}

std::optional<SpanRef> TimelineScene::spanAt(double x, double y) const
{
    constexpr double kReach = 1.5;     // pixels around the pointer
    constexpr std::size_t kMost = 256; // spans looked at when they are denser than pixels
    if (x < kGutterWidth || y < kAxisHeight)
        return std::nullopt;
    const double contentY = y - kAxisHeight + scrollY;
    for (std::size_t r = 0; r < boxes.size(); ++r) {
        for (std::size_t l = 0; l < boxes[r].lanes.size(); ++l) {
            const LaneBox& box = boxes[r].lanes[l];
            if (contentY < box.y || contentY >= box.y + box.height)
                continue;
            const profile::Lane& lane = box.index.lane();
            const double from = window.timeOf(x - kGutterWidth - kReach);
            const double to = window.timeOf(x - kGutterWidth + kReach);
            std::optional<std::size_t> best;
            std::size_t i = box.index.firstEndingAfter(from - 1);
            for (std::size_t seen = 0;
                 i < lane.size() && seen < kMost && static_cast<double>(lane.startNs[i]) <= to;
                 ++i, ++seen) {
                const double under = window.timeOf(x - kGutterWidth);
                const auto start = static_cast<double>(lane.startNs[i]);
                if (start <= under && under < start + static_cast<double>(lane.durationNs[i]))
                    return SpanRef{
                        static_cast<int>(r), static_cast<int>(l), static_cast<std::int64_t>(i)};
                if (!best || lane.durationNs[i] > lane.durationNs[*best])
                    best = i;
            }
            if (!best)
                return std::nullopt;
            return SpanRef{
                static_cast<int>(r), static_cast<int>(l), static_cast<std::int64_t>(*best)};
        }
    }
    return std::nullopt;
}

QRectF TimelineScene::rectOf(const SpanRef& span) const
{
    if (!valid(span))
        return {};
    const profile::Lane& lane = laneOf(span);
    const LaneBox& box =
        boxes[static_cast<std::size_t>(span.row)].lanes[static_cast<std::size_t>(span.lane)];
    const auto i = static_cast<std::size_t>(span.index);
    const double x = window.xOf(static_cast<double>(lane.startNs[i]));
    const double width = static_cast<double>(lane.durationNs[i]) / window.nsPerPixel;
    return QRectF(
        kGutterWidth + x, kAxisHeight + box.y - scrollY, std::max(width, 1.0), box.height);
}

void TimelineScene::select(const std::optional<SpanRef>& span)
{
    selection.span = span && valid(*span) ? span : std::nullopt;
    sumSelection();
}

void TimelineScene::selectRange(std::optional<std::pair<std::int64_t, std::int64_t>> range)
{
    if (range && range->first > range->second)
        std::swap(range->first, range->second);
    selection.rangeNs = range;
    sumSelection();
}

void TimelineScene::sumSelection()
{
    TimelineSelection out;
    out.rangeNs = selection.rangeNs;
    out.span = selection.span;
    if (out.span) {
        const profile::Lane& lane = laneOf(*out.span);
        const auto i = static_cast<std::size_t>(out.span->index);
        const profile::Trace& trace = *rows[static_cast<std::size_t>(out.span->row)].trace;
        out.name = nameOf(*out.span);
        out.startNs = lane.startNs[i];
        out.durationNs = lane.durationNs[i];
        const auto [from, to] =
            out.rangeNs.value_or(std::pair<std::int64_t, std::int64_t>{0, trace.spanNs + 1});
        for (const profile::NameSummary& sum : trace.summarise(from, to)) {
            if (sum.nameId == lane.nameId[i] && sum.category == lane.category[i]) {
                out.count = sum.count;
                out.totalNs = sum.totalNs;
                out.minNs = sum.minNs;
                out.maxNs = sum.maxNs;
            }
        }
    }
    selection = out;
}

QStringList TimelineScene::selectionText() const
{
    const auto time = [](std::int64_t ns) { return durationText(static_cast<double>(ns)); };
    QStringList lines;
    if (selection.span && valid(*selection.span)) {
        const profile::Lane& lane = laneOf(*selection.span);
        lines << selection.name;
        lines << QStringLiteral("%1, starts at %2 \u00b7 %3, %4")
                     .arg(time(selection.durationNs),
                          time(selection.startNs),
                          rows[static_cast<std::size_t>(selection.span->row)].title,
                          QString::fromStdString(lane.name));
        if (selection.count == 1)
            lines << QStringLiteral("the only call of this name");
        else
            lines << QStringLiteral("%1 calls \u00b7 sum %2 \u00b7 min %3 \u00b7 max %4")
                         .arg(selection.count)
                         .arg(
                             time(selection.totalNs), time(selection.minNs), time(selection.maxNs));
    }
    if (selection.rangeNs) {
        const auto [from, to] = *selection.rangeNs;
        lines << QStringLiteral("range of %1, from %2 to %3")
                     .arg(time(to - from), time(from), time(to));
        for (const TimelineRow& row : rows) {
            if (!row.trace)
                continue;
            QStringList parts;
            const auto sums = row.trace->summarise(from, to);
            for (std::size_t i = 0; i < std::min<std::size_t>(sums.size(), 3); ++i) {
                parts << QStringLiteral("%1 %2 \u00d7%3")
                             .arg(
                                 shortName(QString::fromStdString(row.trace->name(sums[i].nameId))),
                                 time(sums[i].totalNs))
                             .arg(sums[i].count);
            }
            if (sums.size() > 3)
                parts << QStringLiteral("%1 more names").arg(sums.size() - 3);
            lines << row.title + QStringLiteral(": ")
                         + (parts.isEmpty() ? QStringLiteral("nothing")
                                            : parts.join(QStringLiteral(" \u00b7 ")));
        }
    }
    return lines;
}

std::int64_t TimelineScene::search(const QString& text)
{
    needle = text;
    hits = 0;
    matches.clear();
    if (text.isEmpty())
        return 0;
    for (const TimelineRow& row : rows) {
        auto& ofRow = matches.emplace_back();
        if (!row.trace)
            continue;
        std::vector<bool> wanted(row.trace->names.size());
        for (std::size_t i = 0; i < wanted.size(); ++i)
            wanted[i] =
                QString::fromStdString(row.trace->names[i]).contains(text, Qt::CaseInsensitive);
        for (const profile::Lane& lane : row.trace->lanes) {
            auto& ofLane = ofRow.emplace_back();
            for (std::size_t i = 0; i < lane.size(); ++i)
                if (wanted[lane.nameId[i]])
                    ofLane.push_back(i);
            hits += static_cast<std::int64_t>(ofLane.size());
        }
    }
    return hits;
}

std::optional<SpanRef> TimelineScene::nextMatch(bool backwards) const
{
    // Reading order: rows from the top, within a row by start time, then by lane.
    using Place = std::tuple<int, std::int64_t, int>;
    std::optional<Place> here;
    if (selection.span && valid(*selection.span))
        here = Place{selection.span->row, selection.startNs, selection.span->lane};
    std::optional<std::pair<Place, SpanRef>> next;
    std::optional<std::pair<Place, SpanRef>> wrap;
    const auto better = [backwards](const Place& a, const Place& b) {
        return backwards ? a > b : a < b;
    };
    for (std::size_t r = 0; r < matches.size(); ++r) {
        for (std::size_t l = 0; l < matches[r].size(); ++l) {
            const profile::Lane& lane = rows[r].trace->lanes[l];
            for (const std::size_t i : matches[r][l]) {
                const Place place{static_cast<int>(r), lane.startNs[i], static_cast<int>(l)};
                const SpanRef span{
                    static_cast<int>(r), static_cast<int>(l), static_cast<std::int64_t>(i)};
                if (!wrap || better(place, wrap->first))
                    wrap = {place, span};
                if (here && better(*here, place) && (!next || better(place, next->first)))
                    next = {place, span};
            }
        }
    }
    if (next)
        return next->second;
    return wrap ? std::optional(wrap->second) : std::nullopt;
}

} // namespace lathe::ui
