// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QColor>

namespace lathe::ui {

/// Every colour of the workbench, by what it means. Value type.
struct Palette
{
    QColor bg0;  ///< behind everything; text on the accent
    QColor bg1;  ///< docks and bars
    QColor bg2;  ///< editors, fields, the strip
    QColor bg3;  ///< buttons, empty meters
    QColor line; ///< hairlines
    QColor text;
    QColor text2;
    QColor text3;
    QColor accent;
    QColor onAccent;
    QColor selection;
    QColor good;
    QColor bad;
    QColor warn;
    QColor reference; ///< the eager arm
    QColor compiled;  ///< compiled arms
    QColor candidate; ///< candidate arm
    QColor keyword;
    QColor typeName;
    QColor string;
    QColor number;
    QColor comment;
    QColor added; ///< line backgrounds of a diff
    QColor removed;
    QColor changed; ///< also the current line
};

const Palette& darkPalette();
const Palette& lightPalette();

} // namespace lathe::ui
