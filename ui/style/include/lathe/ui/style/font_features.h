// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QByteArray>
#include <QString>

namespace lathe::ui {

/// Qt before 6.7 cannot switch OpenType features, so a private copy of the font is changed in
/// memory before it is registered. renameFeature gives the font file's bytes with the GSUB feature
/// `from` renamed to `to` (4 letters each) and the family renamed; unchanged when the file is not
/// an OpenType font that has the feature.
QByteArray withRenamedFeature(QByteArray font,
                              const char* from,
                              const char* to,
                              const QString& oldFamily,
                              const QString& newFamily);

/// Registers the programming font without ligatures; the family to use.
QString registerCodeFamily();
/// Registers the text font with tabular figures; the family to use.
QString registerTextFamily();

} // namespace lathe::ui
