// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/pin_answer.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace lathe::ui {
namespace {

using evaluation::EvaluationResult;
using protocol::Comparison;

const Comparison* find(const EvaluationResult& result,
                       const std::string& baseline,
                       const std::string& variant,
                       const std::string& protocol)
{
    const auto found = std::find_if(
        result.comparisons.begin(), result.comparisons.end(), [&](const Comparison& row) {
            return row.arm == "candidate" && row.against == baseline && row.variant == variant
                   && row.protocol == protocol && row.ratio > 0 && row.low > 0;
        });
    return found == result.comparisons.end() ? nullptr : &*found;
}

struct Sum
{
    double logRatio = 0;
    double downSquares = 0; ///< of the logarithms' distances to the interval's ends
    double upSquares = 0;
    int count = 0;
};

// Independent errors: the ends' distances add up in squares.
Sum sumOver(const EvaluationResult& mine,
            const EvaluationResult& theirs,
            const std::string& baseline,
            const std::string& protocol)
{
    Sum sum;
    for (const Comparison& row : mine.comparisons) {
        if (row.arm != "candidate" || row.against != baseline || row.protocol != protocol
            || row.ratio <= 0 || row.low <= 0) {
            continue;
        }
        const Comparison* other = find(theirs, baseline, row.variant, protocol);
        if (other == nullptr) {
            continue;
        }
        sum.logRatio += std::log(row.ratio / other->ratio);
        sum.downSquares += std::pow(std::log(row.ratio / row.low), 2)
                           + std::pow(std::log(other->high / other->ratio), 2);
        sum.upSquares += std::pow(std::log(row.high / row.ratio), 2)
                         + std::pow(std::log(other->ratio / other->low), 2);
        ++sum.count;
    }
    return sum;
}

} // namespace

std::optional<PinAnswer> timedAgainstPin(const EvaluationResult& result, const QString& pinName)
{
    for (const auto& speedup : result.speedups()) {
        if (speedup.against == "parent") {
            const Tone tone = speedup.verdict == "faster"   ? Tone::Good
                              : speedup.verdict == "slower" ? Tone::Bad
                                                            : Tone::Neutral;
            return PinAnswer{
                {speedup.ratio,
                 speedup.low,
                 speedup.high,
                 tone,
                 QStringLiteral("than %1").arg(pinName)},
                QStringLiteral("it is the parent: timed interleaved, %1").arg(qs(speedup.verdict))};
        }
    }
    return std::nullopt;
}

std::optional<PinAnswer> storedAgainstPin(const EvaluationResult& result,
                                          const EvaluationResult& pinned,
                                          const QString& pinName)
{
    std::vector<std::string> baselines;
    for (const auto& row : result.comparisons) {
        if (row.arm == "candidate" && row.against != "parent" && row.against != "aa"
            && std::find(baselines.begin(), baselines.end(), row.against) == baselines.end()) {
            baselines.push_back(row.against);
        }
    }
    // Eager exists in every tier and depends on no compiler's mood.
    std::stable_partition(
        baselines.begin(), baselines.end(), [](const auto& name) { return name == "eager"; });
    for (const char* protocol : {"warm", "cold"}) {
        for (const auto& baseline : baselines) {
            const Sum sum = sumOver(result, pinned, baseline, protocol);
            if (sum.count == 0) {
                continue;
            }
            const double log = sum.logRatio / sum.count;
            PinAnswer pin;
            pin.answer.ratio = std::exp(log);
            pin.answer.low = std::exp(log - std::sqrt(sum.downSquares) / sum.count);
            pin.answer.high = std::exp(log + std::sqrt(sum.upSquares) / sum.count);
            pin.answer.than = QStringLiteral("than %1, not interleaved").arg(pinName);
            pin.method =
                QStringLiteral("not interleaved: both against %1 in their own runs, %2 %3 %4")
                    .arg(armText(baseline))
                    .arg(sum.count)
                    .arg(QString::fromLatin1(protocol),
                         sum.count == 1 ? QStringLiteral("variant") : QStringLiteral("variants"));
            return pin;
        }
    }
    return std::nullopt;
}

} // namespace lathe::ui
