// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/style/font_features.h>

#include <QDir>
#include <QFile>
#include <QFontDatabase>
#include <QStringList>
#include <QtEndian>

namespace lathe::ui {
namespace {

struct Table
{
    qsizetype offset = 0;
    qsizetype length = 0;
};

Table findTable(const QByteArray& font, const char* tag)
{
    if (font.size() < 12) {
        return {};
    }
    const auto count = qFromBigEndian<quint16>(font.constData() + 4);
    for (int i = 0; i < count; ++i) {
        const qsizetype at = 12 + 16 * i;
        if (at + 16 > font.size()) {
            return {};
        }
        if (font.mid(at, 4) == QByteArray(tag, 4)) {
            const Table table{qFromBigEndian<quint32>(font.constData() + at + 8),
                              qFromBigEndian<quint32>(font.constData() + at + 12)};
            return table.offset + table.length <= font.size() ? table : Table{};
        }
    }
    return {};
}

bool renameTag(QByteArray& font, const char* from, const char* to)
{
    const Table gsub = findTable(font, "GSUB");
    if (gsub.length < 10) {
        return false;
    }
    const qsizetype list =
        gsub.offset + qFromBigEndian<quint16>(font.constData() + gsub.offset + 6);
    if (list + 2 > font.size()) {
        return false;
    }
    const auto count = qFromBigEndian<quint16>(font.constData() + list);
    bool found = false;
    for (int i = 0; i < count; ++i) {
        const qsizetype at = list + 2 + 6 * i;
        if (at + 6 > gsub.offset + gsub.length) {
            break;
        }
        if (font.mid(at, 4) == QByteArray(from, 4)) {
            font.replace(at, 4, QByteArray(to, 4));
            found = true;
        }
    }
    return found;
}

QByteArray utf16BigEndian(const QString& text)
{
    QByteArray bytes;
    for (const QChar c : text) {
        bytes.append(static_cast<char>(c.unicode() >> 8));
        bytes.append(static_cast<char>(c.unicode() & 0xff));
    }
    return bytes;
}

QString registerFamily(const QStringList& files,
                       const char* from,
                       const char* to,
                       const QString& oldFamily,
                       const QString& newFamily)
{
    QString family;
    for (const QString& path : files) {
        QFile file(path);
        if (!file.open(QIODevice::ReadOnly)) {
            continue;
        }
        const QByteArray bytes = withRenamedFeature(file.readAll(), from, to, oldFamily, newFamily);
        const int id = QFontDatabase::addApplicationFontFromData(bytes);
        const QStringList families = QFontDatabase::applicationFontFamilies(id);
        if (families.contains(newFamily)) {
            family = newFamily;
        }
    }
    return family;
}

QString firstInstalled(const QStringList& wanted, const QString& fallback)
{
    const QStringList families = QFontDatabase::families();
    for (const QString& family : wanted) {
        if (families.contains(family)) {
            return family;
        }
    }
    return fallback;
}

} // namespace

QByteArray withRenamedFeature(QByteArray font,
                              const char* from,
                              const char* to,
                              const QString& oldFamily,
                              const QString& newFamily)
{
    Q_ASSERT(oldFamily.size() == newFamily.size());
    if (!renameTag(font, from, to)) {
        return font;
    }
    const Table names = findTable(font, "name");
    QByteArray table = font.mid(names.offset, names.length);
    table.replace(utf16BigEndian(oldFamily), utf16BigEndian(newFamily));
    table.replace(oldFamily.toLatin1(), newFamily.toLatin1());
    return font.replace(names.offset, names.length, table);
}

QString registerCodeFamily()
{
    const QString folder =
        QStringLiteral("/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-%1.ttf");
    const QString family =
        registerFamily({folder.arg(QStringLiteral("Regular")), folder.arg(QStringLiteral("Bold"))},
                       "calt",
                       "zz01",
                       QStringLiteral("JetBrains Mono"),
                       QStringLiteral("JetBrainsPlain"));
    if (!family.isEmpty()) {
        return family;
    }
    return firstInstalled({QStringLiteral("JetBrains Mono"),
                           QStringLiteral("DejaVu Sans Mono"),
                           QStringLiteral("Liberation Mono")},
                          QFontDatabase::systemFont(QFontDatabase::FixedFont).family());
}

QString registerTextFamily()
{
    const QString folder = QStringLiteral("/usr/share/fonts/opentype/inter/Inter-%1.otf");
    QStringList files;
    for (const char* face : {"Regular", "Medium", "SemiBold", "Bold", "Italic"}) {
        files.append(folder.arg(QLatin1String(face)));
    }
    const QString family =
        registerFamily(files, "tnum", "rlig", QStringLiteral("Inter"), QStringLiteral("Intab"));
    if (!family.isEmpty()) {
        return family;
    }
    return firstInstalled({QStringLiteral("Inter"),
                           QStringLiteral("Noto Sans"),
                           QStringLiteral("DejaVu Sans"),
                           QStringLiteral("Liberation Sans")},
                          QFontDatabase::systemFont(QFontDatabase::GeneralFont).family());
}

} // namespace lathe::ui
