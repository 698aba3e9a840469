// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QFont>
#include <QSize>

class QPainter;

namespace lathe::ui {

class TimelineScene;

/// Paints the whole scene and counts its work in scene.stats.
void paintTimeline(
    QPainter& painter, TimelineScene& scene, const QSize& size, const QFont& font, bool focused);

} // namespace lathe::ui
