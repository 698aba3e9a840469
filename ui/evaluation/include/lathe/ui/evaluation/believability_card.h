// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/evaluation/checklist.h>

#include <QFrame>

namespace lathe::ui {

class Theme;

/// The popover every number opens: how it was measured and what it rests on. Closes itself.
class BelievabilityCard : public QFrame
{
    Q_OBJECT
public:
    BelievabilityCard(const Theme& theme, const std::vector<CardRow>& entries, QWidget* parent);
    void showAt(const QPoint& global);
};

} // namespace lathe::ui
