// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QString>

#include <cstdint>

namespace lathe::ui {

/// Three significant digits and a unit: "7.62 ms", "120 ns", "1.05 s".
QString durationText(double ns);

/// Distance of axis ticks: 1, 2 or 5 times a power of ten, at least leastPixels apart.
double tickStepNs(double nsPerPixel, double leastPixels);

/// A tick's label in the unit of the step: "0", "2 ms", "2.5 ms".
QString tickText(double timeNs, double stepNs);

/// A name as it fits on a span: without return type, scope, template arguments and parameters
/// ("aten::add" is "add").
QString shortName(const QString& name);

} // namespace lathe::ui
