// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "timeline_accessible.h"

#include <lathe/ui/timeline/timeline_view.h>

#include <QAccessible>
#include <QAccessibleWidget>
#include <QStringList>

namespace lathe::ui {

namespace {

class TimelineAccessible : public QAccessibleWidget
{
public:
    explicit TimelineAccessible(TimelineView* view)
        : QAccessibleWidget(view, QAccessible::Chart)
    {}

    [[nodiscard]] QString text(QAccessible::Text kind) const override
    {
        const auto* view = static_cast<const TimelineView*>(object());
        switch (kind) {
        case QAccessible::Name: {
            const QStringList lines = view->selectionText();
            return lines.isEmpty()
                       ? QStringLiteral("Timeline, nothing selected")
                       : QStringLiteral("Timeline, ") + lines.join(QStringLiteral(", "));
        }
        case QAccessible::Description: {
            QStringList rows;
            for (const TimelineRow& row : view->rows())
                rows << row.title + QStringLiteral(" ") + row.subtitle;
            return rows.join(QStringLiteral("; "));
        }
        case QAccessible::Help:
            return QStringLiteral(
                "Arrow keys step through spans, W and S zoom, A and D pan, slash searches.");
        default:
            return QAccessibleWidget::text(kind);
        }
    }
};

QAccessibleInterface* makeAccessible(const QString&, QObject* object)
{
    if (auto* view = qobject_cast<TimelineView*>(object))
        return new TimelineAccessible(view); // owned by Qt's registry
    return nullptr;
}

} // namespace

void installTimelineAccessibility()
{
    QAccessible::installFactory(makeAccessible);
}

} // namespace lathe::ui
