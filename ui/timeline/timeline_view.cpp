// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "timeline_accessible.h"
#include "timeline_painter.h"
#include "timeline_scene.h"

#include <lathe/ui/timeline/timeline_view.h>

#include <QAccessible>
#include <QLineEdit>
#include <QPainter>
#include <QResizeEvent>
#include <QScrollBar>

#include <algorithm>

namespace lathe::ui {

TimelineColors TimelineColors::fromPalette(const QPalette& palette)
{
    const QColor text = palette.color(QPalette::Text);
    const QColor base = palette.color(QPalette::Base);
    const auto between = [&](float share) {
        return QColor::fromRgbF(text.redF() * share + base.redF() * (1 - share),
                                text.greenF() * share + base.greenF() * (1 - share),
                                text.blueF() * share + base.blueF() * (1 - share));
    };
    const QColor accent = palette.color(QPalette::Highlight);
    TimelineColors out;
    out.background = base;
    out.surface = palette.color(QPalette::Window);
    out.line = between(0.2f);
    out.text = text;
    out.textMuted = between(0.75f);
    out.textFaint = between(0.6f);
    out.accent = accent;
    out.selection = text;
    out.match = palette.color(QPalette::Link);
    out.reference = between(0.55f);
    out.compiled = QColor::fromHsvF(0.75f, 0.45f, base.lightnessF() < 0.5f ? 0.85f : 0.65f);
    out.candidate = accent;
    out.other = between(0.45f);
    return out;
}

TimelineView::TimelineView(QWidget* parent)
    : QWidget(parent)
    , m_scene(std::make_unique<TimelineScene>())
    , m_scroll(new QScrollBar(Qt::Vertical, this))
    , m_searchField(new QLineEdit(this))
{
    installTimelineAccessibility();
    m_scene->colors = TimelineColors::fromPalette(palette());
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
    m_scroll->hide();
    connect(m_scroll, &QScrollBar::valueChanged, this, [this](int value) {
        m_scene->scrollY = value;
        update();
    });
    m_searchField->hide();
    m_searchField->setObjectName(QStringLiteral("timelineSearch"));
    m_searchField->setPlaceholderText(tr("Find spans by name"));
    m_searchField->setAccessibleName(tr("Find spans by name"));
    m_searchField->installEventFilter(this);
    connect(m_searchField, &QLineEdit::textChanged, this, [this](const QString& text) {
        search(text);
    });
}

TimelineView::~TimelineView() = default;

void TimelineView::setRows(std::vector<TimelineRow> rows)
{
    const auto before = m_scene->selection.span;
    m_scene->replaceRows(std::move(rows));
    updateScrollBar();
    update();
    if (before || m_scene->selection.span)
        announce();
}

const std::vector<TimelineRow>& TimelineView::rows() const
{
    return m_scene->rows;
}

void TimelineView::setColors(const TimelineColors& colors)
{
    m_colorsSet = true;
    m_scene->colors = colors;
    update();
}

void TimelineView::fitAll()
{
    m_scene->fit();
    update();
}

void TimelineView::zoomToSelection()
{
    const TimelineSelection& selection = m_scene->selection;
    double from = 0;
    double length = 0;
    if (selection.rangeNs) {
        from = static_cast<double>(selection.rangeNs->first);
        length = static_cast<double>(selection.rangeNs->second - selection.rangeNs->first);
    } else if (selection.span) {
        from = static_cast<double>(selection.startNs);
        length = static_cast<double>(selection.durationNs);
    } else {
        return;
    }
    TimeWindow& window = m_scene->window;
    m_scene->fitted = false;
    window.nsPerPixel = std::max(length, 1.0) / std::max(1.0, window.pixels * 0.7);
    m_scene->keepInside();
    window.fromNs = from + length / 2 - window.nsPerPixel * window.pixels / 2;
    update();
}

void TimelineView::zoomAt(double x, double factor)
{
    m_scene->zoomAt(x, factor);
    update();
}

void TimelineView::panBy(double pixels)
{
    m_scene->fitted = false;
    m_scene->window.fromNs += pixels * m_scene->window.nsPerPixel;
    m_scene->keepInside();
    update();
}

void TimelineView::selectSpan(const SpanRef& span)
{
    m_scene->select(span);
    announce();
}

void TimelineView::selectRange(std::int64_t fromNs, std::int64_t toNs)
{
    m_scene->selectRange(std::pair{fromNs, toNs});
    announce();
}

void TimelineView::clearSelection()
{
    m_scene->select(std::nullopt);
    m_scene->selectRange(std::nullopt);
    announce();
}

const TimelineSelection& TimelineView::selection() const
{
    return m_scene->selection;
}

QStringList TimelineView::selectionText() const
{
    return m_scene->selectionText();
}

void TimelineView::announce()
{
    update();
    if (QAccessible::isActive()) {
        QAccessibleEvent event(this, QAccessible::NameChanged);
        QAccessible::updateAccessibility(&event);
    }
    Q_EMIT selectionChanged(m_scene->selection);
}

std::int64_t TimelineView::search(const QString& text)
{
    const std::int64_t hits = m_scene->search(text);
    m_searchField->setToolTip(text.isEmpty() ? QString() : tr("%1 spans").arg(hits));
    update();
    return hits;
}

void TimelineView::nextMatch(bool backwards)
{
    if (const auto span = m_scene->nextMatch(backwards)) {
        selectSpan(*span);
        reveal(*span);
    }
}

double TimelineView::timeAt(double x) const
{
    return m_scene->window.timeOf(x - kGutterWidth);
}

double TimelineView::xAt(double timeNs) const
{
    return kGutterWidth + m_scene->window.xOf(timeNs);
}

std::optional<SpanRef> TimelineView::spanAt(QPointF position) const
{
    return m_scene->spanAt(position.x(), position.y());
}

QRectF TimelineView::spanRect(const SpanRef& span) const
{
    return m_scene->rectOf(span);
}

const TimelinePaintStats& TimelineView::paintStats() const
{
    return m_scene->stats;
}

QSize TimelineView::sizeHint() const
{
    return {900, 270};
}

QSize TimelineView::minimumSizeHint() const
{
    return {kGutterWidth + 120, kAxisHeight + 60};
}

void TimelineView::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    paintTimeline(painter, *m_scene, size(), font(), hasFocus());
}

void TimelineView::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    updateScrollBar();
    placeChildren();
}

void TimelineView::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange && !m_colorsSet)
        m_scene->colors = TimelineColors::fromPalette(palette());
    if (event->type() == QEvent::FontChange)
        m_scene->labels.clear();
    QWidget::changeEvent(event);
    update();
}

void TimelineView::updateScrollBar()
{
    const int room = height() - kAxisHeight;
    const int beyond = std::max(0, m_scene->contentHeight - room);
    m_scroll->setRange(0, beyond);
    m_scroll->setPageStep(std::max(room, 1));
    m_scroll->setSingleStep(24);
    m_scroll->setVisible(beyond > 0);
    m_scene->scrollY = m_scroll->value();
    const int bar = beyond > 0 ? m_scroll->sizeHint().width() : 0;
    m_scroll->setGeometry(width() - bar, kAxisHeight + 1, bar, std::max(room - 1, 0));
    m_scene->window.pixels = std::max(0, width() - kGutterWidth - bar);
    if (m_scene->fitted)
        m_scene->fit();
    else
        m_scene->keepInside();
}

void TimelineView::placeChildren()
{
    const QSize field(std::min(220, width() - 20), m_searchField->sizeHint().height());
    m_searchField->setGeometry(width() - field.width() - 16, 2, field.width(), field.height());
}

} // namespace lathe::ui
