// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/evaluation/pin_answer.h>
#include <lathe/ui/style/theme.h>

#include <QString>

#include <vector>

namespace lathe::evaluation {
struct EvaluationResult;
}

namespace lathe::ui {

struct CheckRow
{
    QString glyph;
    Tone tone = Tone::Neutral;
    QString what;
    QString detail;
};

/// What a person should have looked at before accepting; canAccept is false when the result is not
/// correct.
std::vector<CheckRow> acceptChecklist(const evaluation::EvaluationResult& result, bool& canAccept);

/// The believability card's rows: how this number came about and what it rests on.
struct CardRow
{
    QString name;
    QString value;
};
/// pin may be null: nothing is pinned, or the pinned candidate is the open one.
std::vector<CardRow> cardRows(const evaluation::EvaluationResult& result,
                              const PinAnswer* pin = nullptr);

} // namespace lathe::ui
