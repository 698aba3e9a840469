// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace lathe::ui {

/// Makes screen readers see TimelineView as a chart named after what is selected. Calling it again
/// does nothing.
void installTimelineAccessibility();

} // namespace lathe::ui
