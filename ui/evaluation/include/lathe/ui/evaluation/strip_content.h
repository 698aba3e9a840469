// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/ui/style/theme.h>

#include <QString>

#include <optional>
#include <vector>

namespace lathe::evaluation {
struct EvaluationResult;
}

namespace lathe::ui {

/// One ratio with its interval, ready to show.
struct RatioAnswer
{
    double ratio = 1;
    double low = 1;
    double high = 1;
    Tone tone = Tone::Neutral;
    QString than; ///< "than parent 6"
};

/// A delta that explains the number: "-38 %" "time in kernel".
struct WhyFact
{
    QString value;
    Tone tone = Tone::Neutral;
    QString what;
};

struct VariantPoint
{
    QString variant;
    double ratio = 1;
    double low = 1;
    double high = 1;
    bool vsParent = false;
};

/// What the strip above the candidate says: right? faster? why? Value type, made from snapshots.
struct StripContent
{
    bool known = false; ///< false: nothing was run yet
    bool running = false;
    bool provisional = false; ///< quick tier: replaced by the full one
    QString stage;            ///< "verify: 4 of 6 gates"
    QString glyph;
    QString verdict; ///< "correct", "wrong"
    Tone verdictTone = Tone::Muted;
    QString verdictNote;   ///< "12 gates, 4 variants, full tier"
    QString verdictDetail; ///< worst error, or the reason, or the first diagnostic
    std::optional<RatioAnswer> vsParent;
    std::optional<RatioAnswer> vsPin;
    std::optional<RatioAnswer> vsBest;
    QString worstVariant; ///< "worst variant 1.08×"
    QString slownessNote; ///< why there is no number
    std::vector<VariantPoint> curve;
    std::vector<WhyFact> why;
};

/// parent may be null. parentName: "parent 6".
StripContent describe(const evaluation::EvaluationResult& result,
                      const evaluation::EvaluationResult* parent,
                      const QString& parentName);

} // namespace lathe::ui
