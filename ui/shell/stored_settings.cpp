// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/shell/stored_settings.h>

#include <QSettings>

#include <utility>

namespace lathe::ui {
namespace {

constexpr int kSoonMs = 300;

} // namespace

StoredSettings::StoredSettings(const std::filesystem::path& file, QObject* parent)
    : QObject(parent)
    , m_file(qs(file.string()))
{
    const QSettings stored(m_file, QSettings::IniFormat);
    for (const QString& key : stored.allKeys()) {
        m_values.insert(key, stored.value(key));
    }
    m_writer.setMaxThreadCount(1);
    m_soon.setSingleShot(true);
    m_soon.setInterval(kSoonMs);
    connect(&m_soon, &QTimer::timeout, this, &StoredSettings::write);
}

StoredSettings::~StoredSettings()
{
    flush();
}

void StoredSettings::flush()
{
    write();
    m_writer.waitForDone();
}

QVariant StoredSettings::value(const QString& key, const QVariant& fallback) const
{
    return m_values.value(key, fallback);
}

void StoredSettings::setValue(const QString& key, const QVariant& value)
{
    QVariant& kept = m_values[key];
    if (kept.isValid() && kept == value) {
        return;
    }
    kept = value;
    m_changed.insert(key, value);
    m_soon.start();
}

void StoredSettings::write()
{
    m_soon.stop();
    if (m_changed.isEmpty()) {
        return;
    }
    m_writer.start([file = m_file, changed = std::exchange(m_changed, {})] {
        QSettings stored(file, QSettings::IniFormat);
        for (auto it = changed.begin(); it != changed.end(); ++it) {
            stored.setValue(it.key(), it.value());
        }
    });
}

} // namespace lathe::ui
