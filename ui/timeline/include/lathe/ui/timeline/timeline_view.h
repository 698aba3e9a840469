// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/profile/trace.h>

#include <QColor>
#include <QString>
#include <QWidget>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

class QLineEdit;
class QScrollBar;

namespace lathe::ui {

class TimelineScene;

/// Which colour role a row is drawn in.
enum class TimelineAccent : std::uint8_t { Reference, Compiled, Candidate, Other };

/// One trace in the stack. The title is also the row's identity when rows are replaced.
struct TimelineRow
{
    QString title;                               ///< "eager", "candidate 7"
    QString subtitle;                            ///< "7.62 ms, 9 ops"
    std::shared_ptr<const profile::Trace> trace; ///< never changed after it was handed over
    TimelineAccent accent = TimelineAccent::Reference;
    bool emphasised = false; ///< bold title: the row the others are compared with
};

/// Every colour the view paints with; comes from the theme, or from QPalette when nobody sets it.
struct TimelineColors
{
    QColor background; ///< behind the spans; also text on a filled span
    QColor surface;    ///< the overlay card
    QColor line;
    QColor text;
    QColor textMuted;
    QColor textFaint;
    QColor accent;    ///< measured range, focus
    QColor selection; ///< outline of the selected span
    QColor match;     ///< search hits
    QColor reference;
    QColor compiled;
    QColor candidate;
    QColor other;
    static TimelineColors fromPalette(const QPalette& palette);
    /// From ui/style's Palette, without making this module depend on it.
    template <class Palette>
    static TimelineColors fromTheme(const Palette& p)
    {
        return {p.bg2,
                p.bg1,
                p.line,
                p.text,
                p.text2,
                p.text3,
                p.accent,
                p.text,
                p.warn,
                p.reference,
                p.compiled,
                p.candidate,
                p.text3};
    }
};

/// A span by its place: row, lane of that row's trace, index in the lane.
struct SpanRef
{
    int row = -1;
    int lane = -1;
    std::int64_t index = -1;
    bool operator==(const SpanRef&) const = default;
};

/// What is selected: a span, a measured range, both or nothing. Times are nanoseconds on the common
/// axis.
struct TimelineSelection
{
    std::optional<SpanRef> span;
    std::optional<std::pair<std::int64_t, std::int64_t>> rangeNs; ///< [from, to)
    QString name;                                                 ///< of the span
    std::int64_t startNs = 0;                                     ///< of the span
    std::int64_t durationNs = 0;                                  ///< of the span
    /// All spans of that name in the row (within the range when there is one).
    std::int64_t count = 0, totalNs = 0, minNs = 0, maxNs = 0;
};

/// Work of the last repaint, counted so that tests can bound it without a clock.
struct TimelinePaintStats
{
    std::int64_t spansDrawn = 0;   ///< drawn as a rectangle of their own
    std::int64_t columnsDrawn = 0; ///< pixel columns drawn as a collapsed mark
    std::int64_t steps = 0;        ///< search steps over spans
    std::int64_t labelsDrawn = 0;
};

/// Traces stacked on one time axis, each aligned at its first span. Raster widget of the GUI
/// thread; work per repaint grows with the pixels, not with the spans. Mouse: wheel zooms at the
/// pointer, drag pans, Shift+drag measures, click selects, Ctrl+wheel scrolls the rows. Keys: W/S
/// zoom, A/D pan, arrows step through spans, Home/End first/last, F zooms to the selection, 0 fits
/// all, / or Ctrl+F searches, F3/Shift+F3 next/previous match, Escape clears.
class TimelineView : public QWidget
{
    Q_OBJECT

public:
    explicit TimelineView(QWidget* parent = nullptr);
    ~TimelineView() override;

    /// Replaces the rows. Zoom, scroll position and selection are kept where the new rows have the
    /// same row, lane and span; a view that shows everything goes on showing everything.
    void setRows(std::vector<TimelineRow> rows);
    [[nodiscard]] const std::vector<TimelineRow>& rows() const;
    void setColors(const TimelineColors& colors);

    void fitAll();
    void zoomToSelection();
    /// Zooms by factor (> 1: closer) and keeps the time at widget position x where it is.
    void zoomAt(double x, double factor);
    void panBy(double pixels);

    void selectSpan(const SpanRef& span);
    void selectRange(std::int64_t fromNs, std::int64_t toNs);
    void clearSelection();
    [[nodiscard]] const TimelineSelection& selection() const;
    /// The selection as lines of text: what the overlay card shows and what a screen reader says.
    [[nodiscard]] QStringList selectionText() const;

    /// Marks spans whose name holds the text (case ignored; empty: none) and returns how many there
    /// are.
    std::int64_t search(const QString& text);
    void nextMatch(bool backwards = false);

    [[nodiscard]] double timeAt(double x) const;   ///< nanoseconds at a widget x
    [[nodiscard]] double xAt(double timeNs) const; ///< widget x of a time
    [[nodiscard]] std::optional<SpanRef> spanAt(QPointF position) const;
    [[nodiscard]] QRectF spanRect(const SpanRef& span) const;
    [[nodiscard]] const TimelinePaintStats& paintStats() const;
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;

Q_SIGNALS:
    void selectionChanged(const lathe::ui::TimelineSelection& selection);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void stepSpan(int lanes, int spans);
    void jumpToEnd(bool last);
    void reveal(const SpanRef& span);
    void openSearch();
    void closeSearch();
    void announce();
    void updateScrollBar();
    void placeChildren();

    std::unique_ptr<TimelineScene> m_scene;
    QScrollBar* m_scroll = nullptr;
    QLineEdit* m_searchField = nullptr;
    QPointF m_pressedAt;
    double m_pressedTimeNs = 0;
    enum class Drag : std::uint8_t { None, Undecided, Pan, Measure } m_drag = Drag::None;
    bool m_colorsSet = false;
};

} // namespace lathe::ui

Q_DECLARE_METATYPE(lathe::ui::TimelineSelection)
