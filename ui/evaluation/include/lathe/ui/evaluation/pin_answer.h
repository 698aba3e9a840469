// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/evaluation/strip_content.h>

#include <QString>

#include <optional>

namespace lathe::evaluation {
struct EvaluationResult;
}

namespace lathe::ui {

/// How a candidate compares with the pinned one, and how that is known.
struct PinAnswer
{
    RatioAnswer answer;
    QString method; ///< "timed interleaved"
};

/// The pinned candidate is the parent: it was an arm of this evaluation. Empty when it was not
/// timed.
std::optional<PinAnswer> timedAgainstPin(const evaluation::EvaluationResult& result,
                                         const QString& pinName);

/// By way of a baseline that both evaluations timed: how far each is from the baseline, over the
/// variants and the cache state that both have, warm before cold. Not interleaved: a drift between
/// the two runs is in it, which is why it is never called faster or slower. Empty when nothing was
/// timed in both.
std::optional<PinAnswer> storedAgainstPin(const evaluation::EvaluationResult& result,
                                          const evaluation::EvaluationResult& pinned,
                                          const QString& pinName);

} // namespace lathe::ui
