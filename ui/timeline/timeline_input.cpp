// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
// Mouse and keyboard of TimelineView.
#include "time_text.h"
#include "timeline_scene.h"

#include <lathe/ui/timeline/timeline_view.h>

#include <QApplication>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

namespace lathe::ui {

namespace {

constexpr double kWheelZoom = 1.2; // per notch
constexpr double kKeyZoom = 1.4;
constexpr double kKeyPan = 0.12; // of the width

bool isOwnKey(const QKeyEvent& event)
{
    const auto modifiers = event.modifiers() & ~(Qt::KeypadModifier | Qt::ShiftModifier);
    if (event.key() == Qt::Key_F && modifiers == Qt::ControlModifier)
        return true;
    if (modifiers != Qt::NoModifier)
        return false;
    switch (event.key()) {
    case Qt::Key_W:
    case Qt::Key_A:
    case Qt::Key_S:
    case Qt::Key_D:
    case Qt::Key_F:
    case Qt::Key_0:
    case Qt::Key_Slash:
    case Qt::Key_F3:
    case Qt::Key_Left:
    case Qt::Key_Right:
    case Qt::Key_Up:
    case Qt::Key_Down:
    case Qt::Key_Home:
    case Qt::Key_End:
    case Qt::Key_PageUp:
    case Qt::Key_PageDown:
        return true;
    default:
        return false;
    }
}

} // namespace

void TimelineView::wheelEvent(QWheelEvent* event)
{
    const QPoint delta = event->angleDelta();
    if (event->modifiers() & Qt::ControlModifier) {
        m_scroll->setValue(m_scroll->value() - delta.y() / 2);
    } else if (delta.x() != 0 || (event->modifiers() & Qt::ShiftModifier)) {
        panBy(-(delta.x() != 0 ? delta.x() : delta.y()) / 2.0);
    } else {
        zoomAt(std::max<double>(event->position().x(), kGutterWidth),
               std::pow(kWheelZoom, delta.y() / 120.0));
    }
    event->accept();
}

void TimelineView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return QWidget::mousePressEvent(event);
    m_pressedAt = event->position();
    m_pressedTimeNs = timeAt(event->position().x());
    m_drag = event->modifiers() & Qt::ShiftModifier ? Drag::Measure : Drag::Undecided;
}

void TimelineView::mouseMoveEvent(QMouseEvent* event)
{
    if (m_drag == Drag::Undecided
        && (event->position() - m_pressedAt).manhattanLength()
               >= QApplication::startDragDistance()) {
        m_drag = Drag::Pan;
        setCursor(Qt::ClosedHandCursor);
    }
    if (m_drag == Drag::Pan) {
        // What was under the pointer when the button went down stays under it.
        m_scene->fitted = false;
        m_scene->window.fromNs =
            m_pressedTimeNs - (event->position().x() - kGutterWidth) * m_scene->window.nsPerPixel;
        m_scene->keepInside();
        m_scroll->setValue(m_scroll->value()
                           - static_cast<int>(event->position().y() - m_pressedAt.y()));
        m_pressedAt.setY(event->position().y());
        update();
    } else if (m_drag == Drag::Measure) {
        selectRange(std::llround(std::max(0.0, m_pressedTimeNs)),
                    std::llround(std::max(0.0, timeAt(event->position().x()))));
    }
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return QWidget::mouseReleaseEvent(event);
    const Drag drag = std::exchange(m_drag, Drag::None);
    unsetCursor();
    if (drag == Drag::Undecided) {
        if (const auto span = spanAt(event->position()))
            selectSpan(*span);
        else
            clearSelection();
    }
}

void TimelineView::stepSpan(int lanes, int spans)
{
    if (!m_scene->selection.span)
        return jumpToEnd(false);
    SpanRef at = *m_scene->selection.span;
    if (spans != 0) {
        const auto last = static_cast<std::int64_t>(m_scene->laneOf(at).size()) - 1;
        at.index = std::clamp<std::int64_t>(at.index + spans, 0, last);
    } else {
        // The lane above or below in the stack, whatever row it belongs to; rows without spans are
        // passed over.
        const double middle = static_cast<double>(m_scene->selection.startNs)
                              + static_cast<double>(m_scene->selection.durationNs) / 2;
        int row = at.row;
        int lane = at.lane + lanes;
        while (row >= 0 && row < static_cast<int>(m_scene->boxes.size())) {
            const auto count =
                static_cast<int>(m_scene->boxes[static_cast<std::size_t>(row)].lanes.size());
            if (lane >= 0 && lane < count) {
                at = SpanRef{row, lane, m_scene->nearest(row, lane, middle)};
                break;
            }
            row += lanes;
            if (row >= 0 && row < static_cast<int>(m_scene->boxes.size()))
                lane = lanes > 0 ? 0
                                 : static_cast<int>(
                                       m_scene->boxes[static_cast<std::size_t>(row)].lanes.size())
                                       - 1;
        }
    }
    selectSpan(at);
    reveal(at);
}

void TimelineView::jumpToEnd(bool last)
{
    SpanRef at{0, 0, 0};
    if (m_scene->selection.span)
        at = *m_scene->selection.span;
    else
        while (at.row < static_cast<int>(m_scene->boxes.size())
               && m_scene->boxes[static_cast<std::size_t>(at.row)].lanes.empty())
            ++at.row;
    at.index = 0;
    if (!m_scene->valid(at))
        return;
    if (last)
        at.index = static_cast<std::int64_t>(m_scene->laneOf(at).size()) - 1;
    selectSpan(at);
    reveal(at);
}

void TimelineView::reveal(const SpanRef& span)
{
    if (!m_scene->valid(span))
        return;
    const QRectF rect = m_scene->rectOf(span);
    const double left = kGutterWidth;
    const double right = kGutterWidth + m_scene->window.pixels;
    if (rect.right() < left + 8 || rect.left() > right - 8)
        panBy(rect.center().x() - (left + right) / 2);
    const int top = static_cast<int>(rect.top()) - kAxisHeight + m_scene->scrollY;
    const int room = height() - kAxisHeight;
    if (rect.top() < kAxisHeight + 4)
        m_scroll->setValue(top - 8);
    else if (rect.bottom() > height() - 4)
        m_scroll->setValue(top + static_cast<int>(rect.height()) + 8 - room);
}

void TimelineView::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Escape) {
        if (!m_scene->selection.span && !m_scene->selection.rangeNs)
            return QWidget::keyPressEvent(event);
        return clearSelection();
    }
    if (!isOwnKey(*event))
        return QWidget::keyPressEvent(event);
    const double middle = kGutterWidth + m_scene->window.pixels / 2.0;
    const QPoint pointer = mapFromGlobal(QCursor::pos());
    const double anchor = underMouse() && pointer.x() > kGutterWidth ? pointer.x() : middle;
    switch (event->key()) {
    case Qt::Key_W:
        return zoomAt(anchor, kKeyZoom);
    case Qt::Key_S:
        return zoomAt(anchor, 1 / kKeyZoom);
    case Qt::Key_A:
        return panBy(-kKeyPan * m_scene->window.pixels);
    case Qt::Key_D:
        return panBy(kKeyPan * m_scene->window.pixels);
    case Qt::Key_F:
        return event->modifiers() & Qt::ControlModifier ? openSearch() : zoomToSelection();
    case Qt::Key_0:
        return fitAll();
    case Qt::Key_Slash:
        return openSearch();
    case Qt::Key_F3:
        return nextMatch(event->modifiers() & Qt::ShiftModifier);
    case Qt::Key_Left:
        return stepSpan(0, -1);
    case Qt::Key_Right:
        return stepSpan(0, 1);
    case Qt::Key_Up:
        return stepSpan(-1, 0);
    case Qt::Key_Down:
        return stepSpan(1, 0);
    case Qt::Key_Home:
        return jumpToEnd(false);
    case Qt::Key_End:
        return jumpToEnd(true);
    case Qt::Key_PageUp:
        return m_scroll->setValue(m_scroll->value() - m_scroll->pageStep());
    case Qt::Key_PageDown:
        return m_scroll->setValue(m_scroll->value() + m_scroll->pageStep());
    default:
        break;
    }
}

bool TimelineView::event(QEvent* event)
{
    if (event->type() == QEvent::ShortcutOverride && isOwnKey(*static_cast<QKeyEvent*>(event))) {
        event->accept(); // the window's shortcuts do not take these keys while the timeline has the
                         // focus
        return true;
    }
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const auto span = spanAt(help->pos());
        if (!span) {
            QToolTip::hideText();
            return true;
        }
        const auto duration =
            m_scene->laneOf(*span).durationNs[static_cast<std::size_t>(span->index)];
        QToolTip::showText(help->globalPos(),
                           m_scene->nameOf(*span) + QStringLiteral("\n")
                               + durationText(static_cast<double>(duration)),
                           this);
        return true;
    }
    return QWidget::event(event);
}

void TimelineView::openSearch()
{
    placeChildren();
    m_searchField->show();
    m_searchField->raise();
    m_searchField->setFocus();
    m_searchField->selectAll();
}

void TimelineView::closeSearch()
{
    m_searchField->clear();
    m_searchField->hide();
    setFocus();
}

bool TimelineView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_searchField && event->type() == QEvent::KeyPress) {
        const auto* key = static_cast<QKeyEvent*>(event);
        switch (key->key()) {
        case Qt::Key_Escape:
            closeSearch();
            return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
        case Qt::Key_F3:
            nextMatch(key->modifiers() & Qt::ShiftModifier);
            return true;
        default:
            break;
        }
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace lathe::ui
