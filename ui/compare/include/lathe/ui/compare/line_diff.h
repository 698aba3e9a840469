// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QStringList>

#include <vector>

namespace lathe::ui {

/// One run of a line diff: [leftFrom, leftTo) became [rightFrom, rightTo). Equal runs have same ==
/// true.
struct DiffRun
{
    bool same = true;
    int leftFrom = 0;
    int leftTo = 0;
    int rightFrom = 0;
    int rightTo = 0;
};

/// The shortest edit script by lines (Myers), as runs from top to bottom. When the texts differ by
/// more than maxEdits lines, what lies between their common head and tail is one changed run.
std::vector<DiffRun>
diffLines(const QStringList& left, const QStringList& right, int maxEdits = 2000);

} // namespace lathe::ui
