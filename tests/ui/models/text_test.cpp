// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/base/result.h>
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/compare/line_diff.h>
#include <lathe/ui/evaluation/checklist.h>
#include <lathe/ui/evaluation/pin_answer.h>
#include <lathe/ui/evaluation/strip_content.h>
#include <lathe/ui/shell/stored_settings.h>
#include <lathe/ui/style/font_features.h>

#include <QRandomGenerator>
#include <QSettings>
#include <QTemporaryDir>
#include <QTest>

using namespace lathe;
using namespace lathe::ui;

namespace {

QStringList lines(const char* letters)
{
    QStringList list;
    for (const char* c = letters; *c != 0; ++c) {
        list.append(QString(QLatin1Char(*c)));
    }
    return list;
}

/// Length of the longest common subsequence by the textbook table: what a shortest edit script
/// keeps.
int longestCommon(const QStringList& a, const QStringList& b)
{
    std::vector<std::vector<int>> table(
        static_cast<std::size_t>(a.size() + 1),
        std::vector<int>(static_cast<std::size_t>(b.size() + 1), 0));
    for (int i = 1; i <= a.size(); ++i) {
        for (int j = 1; j <= b.size(); ++j) {
            const auto x = static_cast<std::size_t>(i);
            const auto y = static_cast<std::size_t>(j);
            table[x][y] = a[i - 1] == b[j - 1] ? table[x - 1][y - 1] + 1
                                               : std::max(table[x - 1][y], table[x][y - 1]);
        }
    }
    return table.back().back();
}

/// True when the runs cover both texts in order and the kept lines are equal.
bool covers(const std::vector<DiffRun>& runs, const QStringList& a, const QStringList& b, int* kept)
{
    int left = 0;
    int right = 0;
    *kept = 0;
    for (const DiffRun& run : runs) {
        if (run.leftFrom != left || run.rightFrom != right) {
            return false;
        }
        if (run.same) {
            if (a.mid(run.leftFrom, run.leftTo - run.leftFrom)
                != b.mid(run.rightFrom, run.rightTo - run.rightFrom)) {
                return false;
            }
            *kept += run.leftTo - run.leftFrom;
        }
        left = run.leftTo;
        right = run.rightTo;
    }
    return left == a.size() && right == b.size();
}

evaluation::EvaluationResult correctResult()
{
    evaluation::EvaluationResult result;
    result.finished = true;
    result.verdict = protocol::Verdict::Correct;
    result.gates = {
        {"build", protocol::GateStatus::Pass, "", "{}"},
        {"numerics",
         protocol::GateStatus::Pass,
         "",
         R"({"maxAbs":0.0156,"mismatches":0,"elements":4096,"worst":{"output":0,"index":[511,7]}})"}};
    result.timings = {{"candidate", "a", "warm", 60, 0, 100, 99, 101, 0, 0, 1, {}},
                      {"eager", "a", "warm", 60, 0, 231, 230, 232, 0, 0, 1, {}}};
    result.comparisons = {{"candidate", "eager", "a", "warm", 2.31, 2.27, 2.35, "faster"}};
    result.done.aaFloorPercent = 0.5;
    return result;
}

} // namespace

class TextTest : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void numbers();
    void diffOfKnownTexts();
    void diffIsShortest();
    void diffGivesUpWhole();
    void stripAnswersInOrder();
    void stripOfBuildFailure();
    void stripExplainsWithDeltas();
    void checklistRefusesWrongAndQuick();
    void cardSaysTheLimitInWords();
    void pinIsComparedThroughTheBaseline();
    void settingsAreWrittenBehind();
    void fontWithoutTheFeatureStays();
};

void TextTest::numbers()
{
    QCOMPARE(ratioText(1.424), QStringLiteral("1.42×"));
    QCOMPARE(ratioText(23.44), QStringLiteral("23.4×"));
    QCOMPARE(timeText(1780), QStringLiteral("1.78 ms"));
    QCOMPARE(timeText(23.44), QStringLiteral("23.4 µs"));
    QCOMPARE(timeText(2100000), QStringLiteral("2.10 s"));
    QCOMPARE(intervalText(1.4, 1.44), QStringLiteral("[1.40, 1.44]"));
}

void TextTest::diffOfKnownTexts()
{
    // The example of Myers' paper: ABCABBA to CBABAC takes 5 edits, so 4 lines are kept.
    int kept = 0;
    QVERIFY(covers(
        diffLines(lines("ABCABBA"), lines("CBABAC")), lines("ABCABBA"), lines("CBABAC"), &kept));
    QCOMPARE(kept, 4);
    const auto same = diffLines(lines("abc"), lines("abc"));
    QCOMPARE(same.size(), std::size_t(1));
    QVERIFY(same.front().same);
    const auto grown = diffLines(lines("ac"), lines("abc"));
    QCOMPARE(grown.size(), std::size_t(3));
    QVERIFY(!grown[1].same);
    QCOMPARE(grown[1].leftTo - grown[1].leftFrom, 0);
    QCOMPARE(grown[1].rightTo - grown[1].rightFrom, 1);
}

void TextTest::diffIsShortest()
{
    QRandomGenerator random(7);
    for (int round = 0; round < 300; ++round) {
        QStringList a;
        QStringList b;
        for (quint32 i = random.bounded(14U); i > 0; --i) {
            a.append(QString::number(random.bounded(4)));
        }
        for (quint32 i = random.bounded(14U); i > 0; --i) {
            b.append(QString::number(random.bounded(4)));
        }
        int kept = 0;
        QVERIFY(covers(diffLines(a, b), a, b, &kept));
        QCOMPARE(kept, longestCommon(a, b));
    }
}

void TextTest::diffGivesUpWhole()
{
    int kept = 0;
    QVERIFY(covers(
        diffLines(lines("xabcdy"), lines("xefghy"), 2), lines("xabcdy"), lines("xefghy"), &kept));
    QCOMPARE(kept, 2);
}

void TextTest::stripAnswersInOrder()
{
    const auto result = correctResult();
    const StripContent strip = describe(result, nullptr, QStringLiteral("parent 6"));
    QCOMPARE(strip.verdict, QStringLiteral("correct"));
    QCOMPARE(strip.verdictTone, Tone::Good);
    QCOMPARE(strip.verdictNote, QStringLiteral("2 gates, 1 variant, full tier"));
    QCOMPARE(strip.verdictDetail, QStringLiteral("largest error 0.0156, output 0 [511, 7]"));
    QVERIFY(strip.vsBest.has_value());
    QVERIFY(qAbs(strip.vsBest->ratio - 2.31) < 1e-9);
    QVERIFY(!strip.vsParent.has_value());
    QCOMPARE(strip.curve.size(), std::size_t(1));
}

void TextTest::stripOfBuildFailure()
{
    evaluation::EvaluationResult result;
    result.finished = true;
    result.verdict = protocol::Verdict::BuildFailed;
    result.build.diagnostics = {{"kernels/a.cpp", 3, 5, "error", "no such name"}};
    const StripContent strip = describe(result, nullptr, QString());
    QCOMPARE(strip.verdict, QStringLiteral("build failed"));
    QCOMPARE(strip.verdictDetail, QStringLiteral("kernels/a.cpp:3  no such name"));
    QCOMPARE(strip.slownessNote, QStringLiteral("not measured: only correct candidates are timed"));
    QVERIFY(strip.why.empty());
}

void TextTest::stripExplainsWithDeltas()
{
    auto result = correctResult();
    auto parent = correctResult();
    result.build.kernels = {{"k", 52, {}, 0, {}}};
    parent.build.kernels = {{"k", 40, {}, 0, {}}};
    // 3 traced calls: 9 launches and 6 ms before, 3 launches and 3 ms now
    parent.done.evidenceJson =
        R"({"calls":3,"kernels":[{"name":"a","count":6,"seconds":0.004},{"name":"b","count":3,"seconds":0.002}]})";
    result.done.evidenceJson = R"({"calls":3,"kernels":[{"name":"ab","count":3,"seconds":0.003}]})";
    result.done.limitJson = R"({"us":71.0,"reached":0.71})";
    const StripContent strip = describe(result, &parent, QStringLiteral("parent"));
    const auto registers = std::find_if(strip.why.begin(), strip.why.end(), [](const WhyFact& f) {
        return f.what == QLatin1String("registers");
    });
    QVERIFY(registers != strip.why.end());
    QCOMPARE(registers->value, QStringLiteral("40 → 52"));
    QCOMPARE(registers->tone, Tone::Bad);
    QCOMPARE(strip.why[0].value, QStringLiteral("−50 %"));
    QCOMPARE(strip.why[1].value, QStringLiteral("3 → 1"));
    QCOMPARE(strip.why.back().value, QStringLiteral("71 %"));
}

void TextTest::cardSaysTheLimitInWords()
{
    auto result = correctResult();
    // 80 MB at 40 GB/s take 2 ms; half of that rate is reached on one variant.
    result.done.limitJson =
        R"({"bytes":80000000,"bytesPerSecond":4e10,"us":2000,"reached":0.5,"variant":"a","variants":[)"
        R"({"variant":"a","reached":0.5},{"variant":"b","reached":0.25}]})";
    const auto rows = cardRows(result);
    const auto row = std::find_if(rows.begin(), rows.end(), [](const CardRow& r) {
        return r.name == QLatin1String("physical limit");
    });
    QVERIFY(row != rows.end());
    QCOMPARE(row->value,
             QStringLiteral("50 %: 80.0 MB moved once at 40.0 GB/s take 2.00 ms (a 50 %, b 25 %)"));
    // A GPU's numbers stay plain; what was not measured is not "0 %"; foreign members do no harm.
    result.done.limitJson =
        R"({"bytes":2400000000,"bytesPerSecond":4.8e12,"us":500,"variants":["a",{"variant":7,"reached":0.5}]})";
    const auto large = cardRows(result);
    QVERIFY(std::any_of(large.begin(), large.end(), [](const CardRow& r) {
        return r.value == QStringLiteral("2400 MB moved once at 4800 GB/s take 500 µs");
    }));
}

void TextTest::checklistRefusesWrongAndQuick()
{
    bool can = false;
    auto result = correctResult();
    const auto rows = acceptChecklist(result, can);
    QVERIFY(can);
    QCOMPARE(rows[1].tone, Tone::Warn); // the full tier is only provisional
    QCOMPARE(rows[3].tone, Tone::Good); // 2.27 is above 1 + 0.5 %
    result.tier = protocol::Tier::Quick;
    acceptChecklist(result, can);
    QVERIFY(!can);
    result.tier = protocol::Tier::Accept;
    result.verdict = protocol::Verdict::Wrong;
    acceptChecklist(result, can);
    QVERIFY(!can);
    result = correctResult();
    result.tier = protocol::Tier::Accept;
    QCOMPARE(acceptChecklist(result, can)[1].tone, Tone::Good);
    result.done.untimed = {"large"};
    const auto partial = acceptChecklist(result, can);
    QVERIFY(can);
    QCOMPARE(partial[1].tone, Tone::Warn);
    QCOMPARE(partial[2].detail, QStringLiteral("not timed: large"));
    result = correctResult();
    result.done.aaFloorPercent = 200; // the interval lies below what unchanged code differs by
    QCOMPARE(acceptChecklist(result, can)[3].tone, Tone::Warn);
}

void TextTest::pinIsComparedThroughTheBaseline()
{
    // 2.0 [1.6, 2.5] over 1.25 [1.0, 1.5625]: 1.6; each end lies a factor of 1.25 from its middle,
    // so two of them lie exp(sqrt(2) ln 1.25) = 1.3710 apart.
    evaluation::EvaluationResult mine;
    mine.comparisons = {{"candidate", "compile:default", "a", "warm", 9, 8, 10, "faster"},
                        {"candidate", "eager", "a", "warm", 2.0, 1.6, 2.5, "faster"},
                        {"candidate", "eager", "b", "warm", 7.0, 6.0, 8.0, "faster"},
                        {"aa", "candidate", "a", "warm", 1.0, 1.0, 1.0, "same"}};
    evaluation::EvaluationResult pinned;
    pinned.comparisons = {{"candidate", "eager", "a", "warm", 1.25, 1.0, 1.5625, "faster"},
                          {"candidate", "eager", "c", "warm", 3.0, 2.0, 4.0, "faster"}};
    const auto pin = storedAgainstPin(mine, pinned, QStringLiteral("pinned candidate 4"));
    QVERIFY(pin.has_value());
    QVERIFY(qAbs(pin->answer.ratio - 1.6) < 1e-9);
    QVERIFY(qAbs(pin->answer.low - 1.6 / 1.3710) < 1e-3);
    QVERIFY(qAbs(pin->answer.high - 1.6 * 1.3710) < 1e-3);
    QCOMPARE(pin->answer.tone, Tone::Neutral);
    QVERIFY(pin->answer.than.contains(QStringLiteral("not interleaved")));
    QVERIFY(
        pin->method.contains(QStringLiteral("against eager in their own runs, 1 warm variant")));
    pinned.comparisons.clear();
    QVERIFY(!storedAgainstPin(mine, pinned, QStringLiteral("pinned candidate 4")));
    QVERIFY(!timedAgainstPin(mine, QStringLiteral("pinned candidate 4"))); // no parent was timed
}

void TextTest::settingsAreWrittenBehind()
{
    const QTemporaryDir folder;
    const std::string file = (folder.path() + QStringLiteral("/x.ini")).toStdString();
    {
        StoredSettings settings(file);
        QCOMPARE(settings.value(QStringLiteral("a/b"), 7).toInt(), 7);
        settings.setValue(QStringLiteral("a/b"), 8);
        settings.setValue(QStringLiteral("a/bytes"), QByteArray("\x00\x01", 2));
        QCOMPARE(settings.value(QStringLiteral("a/b")).toInt(), 8);
    }
    QSettings read(QString::fromStdString(file), QSettings::IniFormat);
    QCOMPARE(read.value(QStringLiteral("a/b")).toInt(), 8);
    QCOMPARE(StoredSettings(file).value(QStringLiteral("a/bytes")).toByteArray(),
             QByteArray("\x00\x01", 2));
}

void TextTest::fontWithoutTheFeatureStays()
{
    const QByteArray noFont("not a font at all, just bytes");
    QCOMPARE(withRenamedFeature(noFont, "calt", "zz01", QStringLiteral("AB"), QStringLiteral("CD")),
             noFont);
}

QTEST_GUILESS_MAIN(TextTest)
#include "text_test.moc"
