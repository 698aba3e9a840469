// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QRect>
#include <QString>

class QPainter;
class QColor;
class QFont;

namespace lathe::ui {

/// Draws one line, cut with an ellipsis; returns the width used.
int drawText(QPainter& painter,
             const QRect& rect,
             int flags,
             const QString& text,
             const QFont& font,
             const QColor& colour);

} // namespace lathe::ui
