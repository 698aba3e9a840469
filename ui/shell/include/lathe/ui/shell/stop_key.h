// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QElapsedTimer>
#include <QObject>

namespace lathe::ui {

/// Two presses of Escape within the interval, wherever the focus is in the window, mean Stop.
class StopKey : public QObject
{
    Q_OBJECT
public:
    explicit StopKey(QObject* parent = nullptr);
    static constexpr int kIntervalMs = 700;

Q_SIGNALS:
    void pressedTwice();

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QElapsedTimer m_since;
};

} // namespace lathe::ui
