// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "fake_session.h"

#include <lathe/ui/candidates/candidate_pane.h>
#include <lathe/ui/candidates/work_list_panel.h>
#include <lathe/ui/compare/compare_view.h>
#include <lathe/ui/editor/code_editor.h>
#include <lathe/ui/evaluation/accept_dialog.h>
#include <lathe/ui/evaluation/export_dialog.h>
#include <lathe/ui/evaluation/result_strip.h>
#include <lathe/ui/shell/action_registry.h>
#include <lathe/ui/shell/main_window.h>
#include <lathe/ui/shell/status_panel.h>
#include <lathe/ui/shell/widget_report.h>
#include <lathe/ui/shell/workbench.h>
#include <lathe/ui/trajectory/agent_panel.h>
#include <lathe/ui/trajectory/trajectory_model.h>

#include <QAction>
#include <QApplication>
#include <QFile>
#include <QJsonDocument>
#include <QJsonObject>
#include <QListView>
#include <QPlainTextEdit>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>

#include <algorithm>
#include <csignal>

using namespace lathe;
using namespace lathe::ui;
using lathe::test::FakeSession;

namespace {

/// A window over a fake session, shown offscreen. Made anew per test; the workspace may be shared
/// to "reopen".
struct Bench
{
    explicit Bench(const QString& folder)
        : theme(true)
        , session(folder.toStdString(), adapter.executor(), adapter)
    {}
    void open()
    {
        workbench = std::make_unique<Workbench>(session, adapter);
        window = std::make_unique<MainWindow>(theme, *workbench);
        window->show();
        workbench->start(QString());
        QCoreApplication::processEvents();
        QVERIFY(QTest::qWaitForWindowExposed(window.get()));
        QTRY_VERIFY(pane()->currentEditor() != nullptr);
    }
    template <class T>
    T* find() const
    {
        return window->findChild<T*>();
    }
    CandidatePane* pane() const { return find<CandidatePane>(); }
    CodeEditor* editor() const { return pane()->currentEditor(); }
    const StripContent& strip() const { return find<ResultStrip>()->content(); }
    bool called(const std::string& what) const
    {
        return std::find(session.calls.begin(), session.calls.end(), what) != session.calls.end();
    }
    void key(Qt::Key key) const { QTest::keyClick(window->windowHandle(), key); }

    Theme theme;
    SessionAdapter adapter;
    FakeSession session;
    std::unique_ptr<Workbench> workbench;
    std::unique_ptr<MainWindow> window;
};

} // namespace

class FlowsTest : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }
    void runMakesAChildAndReplacesQuickByFull();
    void unchangedTextIsRunAgainNotCopied();
    void buildFailureShowsAtItsLine();
    void stopEndsEvaluationAndAgent();
    void draftIsSavedAndRestored();
    void openingAnotherKeepsTheText();
    void acceptAndWithdraw();
    void exportAsks();
    void agentStreamsAndOpensCandidates();
    void windowKeysWorkInTheEditor();
    void reopensWhereItWas();
    void everyActionIsRegisteredOnce();
    void widgetsHaveNames();
    void widgetReportFindsWhatIsShown();
    void bothSidesOfACompareShowTheChange();

private:
    std::unique_ptr<QTemporaryDir> m_folder;
};

void FlowsTest::runMakesAChildAndReplacesQuickByFull()
{
    Bench bench(m_folder->path());
    const CandidateId first = bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.open();
    QTRY_COMPARE(bench.strip().verdict, QStringLiteral("correct"));
    bench.editor()->replaceText(bench.editor()->text() + QStringLiteral("// faster\n"));
    bench.key(Qt::Key_F5);
    QTRY_VERIFY(bench.called("evaluate quick thenFull"));
    QVERIFY(bench.called("createCandidate edited by hand"));
    QCOMPARE(bench.session.rows.back().parent, std::optional(first));
    QTRY_VERIFY(bench.workbench->candidate() != nullptr
                && bench.workbench->candidate()->number == 2);
    QVERIFY(!bench.pane()->isChanged());
    for (int i = 0; i < 4; ++i) {
        bench.session.step();
    }
    QTRY_VERIFY(bench.strip().vsBest.has_value());
    QVERIFY(bench.strip().provisional);
    QVERIFY(qAbs(bench.strip().vsBest->ratio - 1.9) < 0.01);
    bench.session.playAll();
    QTRY_VERIFY(!bench.strip().provisional && !bench.strip().running);
    QVERIFY(qAbs(bench.strip().vsBest->ratio - 2.0) < 0.01);
    QTRY_VERIFY(!bench.workbench->evaluating());
}

void FlowsTest::unchangedTextIsRunAgainNotCopied()
{
    Bench bench(m_folder->path());
    bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.open();
    bench.key(Qt::Key_F5);
    QTRY_VERIFY(bench.called("evaluate quick thenFull"));
    QCOMPARE(bench.session.rows.size(), std::size_t(1));
}

void FlowsTest::buildFailureShowsAtItsLine()
{
    Bench bench(m_folder->path());
    bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.open();
    bench.editor()->replaceText(QStringLiteral("int a;\nint b;\nint c = BREAK;\n"));
    bench.key(Qt::Key_F5);
    QTRY_VERIFY(bench.called("evaluate quick thenFull"));
    bench.session.playAll();
    QTRY_COMPARE(bench.strip().verdict, QStringLiteral("build failed"));
    QTRY_COMPARE(bench.editor()->problemCount(), 1);
    QVERIFY(bench.editor()->problemTextAt(3).contains(QStringLiteral("'BREAK' was not declared")));
    bench.editor()->replaceText(QStringLiteral("int a;\nint b;\nint c = 1;\n"));
    bench.key(Qt::Key_F5);
    QTRY_COMPARE(bench.session.rows.size(), std::size_t(3));
    QTRY_VERIFY(bench.workbench->evaluating());
    bench.session.playAll();
    QTRY_COMPARE(bench.strip().verdict, QStringLiteral("correct"));
    QCOMPARE(bench.editor()->problemCount(), 0);
}

void FlowsTest::stopEndsEvaluationAndAgent()
{
    Bench bench(m_folder->path());
    bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.open();
    bench.key(Qt::Key_F5);
    QTRY_VERIFY(bench.workbench->evaluating());
    bench.key(Qt::Key_F6);
    QTRY_VERIFY(bench.workbench->agentRunning());
    bench.key(Qt::Key_Escape);
    QVERIFY(!bench.called("cancel")); // one press stops nothing
    bench.key(Qt::Key_Escape);
    QTRY_VERIFY(bench.called("cancel"));
    QVERIFY(bench.called("stopAgent"));
    QTRY_VERIFY(!bench.workbench->evaluating() && !bench.workbench->agentRunning());
    QVERIFY(!bench.window->actions().action(QStringLiteral("all.stop"))->isEnabled());
}

void FlowsTest::draftIsSavedAndRestored()
{
    Bench bench(m_folder->path());
    bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.open();
    bench.editor()->replaceText(QStringLiteral("// not run yet\n"));
    QTRY_VERIFY_WITH_TIMEOUT(bench.called("saveDraft"), 1500);
    QVERIFY(bench.session.draft.has_value());

    Bench again(m_folder->path());
    again.session.rows = bench.session.rows;
    again.session.sources = bench.session.sources;
    again.session.results = bench.session.results;
    again.session.draft = bench.session.draft;
    again.open();
    QTRY_COMPARE(again.editor()->text(), QStringLiteral("// not run yet\n"));
    QVERIFY(again.pane()->isChanged());
}

void FlowsTest::openingAnotherKeepsTheText()
{
    Bench bench(m_folder->path());
    const CandidateId first = bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.session.seed("second", first, protocol::Verdict::Correct, 1.2);
    bench.open();
    bench.editor()->replaceText(QStringLiteral("// precious\n"));
    auto* tree = bench.find<WorkListPanel>()->findChild<QTreeView*>();
    tree->setCurrentIndex(tree->model()->index(0, 0));
    QTRY_COMPARE(bench.session.rows.size(), std::size_t(3));
    const auto& kept = bench.session.sources.at(bench.session.rows.back().id.text());
    QVERIFY(std::any_of(kept.files.begin(), kept.files.end(), [](const auto& f) {
        return f.text == "// precious\n";
    }));
    QTRY_VERIFY(bench.workbench->candidate()->id == first);
}

void FlowsTest::acceptAndWithdraw()
{
    Bench bench(m_folder->path());
    bench.session.seed("fast", {}, protocol::Verdict::Correct, 2.31);
    bench.open();
    QAction* accept = bench.window->actions().action(QStringLiteral("candidate.accept"));
    QTRY_VERIFY(accept->isEnabled());
    accept->trigger();
    auto* dialog = bench.window->findChild<AcceptDialog*>();
    QVERIFY(dialog != nullptr);
    dialog->findChild<QPlainTextEdit*>()->setPlainText(QStringLiteral("looked at"));
    Q_EMIT dialog->acceptRequested(dialog->note());
    dialog->close();
    QTRY_VERIFY(bench.called("accept looked at"));
    QTRY_VERIFY(bench.workbench->candidate()->accepted.has_value());
    QTRY_VERIFY(bench.window->findChild<AcceptDialog*>() == nullptr);
    accept->trigger();
    dialog = bench.window->findChild<AcceptDialog*>();
    QVERIFY(dialog->windowTitle().contains(QStringLiteral("Accepted")));
    Q_EMIT dialog->withdrawRequested(QStringLiteral("wrong size"));
    dialog->close();
    QTRY_VERIFY(bench.called("withdraw wrong size"));
}

void FlowsTest::exportAsks()
{
    Bench bench(m_folder->path());
    bench.session.seed("fast", {}, protocol::Verdict::Correct, 2.31);
    bench.open();
    bench.window->actions().action(QStringLiteral("candidate.export"))->trigger();
    auto* dialog = bench.window->findChild<ExportDialog*>();
    QVERIFY(dialog != nullptr);
    Q_EMIT dialog->exportRequested(dialog->format(), QStringLiteral("/nowhere/out"));
    dialog->close();
    QTRY_VERIFY(bench.called("export kernelbench /nowhere/out"));
    QTRY_VERIFY(bench.find<StatusPanel>()->noteText().contains(QStringLiteral("Exported 1 files")));
}

void FlowsTest::agentStreamsAndOpensCandidates()
{
    Bench bench(m_folder->path());
    const CandidateId first = bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.session.seed("second", first, protocol::Verdict::Correct, 1.2);
    bench.open();
    auto* panel = bench.find<AgentPanel>();
    QTRY_COMPARE(panel->provider(), QStringLiteral("replay:demo"));
    bench.key(Qt::Key_F6);
    QTRY_VERIFY(bench.called("startAgent replay:demo"));
    QTRY_VERIFY(bench.workbench->agentRunning());
    std::vector<session::RunRow> runs;
    bench.session.runs({}, [&](Result<std::vector<session::RunRow>> rows) { runs = *rows; });
    QTRY_COMPARE(runs.size(), std::size_t(1));
    agent::TrajectoryItem item;
    item.run = runs.front().run;
    item.step = 1;
    item.seq = 1;
    item.kind = "tool_result";
    item.title = "benchmark";
    item.text = "1.2x";
    item.status = "ok";
    item.candidate = first.text();
    bench.session.stream(item);
    QTRY_COMPARE(panel->model().rowCount(), 1);
    Q_EMIT panel->candidateOpened(QString::fromStdString(first.text()));
    QTRY_VERIFY(bench.workbench->candidate() != nullptr
                && bench.workbench->candidate()->id == first);
    Q_EMIT panel->steered(QStringLiteral("mind the tail"));
    QTRY_VERIFY(bench.called("steer mind the tail"));
    bench.session.items = {item};
    bench.session.finishRun("submitted");
    QTRY_VERIFY(!bench.workbench->agentRunning());
}

void FlowsTest::windowKeysWorkInTheEditor()
{
    Bench bench(m_folder->path());
    const CandidateId first = bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.session.seed("second", first, protocol::Verdict::Correct, 1.2);
    bench.open();
    QTRY_VERIFY(bench.window->actions().action(QStringLiteral("candidate.compare"))->isEnabled());
    bench.pane()->focusEditor();
    const QString text = bench.editor()->text();
    QTest::keyClick(bench.window->windowHandle(), Qt::Key_D, Qt::ControlModifier);
    QTRY_VERIFY(bench.pane()->comparing());
    bench.pane()->showCompare(false);
    bench.pane()->focusEditor();
    QTest::keyClick(
        bench.window->windowHandle(), Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
    QTRY_VERIFY(!bench.theme.isDark());
    QCOMPARE(bench.editor()->text(), text); // neither was taken as an editing command
}

void FlowsTest::reopensWhereItWas()
{
    Bench bench(m_folder->path());
    const CandidateId first = bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.session.seed("second", first, protocol::Verdict::Correct, 1.2);
    bench.open();
    bench.workbench->openCandidate(first);
    QTRY_VERIFY(bench.workbench->candidate()->id == first);
    bench.window->close();

    Bench again(m_folder->path());
    again.session.rows = bench.session.rows;
    again.session.sources = bench.session.sources;
    again.session.results = bench.session.results;
    again.open();
    QTRY_VERIFY(again.workbench->candidate() != nullptr
                && again.workbench->candidate()->id == first);
    QTRY_COMPARE(again.strip().verdict, QStringLiteral("correct"));
}

void FlowsTest::everyActionIsRegisteredOnce()
{
    Bench bench(m_folder->path());
    bench.open();
    QStringList ids;
    QStringList keys;
    for (const auto& entry : bench.window->actions().entries()) {
        QVERIFY2(!ids.contains(entry.id), qPrintable(entry.id));
        QVERIFY2(entry.keys.isEmpty() || !keys.contains(entry.keys), qPrintable(entry.keys));
        ids.append(entry.id);
        keys.append(entry.keys);
        QVERIFY(!entry.action->text().isEmpty());
    }
    QVERIFY(ids.size() > 15);
}

void FlowsTest::widgetsHaveNames()
{
    Bench bench(m_folder->path());
    bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.open();
    for (QAbstractItemView* view : bench.window->findChildren<QAbstractItemView*>()) {
        // A header belongs to its table, which has the name.
        QVERIFY2(view->inherits("QHeaderView") || !view->accessibleName().isEmpty(),
                 view->metaObject()->className());
    }
    for (CodeEditor* editor : bench.window->findChildren<CodeEditor*>()) {
        QVERIFY(!editor->accessibleName().isEmpty()
                || qobject_cast<QWidget*>(editor->parent())->accessibleName().size() > 0);
    }
}

void FlowsTest::widgetReportFindsWhatIsShown()
{
    Bench bench(m_folder->path());
    bench.session.seed("naive", {}, protocol::Verdict::Correct, 0.61);
    bench.open();
    QTRY_COMPARE(bench.strip().verdict, QStringLiteral("correct"));
    const QString path = m_folder->filePath(QStringLiteral("widgets.json"));
    const WidgetReport report(path);
    QCOMPARE(::raise(SIGUSR1), 0);
    QTRY_VERIFY(QFile::exists(path));
    QFile file(path);
    QVERIFY(file.open(QIODevice::ReadOnly));
    const QJsonArray widgets = QJsonDocument::fromJson(file.readAll()).array();
    const auto find = [&](const QString& role, const QString& name) -> QJsonObject {
        for (const QJsonValue& value : widgets) {
            const QJsonObject object = value.toObject();
            if (object[QStringLiteral("role")] == role
                && object[QStringLiteral("name")].toString().startsWith(name)) {
                return object;
            }
        }
        return {};
    };
    const QJsonObject run = find(QStringLiteral("Button"), QStringLiteral("Run"));
    QVERIFY(!run.isEmpty() && !run.contains(QStringLiteral("disabled")));
    const QJsonArray rect = run[QStringLiteral("rect")].toArray();
    const QPoint middle(rect[0].toInt() + rect[2].toInt() / 2,
                        rect[1].toInt() + rect[3].toInt() / 2);
    QWidget* there = QApplication::widgetAt(middle);
    QVERIFY(there != nullptr);
    QCOMPARE(there->accessibleName(), QStringLiteral("Run"));
    // Nothing runs, so there is nothing to stop.
    QVERIFY(find(QStringLiteral("Button"), QStringLiteral("Stop"))
                .contains(QStringLiteral("disabled")));
    QVERIFY(find(QStringLiteral("TreeItem"), QStringLiteral("candidate 1 naive"))
                .contains(QStringLiteral("selected")));
    QVERIFY(find(QStringLiteral("StaticText"), QStringLiteral("Verdict: "))[QStringLiteral("name")]
                .toString()
                .contains(QStringLiteral("correct")));
}

void FlowsTest::bothSidesOfACompareShowTheChange()
{
    const Theme theme(true);
    CompareView view(theme);
    view.resize(900, 400);
    QString left;
    for (int line = 1; line <= 300; ++line) {
        left += QStringLiteral("line %1\n").arg(line);
    }
    // As when its tab is opened for the first time: the texts are there before it was ever shown.
    view.setTexts(QStringLiteral("a.cpp"),
                  QStringLiteral("1"),
                  left,
                  QStringLiteral("2"),
                  QString(left).replace(QStringLiteral("line 250\n"), QStringLiteral("changed\n")));
    view.show();
    view.showFirstChange();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    const auto editors = view.findChildren<CodeEditor*>();
    QCOMPARE(editors.size(), 2);
    // Line 250 is row 249; three rows above it stay visible.
    QTRY_COMPARE(editors[0]->firstVisibleRow(), 246);
    QCOMPARE(editors[1]->firstVisibleRow(), 246);
}

QTEST_MAIN(FlowsTest)
#include "flows_test.moc"
