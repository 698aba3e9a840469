// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QJsonArray>
#include <QObject>
#include <QString>

class QSocketNotifier;

namespace lathe::ui {

/// What a screen reader would find in the visible windows, as a flat list in reading order. One
/// object each: "role" (a name of QAccessible::Role), "name", "value" (at most 200 characters),
/// "rect" ([x, y, width, height] in screen pixels), and those of "focused", "selected", "checked",
/// "disabled" that hold. Things outside their window and those beyond the first 5000 are left out.
/// GUI thread.
[[nodiscard]] QJsonArray visibleWidgets();

/// Writes visibleWidgets() to a file whenever this process gets SIGUSR1, so that a test that drives
/// the real program finds what it clicks by role and name. The file is replaced as a whole; a
/// failure to write is said on stderr. Owns the signal's handler: at most one at a time. GUI
/// thread.
class WidgetReport : public QObject
{
    Q_OBJECT
public:
    explicit WidgetReport(QString path, QObject* parent = nullptr);
    ~WidgetReport() override;

private:
    void write() const;

    QString m_path;
    int m_readFd = -1;
    QSocketNotifier* m_notifier = nullptr;
};

} // namespace lathe::ui
