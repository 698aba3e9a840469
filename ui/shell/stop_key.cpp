// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/shell/stop_key.h>

#include <QCoreApplication>
#include <QKeyEvent>
#include <QWindow>

namespace lathe::ui {

StopKey::StopKey(QObject* parent)
    : QObject(parent)
{
    QCoreApplication::instance()->installEventFilter(this);
}

bool StopKey::eventFilter(QObject* watched, QEvent* event)
{
    // Windows get a key press first and once; the widgets below would count it again.
    if (event->type() == QEvent::KeyPress && qobject_cast<QWindow*>(watched) != nullptr) {
        const auto* key = static_cast<QKeyEvent*>(event);
        if (key->key() != Qt::Key_Escape || key->isAutoRepeat()) {
            m_since.invalidate();
        } else if (m_since.isValid() && m_since.elapsed() <= kIntervalMs) {
            m_since.invalidate();
            Q_EMIT pressedTwice();
        } else {
            m_since.start();
        }
    }
    return QObject::eventFilter(watched, event);
}

} // namespace lathe::ui
