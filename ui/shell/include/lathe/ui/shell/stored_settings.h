// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QHash>
#include <QObject>
#include <QString>
#include <QThreadPool>
#include <QTimer>
#include <QVariant>

#include <filesystem>

namespace lathe::ui {

/// Small things remembered in an .ini file. Read once when made; values are kept in memory and
/// written behind the caller by a thread of its own, soon after the last change and when the object
/// goes, so that the GUI thread never waits for a disk or a lock file. GUI thread.
class StoredSettings : public QObject
{
    Q_OBJECT
public:
    explicit StoredSettings(const std::filesystem::path& file, QObject* parent = nullptr);
    ~StoredSettings() override;
    [[nodiscard]] QVariant value(const QString& key, const QVariant& fallback = {}) const;
    void setValue(const QString& key, const QVariant& value);
    void flush(); ///< waits until everything is on disk: for the end of the program

private:
    void write();
    QString m_file;
    QHash<QString, QVariant> m_values;
    QHash<QString, QVariant> m_changed; ///< not yet handed to the writer
    QTimer m_soon;
    QThreadPool m_writer; ///< one thread: writes stay in order
};

} // namespace lathe::ui
