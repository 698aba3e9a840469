// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/base/json.h>
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/strip_content.h>

#include <nlohmann/json.hpp>

#include <QStringList>

#include <algorithm>
#include <cmath>
#include <set>

namespace lathe::ui {
namespace {

using evaluation::EvaluationResult;

Tone toneOf(std::string_view verdict)
{
    return verdict == "faster" ? Tone::Good : verdict == "slower" ? Tone::Bad : Tone::Neutral;
}

// A ratio whose interval holds 1 is no news: the word says so beside the number.
QString doubt(std::string_view verdict)
{
    return verdict == "same" || verdict == "undecided" ? QStringLiteral(": ") + qs(verdict)
                                                       : QString();
}

QString plural(int count, const char* word)
{
    return QStringLiteral("%1 %2%3").arg(count).arg(QLatin1String(word),
                                                    count == 1 ? QString() : QStringLiteral("s"));
}

QString tierText(protocol::Tier tier)
{
    return QString::fromLatin1(protocol::toString(tier)) + QStringLiteral(" tier");
}

nlohmann::json parsed(const std::string& text)
{
    auto json = parseJson(text);
    return json && json->is_object() ? std::move(*json) : nlohmann::json::object();
}

// "worst error 0.41 of the limit, output 0 [511, 7]" of the numerics gate's detail.
QString worstError(const EvaluationResult& result)
{
    QString text;
    for (const auto& gate : result.gates) {
        if (gate.name.find("numerics") == std::string::npos) {
            continue;
        }
        const nlohmann::json detail = parsed(gate.detailJson);
        const auto worst = detail.find("worst");
        if (worst == detail.end() || !worst->is_object()) {
            continue;
        }
        QStringList parts;
        const auto wrong = intOr(detail, "mismatches", 0);
        if (wrong > 0) {
            parts.append(QStringLiteral("%1 of %2 elements wrong")
                             .arg(wrong)
                             .arg(intOr(detail, "elements", 0)));
        }
        parts.append(
            QStringLiteral("largest error %1").arg(numberOr(detail, "maxAbs", 0), 0, 'g', 3));
        QString place = QStringLiteral("output %1").arg(intOr(*worst, "output", 0));
        const auto index = worst->find("index");
        if (index != worst->end() && index->is_array()) {
            QStringList numbers;
            for (const auto& n : *index) {
                numbers.append(n.is_number() ? QString::number(n.get<std::int64_t>()) : QString());
            }
            place += QStringLiteral(" [%1]").arg(numbers.join(QStringLiteral(", ")));
        }
        parts.append(place);
        if (gate.status == protocol::GateStatus::Fail && worst->contains("expected")
            && worst->contains("got")) {
            parts.append(
                QStringLiteral("expected %1, got %2")
                    .arg(qs(dumpJson((*worst)["expected"])), qs(dumpJson((*worst)["got"]))));
        }
        text = parts.join(QStringLiteral(", "));
        if (gate.status == protocol::GateStatus::Fail) {
            return text;
        }
    }
    return text;
}

void describeVerdict(const EvaluationResult& result, StripContent& strip)
{
    const int gates = static_cast<int>(
        std::count_if(result.gates.begin(), result.gates.end(), [](const auto& gate) {
            return gate.status != protocol::GateStatus::Skip;
        }));
    std::set<std::string> variants;
    for (const auto& row : result.timings) {
        variants.insert(row.variant);
    }
    QStringList note{plural(gates, "gate")};
    if (!variants.empty()) {
        note.append(plural(static_cast<int>(variants.size()), "variant"));
    }
    note.append(tierText(result.tier)
                + (strip.provisional ? QStringLiteral(", provisional") : QString()));
    strip.verdictNote = note.join(QStringLiteral(", "));
    const auto failed =
        std::find_if(result.gates.begin(), result.gates.end(), [](const auto& gate) {
            return gate.status == protocol::GateStatus::Fail;
        });
    const auto error = std::find_if(result.build.diagnostics.begin(),
                                    result.build.diagnostics.end(),
                                    [](const auto& d) { return d.severity == "error"; });
    if (!result.verdict) {
        if (failed != result.gates.end()) {
            strip.glyph = QStringLiteral("✗");
            strip.verdict = qs(failed->name) + QStringLiteral(" failed");
            strip.verdictTone = Tone::Bad;
            strip.verdictDetail = qs(failed->reason);
        } else if (result.finished) {
            strip.glyph = QStringLiteral("○");
            strip.verdict = QStringLiteral("no verdict");
            strip.verdictDetail =
                result.warnings.empty() ? qs(result.reason) : qs(result.warnings.back());
        } else {
            strip.glyph = QStringLiteral("◐");
            strip.verdict = QStringLiteral("judging");
            strip.verdictTone = Tone::Accent;
        }
        return;
    }
    const bool correct = *result.verdict == protocol::Verdict::Correct;
    strip.glyph = correct ? QStringLiteral("✓") : QStringLiteral("✗");
    strip.verdict = QString::fromLatin1(protocol::toString(*result.verdict))
                        .replace(QLatin1Char('_'), QLatin1Char(' '));
    strip.verdictTone = correct ? Tone::Good : Tone::Bad;
    if (*result.verdict == protocol::Verdict::BuildFailed
        && error != result.build.diagnostics.end()) {
        strip.verdictDetail = QStringLiteral("%1:%2  %3")
                                  .arg(qs(error->file))
                                  .arg(error->line)
                                  .arg(qs(error->message));
    } else if (const QString worst = worstError(result);
               correct || *result.verdict == protocol::Verdict::Wrong) {
        strip.verdictDetail = worst.isEmpty() ? qs(result.reason) : worst;
    } else {
        strip.verdictDetail = qs(result.reason);
    }
}

void describeSpeed(const EvaluationResult& result, const QString& parentName, StripContent& strip)
{
    const auto speedups = result.speedups();
    for (const auto& speedup : speedups) {
        if (speedup.against == "parent") {
            strip.vsParent =
                RatioAnswer{speedup.ratio,
                            speedup.low,
                            speedup.high,
                            toneOf(speedup.verdict),
                            QStringLiteral("than %1%2").arg(parentName, doubt(speedup.verdict))};
        }
    }
    const auto best = result.againstBestBaseline();
    if (best) {
        const bool several =
            std::count_if(speedups.begin(),
                          speedups.end(),
                          [](const auto& s) { return s.against != "parent" && s.against != "aa"; })
            > 1;
        strip.vsBest =
            RatioAnswer{best->ratio,
                        best->low,
                        best->high,
                        toneOf(best->verdict),
                        QStringLiteral("than %1%2")
                            .arg(armText(best->against),
                                 (several ? QStringLiteral(", the best baseline") : QString())
                                     + doubt(best->verdict))};
    }
    const std::string reference = best ? best->against : (strip.vsParent ? "parent" : "");
    double worst = INFINITY;
    int count = 0;
    for (const auto& comparison : result.comparisons) {
        if (comparison.arm != "candidate" || comparison.protocol == "cold") {
            continue;
        }
        if (comparison.against == reference) {
            ++count;
            strip.curve.push_back(
                {qs(comparison.variant), comparison.ratio, comparison.low, comparison.high, false});
            if (comparison.ratio < worst) {
                worst = comparison.ratio;
            }
        } else if (comparison.against == "parent") {
            strip.curve.push_back(
                {qs(comparison.variant), comparison.ratio, comparison.low, comparison.high, true});
        }
    }
    if (count > 1) {
        strip.worstVariant = QStringLiteral("worst variant %1").arg(ratioText(worst));
    }
    if (!strip.vsBest && !strip.vsParent) {
        const bool stopped = result.verdict && *result.verdict != protocol::Verdict::Correct;
        strip.slownessNote = stopped
                                 ? QStringLiteral("not measured: only correct candidates are timed")
                             : strip.running ? QStringLiteral("not measured yet")
                                             : QStringLiteral("not measured");
    }
}

std::optional<double> medianOf(const EvaluationResult& result, std::string_view arm)
{
    double logs = 0;
    int count = 0;
    for (const auto& row : result.timings) {
        if (row.arm == arm && row.protocol != "cold" && row.medianUs > 0) {
            logs += std::log(row.medianUs);
            ++count;
        }
    }
    return count == 0 ? std::nullopt : std::optional(std::exp(logs / count));
}

struct Evidence
{
    std::optional<double> kernelUs;
    std::optional<std::int64_t> launches;
};

// The worker's evidence pass: sums over its calls; here per call.
Evidence evidenceOf(const nlohmann::json& json)
{
    Evidence evidence;
    const auto calls = std::max<std::int64_t>(1, intOr(json, "calls", 1));
    const auto kernels = json.find("kernels");
    if (kernels != json.end() && kernels->is_array() && !kernels->empty()) {
        std::int64_t count = 0;
        double seconds = 0;
        for (const auto& kernel : *kernels) {
            count += intOr(kernel, "count", 0);
            seconds += numberOr(kernel, "seconds", 0);
        }
        evidence.launches = count / calls;
        evidence.kernelUs = seconds * 1e6 / static_cast<double>(calls);
    }
    return evidence;
}

QString percentText(double before, double after)
{
    const double percent = (after / before - 1) * 100;
    return QStringLiteral("%1%2 %")
        .arg(percent < 0 ? QStringLiteral("−") : QStringLiteral("+"))
        .arg(std::abs(percent), 0, 'f', 0);
}

void addDelta(std::vector<WhyFact>& why,
              std::optional<std::int64_t> before,
              std::optional<std::int64_t> now,
              const QString& what)
{
    if (!now) {
        return;
    }
    if (!before || *before == *now) {
        why.push_back({QString::number(*now), Tone::Neutral, what});
        return;
    }
    why.push_back({QStringLiteral("%1 → %2").arg(*before).arg(*now),
                   *now < *before ? Tone::Good : Tone::Bad,
                   what});
}

template <class Member>
std::optional<std::int64_t> sumOf(const EvaluationResult& result, Member member)
{
    std::optional<std::int64_t> sum;
    for (const auto& kernel : result.build.kernels) {
        if (const auto& value = kernel.*member) {
            sum = sum.value_or(0) + *value;
        }
    }
    return sum;
}

void describeWhy(const EvaluationResult& result,
                 const EvaluationResult* parent,
                 StripContent& strip)
{
    if (!result.verdict || *result.verdict != protocol::Verdict::Correct) {
        return;
    }
    const Evidence mine = evidenceOf(parsed(result.done.evidenceJson));
    const Evidence theirs =
        parent != nullptr ? evidenceOf(parsed(parent->done.evidenceJson)) : Evidence();
    if (mine.kernelUs && theirs.kernelUs && *theirs.kernelUs > 0) {
        strip.why.push_back({percentText(*theirs.kernelUs, *mine.kernelUs),
                             *mine.kernelUs < *theirs.kernelUs ? Tone::Good : Tone::Bad,
                             QStringLiteral("time in kernel")});
    } else if (mine.kernelUs) {
        strip.why.push_back(
            {timeText(*mine.kernelUs), Tone::Neutral, QStringLiteral("in kernels")});
    } else if (const auto median = medianOf(result, "candidate")) {
        strip.why.push_back({timeText(*median), Tone::Neutral, QStringLiteral("a call")});
    }
    addDelta(strip.why,
             theirs.launches,
             mine.launches,
             mine.launches == 1 && theirs.launches.value_or(1) == 1 ? QStringLiteral("launch")
                                                                    : QStringLiteral("launches"));
    addDelta(strip.why,
             parent ? sumOf(*parent, &protocol::KernelInfo::registers) : std::nullopt,
             sumOf(result, &protocol::KernelInfo::registers),
             QStringLiteral("registers"));
    addDelta(strip.why,
             parent ? sumOf(*parent, &protocol::KernelInfo::spillStoreBytes) : std::nullopt,
             sumOf(result, &protocol::KernelInfo::spillStoreBytes),
             QStringLiteral("bytes spilled"));
    const nlohmann::json limit = parsed(result.done.limitJson);
    const double share = numberOr(limit, "reached", -1);
    if (share >= 0) {
        strip.why.push_back({QStringLiteral("%1 %").arg(share * 100, 0, 'f', 0),
                             Tone::Neutral,
                             QStringLiteral("of copy bandwidth")});
    }
}

} // namespace

StripContent
describe(const EvaluationResult& result, const EvaluationResult* parent, const QString& parentName)
{
    StripContent strip;
    strip.known = true;
    strip.running = !result.finished;
    strip.provisional = result.tier == protocol::Tier::Quick;
    strip.stage = qs(result.stage);
    describeVerdict(result, strip);
    describeSpeed(result, parentName, strip);
    describeWhy(result, parent, strip);
    return strip;
}

} // namespace lathe::ui
