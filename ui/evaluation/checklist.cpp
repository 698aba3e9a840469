// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/base/json.h>
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/evaluation/checklist.h>

#include <nlohmann/json.hpp>

#include <QStringList>

#include <algorithm>
#include <set>

namespace lathe::ui {
namespace {

using evaluation::EvaluationResult;

CheckRow good(const QString& what, const QString& detail)
{
    return {QStringLiteral("✓"), Tone::Good, what, detail};
}
CheckRow warn(const QString& what, const QString& detail)
{
    return {QStringLiteral("⚠"), Tone::Warn, what, detail};
}
CheckRow bad(const QString& what, const QString& detail)
{
    return {QStringLiteral("✗"), Tone::Bad, what, detail};
}

int countOf(const EvaluationResult& result, protocol::GateStatus status)
{
    return static_cast<int>(std::count_if(result.gates.begin(),
                                          result.gates.end(),
                                          [&](const auto& gate) { return gate.status == status; }));
}

// "62 %: 83.9 MB moved once at 37.5 GB/s take 2.24 ms"; with several variants each one's share
// behind it.
QString limitText(const std::string& text)
{
    const auto parsed = parseJson(text);
    if (!parsed || !parsed->is_object()) {
        return {};
    }
    const auto plain = [](double value) {
        return QString::number(value, 'f', value < 10 ? 2 : value < 100 ? 1 : 0);
    };
    QString words = QStringLiteral("%1 MB moved once at %2 GB/s take %3")
                        .arg(plain(numberOr(*parsed, "bytes", 0) / 1e6),
                             plain(numberOr(*parsed, "bytesPerSecond", 0) / 1e9),
                             timeText(numberOr(*parsed, "us", 0)));
    if (const double reached = numberOr(*parsed, "reached", -1); reached >= 0) {
        words.prepend(QStringLiteral("%1 %: ").arg(reached * 100, 0, 'f', 0));
    }
    QStringList shares;
    for (const auto& variant : parsed->value("variants", nlohmann::json::array())) {
        if (numberOr(variant, "reached", -1) < 0 || !variant.contains("variant")
            || !variant["variant"].is_string()) {
            continue;
        }
        shares.append(QStringLiteral("%1 %2 %")
                          .arg(qs(variant["variant"].get<std::string>()))
                          .arg(numberOr(variant, "reached", 0) * 100, 0, 'f', 0));
    }
    if (shares.size() > 1) {
        words += QStringLiteral(" (") + shares.join(QStringLiteral(", ")) + QStringLiteral(")");
    }
    return words;
}

CheckRow gatesRow(const EvaluationResult& result)
{
    const int passed = countOf(result, protocol::GateStatus::Pass);
    const int failed = countOf(result, protocol::GateStatus::Fail);
    const int skipped = countOf(result, protocol::GateStatus::Skip);
    const int warned = countOf(result, protocol::GateStatus::Warn);
    QStringList parts{QStringLiteral("%1 passed").arg(passed)};
    if (failed > 0) {
        parts.append(QStringLiteral("%1 failed").arg(failed));
    }
    if (warned > 0) {
        parts.append(QStringLiteral("%1 warned").arg(warned));
    }
    if (skipped > 0) {
        parts.append(QStringLiteral("%1 skipped").arg(skipped));
    }
    const QString text = parts.join(QStringLiteral(", "));
    return failed > 0 || passed == 0 ? bad(QStringLiteral("gates"), text)
           : warned + skipped > 0    ? warn(QStringLiteral("gates"), text)
                                     : good(QStringLiteral("gates"), text);
}

CheckRow floorRow(const EvaluationResult& result)
{
    const QString name = QStringLiteral("speed above the A/A floor");
    const auto best = result.againstBestBaseline();
    if (!best) {
        return bad(name, QStringLiteral("not measured"));
    }
    const QString ratio = QStringLiteral("%1 %2 than %3")
                              .arg(ratioText(best->ratio),
                                   intervalText(best->low, best->high),
                                   armText(best->against));
    if (!result.done.aaFloorPercent) {
        return warn(name, ratio + QStringLiteral(", A/A floor not measured"));
    }
    const double floor = *result.done.aaFloorPercent;
    const QString text = QStringLiteral("%1, floor ±%2 %").arg(ratio).arg(floor, 0, 'f', 2);
    return best->low > 1 + floor / 100
               ? good(name, text)
               : warn(name, text + QStringLiteral(": not faster beyond doubt"));
}

} // namespace

std::vector<CheckRow> acceptChecklist(const EvaluationResult& result, bool& canAccept)
{
    canAccept = result.finished && result.verdict && *result.verdict == protocol::Verdict::Correct
                && result.tier != protocol::Tier::Quick;
    std::vector<CheckRow> rows;
    const QString verdict = result.verdict
                                ? QString::fromLatin1(protocol::toString(*result.verdict))
                                : QStringLiteral("none");
    rows.push_back(
        result.verdict == protocol::Verdict::Correct
            ? good(QStringLiteral("verdict"), verdict)
            : bad(QStringLiteral("verdict"), verdict + QStringLiteral(": ") + qs(result.reason)));
    const QString tier = QString::fromLatin1(protocol::toString(result.tier));
    rows.push_back(
        result.tier == protocol::Tier::Accept
            ? (result.provisional() ? warn(QStringLiteral("tier"),
                                           tier + QStringLiteral(": accepted as provisional"))
                                    : good(QStringLiteral("tier"), tier))
        : result.tier == protocol::Tier::Full
            ? warn(QStringLiteral("tier"), tier + QStringLiteral(": accepted as provisional"))
            : bad(QStringLiteral("tier"), tier + QStringLiteral(": run the full tier first (F5)")));
    if (!result.done.untimed.empty()) {
        QStringList names;
        for (const auto& name : result.done.untimed) {
            names.append(qs(name));
        }
        rows.push_back(warn(QStringLiteral("variants"),
                            QStringLiteral("not timed: ") + names.join(QStringLiteral(", "))));
    }
    rows.push_back(gatesRow(result));
    rows.push_back(floorRow(result));
    rows.push_back(result.warnings.empty()
                       ? good(QStringLiteral("warnings"), QStringLiteral("none"))
                       : warn(QStringLiteral("warnings"), qs(result.warnings.front())));
    return rows;
}

std::vector<CardRow> cardRows(const EvaluationResult& result, const PinAnswer* pin)
{
    std::vector<CardRow> rows;
    const auto add = [&](const char* name, const QString& value) {
        if (!value.isEmpty()) {
            rows.push_back({QString::fromLatin1(name), value});
        }
    };
    std::set<std::string> protocols;
    int least = -1;
    int most = 0;
    int discarded = 0;
    for (const auto& row : result.timings) {
        protocols.insert(row.protocol);
        least = least < 0 ? row.samples : std::min(least, row.samples);
        most = std::max(most, row.samples);
        discarded += row.discarded;
    }
    QStringList names;
    for (const auto& name : protocols) {
        names.append(qs(name));
    }
    add("tier",
        QString::fromLatin1(protocol::toString(result.tier))
            + (result.replayed ? QStringLiteral(", replayed, not kept") : QString()));
    add("protocol",
        names.isEmpty()
            ? QStringLiteral("not timed")
            : names.join(QStringLiteral(", "))
                  + QStringLiteral(
                      " cache, arms interleaved, median with 95 % block-bootstrap interval"));
    if (least >= 0) {
        add("samples",
            QStringLiteral("%1 to %2 an arm, %3 discarded").arg(least).arg(most).arg(discarded));
    }
    for (const auto& speedup : result.speedups()) {
        rows.push_back({QStringLiteral("over %1").arg(armText(speedup.against)),
                        QStringLiteral("%1 %2 %3, geometric mean over the variants")
                            .arg(ratioText(speedup.ratio),
                                 intervalText(speedup.low, speedup.high),
                                 qs(speedup.verdict))});
    }
    if (pin != nullptr) {
        add("over the pin",
            QStringLiteral("%1 %2 %3; %4")
                .arg(ratioText(pin->answer.ratio),
                     intervalText(pin->answer.low, pin->answer.high),
                     pin->answer.than,
                     pin->method));
    }
    add("A/A floor",
        result.done.aaFloorPercent
            ? QStringLiteral("±%1 %: what unchanged code differs from itself")
                  .arg(*result.done.aaFloorPercent, 0, 'f', 2)
            : QStringLiteral("not measured"));
    if (const auto best = result.againstBestBaseline()) {
        add("denominator",
            QStringLiteral("%1, the fastest of the baselines").arg(armText(best->against)));
    }
    add("gates",
        QStringLiteral("%1 passed, %2 skipped, %3 warned, %4 failed")
            .arg(countOf(result, protocol::GateStatus::Pass))
            .arg(countOf(result, protocol::GateStatus::Skip))
            .arg(countOf(result, protocol::GateStatus::Warn))
            .arg(countOf(result, protocol::GateStatus::Fail)));
    const auto& conditions = result.done.conditions;
    add("conditions",
        QStringLiteral("%1 threads, cores %2, %3, load %4%5%6")
            .arg(conditions.threads)
            .arg(qs(conditions.affinity), qs(conditions.allocator))
            .arg(conditions.loadAverage, 0, 'f', 2)
            .arg(conditions.clocks.empty() ? QString()
                                           : QStringLiteral(", ") + qs(conditions.clocks),
                 conditions.throttle.empty()
                     ? QString()
                     : QStringLiteral(", throttled: ") + qs(conditions.throttle)));
    if (result.done.controlsJson != "{}") {
        add("controls", qs(result.done.controlsJson));
    }
    if (result.done.limitJson != "{}") {
        add("physical limit", limitText(result.done.limitJson));
    }
    const auto& target = result.done.target;
    add("machine", qs(target.device));
    QStringList versions;
    for (const std::string* version : {&target.toolchain, &target.torch, &target.driver}) {
        if (!version->empty()) {
            versions.append(qs(*version));
        }
    }
    add("versions", versions.join(QStringLiteral("; ")));
    add("sandbox", qs(target.sandbox));
    add("measured", clockText(result.startedAt));
    add("run again", qs(result.rerun));
    return rows;
}

} // namespace lathe::ui
