// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/agent/trajectory.h>
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/candidates/candidate_model.h>
#include <lathe/ui/evaluation/benchmark_model.h>
#include <lathe/ui/evaluation/gates_model.h>
#include <lathe/ui/evaluation/problems_model.h>
#include <lathe/ui/tasks/task_model.h>
#include <lathe/ui/trajectory/trajectory_model.h>

#include <QAbstractItemModelTester>
#include <QTest>

using namespace lathe;
using namespace lathe::ui;

namespace {

session::CandidateRow candidate(const char* id,
                                const char* parent,
                                int number,
                                std::optional<protocol::Verdict> verdict = {})
{
    session::CandidateRow row{
        .id = CandidateId(id), .number = number, .label = "c" + std::to_string(number)};
    if (*parent != 0) {
        row.parent = CandidateId(parent);
    }
    row.verdict = verdict;
    return row;
}

agent::TrajectoryItem item(int step,
                           std::int64_t seq,
                           const char* kind,
                           const char* title,
                           const char* text,
                           const char* status = "",
                           bool partial = false)
{
    agent::TrajectoryItem value;
    value.step = step;
    value.seq = seq;
    value.kind = kind;
    value.title = title;
    value.text = text;
    value.status = status;
    value.partial = partial;
    return value;
}

constexpr auto kStrict = QAbstractItemModelTester::FailureReportingMode::QtTest;

} // namespace

class ModelsTest : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void tasksShowStatusAndBest();
    void candidatesAreATree();
    void candidatesGrowInPlace();
    void benchmarkFindsTheComparison();
    void gatesGrowInPlace();
    void problemsSayWhere();
    void toolResultJoinsItsCall();
    void aStoppedRunLeavesNothingRunning();
    void streamedTextGrowsInPlace();
    void editShowsItsDiff();
};

void ModelsTest::tasksShowStatusAndBest()
{
    TaskModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    session::TaskRow fresh{.key = "starter/a", .status = "not run"};
    session::TaskRow fast{.key = "starter/b", .status = "correct"};
    fast.best = evaluation::Speedup{"compile:default", 2.31, 2.27, 2.35, "faster"};
    session::TaskRow wrong{.key = "starter/c", .status = "wrong"};
    model.setTasks({fresh, fast, wrong});
    QCOMPARE(model.rowCount(), 3);
    QCOMPARE(model.index(0).data().toString(), QStringLiteral("a"));
    QCOMPARE(model.index(0).data(RightRole).toString(), QStringLiteral("not run"));
    QCOMPARE(model.index(1).data(RightRole).toString(), QStringLiteral("2.31×"));
    QCOMPARE(model.index(1).data(RightToneRole).toInt(), static_cast<int>(Tone::Good));
    QCOMPARE(model.index(2).data(RightToneRole).toInt(), static_cast<int>(Tone::Bad));
    QCOMPARE(model.indexOf("starter/c").row(), 2);
}

void ModelsTest::candidatesAreATree()
{
    CandidateModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    model.setCandidates({candidate("1", "", 1, protocol::Verdict::Correct),
                         candidate("2", "1", 2, protocol::Verdict::Wrong),
                         candidate("3", "1", 3),
                         candidate("4", "3", 4)});
    QCOMPARE(model.rowCount(), 1);
    const QModelIndex root = model.index(0, 0);
    QCOMPARE(model.rowCount(root), 2);
    QCOMPARE(model.indexOf(CandidateId("4")).parent().data(KeyRole).toString(),
             QStringLiteral("3"));
    QCOMPARE(model.count(), 4);
    QCOMPARE(model.branches(), 2);
    QCOMPARE(model.indexOf(CandidateId("2")).data(RightRole).toString(), QStringLiteral("wrong"));
    model.setCandidates({candidate("9", "", 1)}); // another task
    QCOMPARE(model.count(), 1);
}

void ModelsTest::candidatesGrowInPlace()
{
    CandidateModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    model.setCandidates({candidate("1", "", 1)});
    const QPersistentModelIndex first(model.indexOf(CandidateId("1")));
    model.setCandidates(
        {candidate("1", "", 1, protocol::Verdict::Correct), candidate("2", "1", 2)});
    QVERIFY(first.isValid());
    QCOMPARE(first.data(RightRole).toString(), QStringLiteral("correct"));
    QCOMPARE(model.rowCount(first), 1);
}

void ModelsTest::benchmarkFindsTheComparison()
{
    BenchmarkModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    auto result = std::make_shared<evaluation::EvaluationResult>();
    result->timings = {{"candidate", "v", "warm", 60, 2, 1780, 1760, 1800, 0, 0, 0.8, {}},
                       {"eager", "v", "warm", 60, 0, 7620, 7600, 7640, 0, 0, 0.5, {}}};
    result->comparisons = {{"candidate", "eager", "v", "warm", 4.28, 4.22, 4.34, "faster"}};
    model.setResult(result);
    QCOMPARE(model.index(0, BenchmarkModel::Median).data().toString(), QStringLiteral("1.78 ms"));
    QCOMPARE(model.index(1, BenchmarkModel::Ratio).data().toString(),
             QStringLiteral("4.28× [4.22, 4.34] faster"));
    // 1780 of the slowest arm's upper end, 7640
    QVERIFY(qAbs(model.index(0, BenchmarkModel::Plot).data(BenchmarkModel::MidRole).toDouble()
                 - 1780.0 / 7640.0)
            < 1e-12);
    QCOMPARE(model.index(0, BenchmarkModel::Samples).data().toString(),
             QStringLiteral("60, 2 discarded"));
    model.setResult(nullptr);
    QCOMPARE(model.rowCount(), 0);
}

void ModelsTest::gatesGrowInPlace()
{
    GatesModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    model.setGates({{"build", protocol::GateStatus::Pass, "built", "{}"}});
    model.setGates({{"build", protocol::GateStatus::Pass, "built", "{}"},
                    {"numerics", protocol::GateStatus::Fail, "one element", "{}"}});
    QCOMPARE(model.rowCount(), 2);
    QCOMPARE(model.index(1, GatesModel::Status).data(GlyphToneRole).toInt(),
             static_cast<int>(Tone::Bad));
    model.setGates({{"contract", protocol::GateStatus::Warn, "", "{}"}});
    QCOMPARE(model.rowCount(), 1);
}

void ModelsTest::problemsSayWhere()
{
    ProblemsModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    model.setProblems({{"kernels/a.cpp", 3, 5, "error", "no such name"}});
    QCOMPARE(model.index(0, ProblemsModel::Place).data().toString(),
             QStringLiteral("kernels/a.cpp:3:5"));
}

void ModelsTest::toolResultJoinsItsCall()
{
    TrajectoryModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    model.add(item(1, 1, "tool_call", "verify", "{}", "running"));
    model.add(item(1, 2, "tool_result", "verify", "Wrong in the last 5 elements.", "failed"));
    QCOMPARE(model.rowCount(), 1);
    QCOMPARE(model.index(0).data(TrajectoryModel::ToneRole).toInt(), static_cast<int>(Tone::Bad));
    QCOMPARE(model.index(0).data(TrajectoryModel::TextRole).toString(),
             QStringLiteral("Wrong in the last 5 elements."));
    model.add(item(2, 3, "tool_call", "verify", "{}", "running"));
    QCOMPARE(model.rowCount(), 2); // another step's call is a row of its own
    const std::vector<Tone> expected{Tone::Bad, Tone::Muted};
    QVERIFY(model.stages() == expected);
}

void ModelsTest::aStoppedRunLeavesNothingRunning()
{
    TrajectoryModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    model.add(item(1, 1, "tool_call", "compile", "", "running"));
    QCOMPARE(model.index(0).data(TrajectoryModel::ToneRole).toInt(),
             static_cast<int>(Tone::Accent));
    model.add(item(1, 2, "stopped", "cancelled", "stopped by the user"));
    QCOMPARE(model.index(0).data(TrajectoryModel::ToneRole).toInt(), static_cast<int>(Tone::Muted));
}

void ModelsTest::streamedTextGrowsInPlace()
{
    TrajectoryModel model;
    const QAbstractItemModelTester tester(&model, kStrict);
    model.add(item(1, 0, "thinking", "", "Read", "", true));
    model.add(item(1, 0, "thinking", "", "Read each row\nonce\nand keep it", "", true));
    model.add(item(1, 4, "thinking", "", "Read each row\nonce\nand keep it\nin registers"));
    QCOMPARE(model.rowCount(), 1);
    QCOMPARE(model.index(0).data(TrajectoryModel::MetaRole).toString(), QStringLiteral("4 lines"));
    QCOMPARE(model.index(0).data(TrajectoryModel::TextRole).toString(),
             QStringLiteral("Read each row\nonce")); // folded
    model.toggleFold(0);
    QVERIFY(model.index(0)
                .data(TrajectoryModel::TextRole)
                .toString()
                .endsWith(QStringLiteral("in registers")));
}

void ModelsTest::editShowsItsDiff()
{
    TrajectoryModel model;
    model.add(
        item(1, 1, "tool_call", "edit_file kernels/rmsnorm.cpp", "- i < n - 8\n+ i + 8 <= n\n"));
    QCOMPARE(model.index(0).data(TrajectoryModel::TitleRole).toString(),
             QStringLiteral("edit rmsnorm.cpp"));
    QCOMPARE(model.index(0).data(TrajectoryModel::DiffRole).toString(),
             QStringLiteral("- i < n - 8\n+ i + 8 <= n"));
}

QTEST_GUILESS_MAIN(ModelsTest)
#include "models_test.moc"
