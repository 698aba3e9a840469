// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/timeline/timeline_view.h>

#include <gtest/gtest.h>

#include <QAccessible>
#include <QImage>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

namespace lathe::ui {
namespace {

using profile::Trace;

std::shared_ptr<const Trace> parse(const std::string& json)
{
    auto trace = profile::parseChromeTrace(json);
    EXPECT_TRUE(trace) << trace.error().message;
    return std::make_shared<const Trace>(std::move(*trace));
}

std::string span(const std::string& name, double ts, double dur, int tid = 1)
{
    return R"({"ph":"X","cat":"operator","name":")" + name + R"(","pid":1,"tid":)"
           + std::to_string(tid) + ",\"ts\":" + std::to_string(ts)
           + ",\"dur\":" + std::to_string(dur) + "}";
}

/// eager: add [0,100) pow [100,300) mul [400,500) mul [500,550) us; pow holds inner [150,200).
std::shared_ptr<const Trace> eager(double scale = 1)
{
    return parse("[" + span("aten::add", 10, 100 * scale) + ","
                 + span("aten::pow", 10 + 100 * scale, 200 * scale) + ","
                 + span("inner", 10 + 150 * scale, 50 * scale) + ","
                 + span("aten::mul", 10 + 400 * scale, 100 * scale) + ","
                 + span("aten::mul", 10 + 500 * scale, 50 * scale) + "]");
}

std::shared_ptr<const Trace> candidate()
{
    return parse("[" + span("rmsnorm_residual", 900, 200) + "]");
}

class TimelineViewTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        view.resize(1000, 300);
        view.setRows(
            {{"eager", "0.55 ms, 4 ops", eager(), TimelineAccent::Reference, false},
             {"candidate 7", "0.20 ms, 1 kernel", candidate(), TimelineAccent::Candidate, true}});
        view.show();
        ASSERT_TRUE(QTest::qWaitForWindowExposed(&view));
        view.setFocus();
    }
    QPoint middleOf(const SpanRef& ref) { return view.spanRect(ref).center().toPoint(); }
    TimelineView view;
};

constexpr SpanRef kAdd{0, 0, 0};
constexpr SpanRef kPow{0, 0, 1};
constexpr SpanRef kMul{0, 0, 2};
constexpr SpanRef kInner{0, 1, 0};
constexpr SpanRef kCandidate{1, 0, 0};

TEST_F(TimelineViewTest, RowsShareOneAxisFromTheirFirstSpan)
{
    EXPECT_DOUBLE_EQ(view.spanRect(kAdd).left(), view.xAt(0));
    EXPECT_DOUBLE_EQ(view.spanRect(kCandidate).left(), view.xAt(0));
    // 200 us is as wide in one row as in the other.
    EXPECT_NEAR(view.spanRect(kCandidate).width(), view.spanRect(kPow).width(), 1e-6);
    EXPECT_LT(view.xAt(550000), view.width()); // everything is visible
    EXPECT_GT(view.xAt(550000), view.width() * 0.9);
}

TEST_F(TimelineViewTest, ClickSelectsAndSumsAgreeWithTheTrace)
{
    QSignalSpy spy(&view, &TimelineView::selectionChanged);
    QTest::mouseClick(&view, Qt::LeftButton, {}, middleOf(kMul));
    ASSERT_EQ(spy.count(), 1);
    const TimelineSelection& selection = view.selection();
    ASSERT_TRUE(selection.span);
    EXPECT_EQ(*selection.span, kMul);
    EXPECT_EQ(selection.name, "aten::mul");
    EXPECT_EQ(selection.startNs, 400000);
    EXPECT_EQ(selection.durationNs, 100000);
    EXPECT_EQ(selection.count, 2);
    EXPECT_EQ(selection.totalNs, 150000);
    EXPECT_EQ(selection.minNs, 50000);
    EXPECT_EQ(selection.maxNs, 100000);
    QTest::mouseClick(
        &view, Qt::LeftButton, {}, QPoint(static_cast<int>(view.xAt(350000)), middleOf(kMul).y()));
    EXPECT_FALSE(view.selection().span);
}

TEST_F(TimelineViewTest, NestedSpansCanBeClicked)
{
    QTest::mouseClick(&view, Qt::LeftButton, {}, middleOf(kInner));
    ASSERT_TRUE(view.selection().span);
    EXPECT_EQ(view.selection().name, "inner");
}

TEST_F(TimelineViewTest, ShiftDragMeasuresARange)
{
    const int y = middleOf(kAdd).y();
    const QPoint from(static_cast<int>(view.xAt(50000)), y);
    const QPoint to(static_cast<int>(view.xAt(450000)), y);
    const std::int64_t fromNs = std::llround(view.timeAt(from.x()));
    const std::int64_t toNs = std::llround(view.timeAt(to.x()));
    QTest::mousePress(&view, Qt::LeftButton, Qt::ShiftModifier, from);
    QTest::mouseMove(&view, to);
    QTest::mouseRelease(&view, Qt::LeftButton, Qt::ShiftModifier, to);
    ASSERT_TRUE(view.selection().rangeNs);
    EXPECT_EQ(view.selection().rangeNs->first, fromNs);
    EXPECT_EQ(view.selection().rangeNs->second, toNs);
    view.selectSpan(kMul); // only the first mul reaches into the range
    EXPECT_EQ(view.selection().count, 1);
    EXPECT_EQ(view.selection().totalNs, toNs - 400000);
}

TEST_F(TimelineViewTest, ZoomKeepsTheTimeUnderThePointer)
{
    const QPoint pointer(433, 60);
    for (const int notch : {120, 120, 120, 240, -120, 120}) {
        const double before = view.timeAt(pointer.x());
        const double width = view.spanRect(kPow).width();
        QWheelEvent wheel(pointer,
                          view.mapToGlobal(pointer),
                          {},
                          {0, notch},
                          Qt::NoButton,
                          Qt::NoModifier,
                          Qt::NoScrollPhase,
                          false);
        QApplication::sendEvent(&view, &wheel);
        EXPECT_NEAR(view.timeAt(pointer.x()), before, 1e-3);
        EXPECT_EQ(view.spanRect(kPow).width() > width, notch > 0);
    }
    QTest::keyClick(&view, Qt::Key_0);
    EXPECT_GT(view.xAt(550000), view.width() * 0.9);
}

TEST_F(TimelineViewTest, DragPansWithThePointer)
{
    view.zoomAt(500, 4);
    const QPoint from(500, 200);
    const double held = view.timeAt(from.x());
    QTest::mousePress(&view, Qt::LeftButton, {}, from);
    QTest::mouseMove(&view, from + QPoint(60, 0));
    QTest::mouseMove(&view, from + QPoint(120, 0));
    EXPECT_NEAR(view.timeAt(from.x() + 120), held, 1e-3);
    QTest::mouseRelease(&view, Qt::LeftButton, {}, from + QPoint(120, 0));
    EXPECT_FALSE(view.selection().span); // a drag is no click
}

TEST_F(TimelineViewTest, ArrowsReachEverySpan)
{
    QTest::keyClick(&view, Qt::Key_Right);
    ASSERT_TRUE(view.selection().span);
    EXPECT_EQ(*view.selection().span, kAdd);
    QTest::keyClick(&view, Qt::Key_Right);
    EXPECT_EQ(*view.selection().span, kPow);
    QTest::keyClick(&view, Qt::Key_Down);
    EXPECT_EQ(*view.selection().span, kInner);
    QTest::keyClick(&view, Qt::Key_Down);
    EXPECT_EQ(*view.selection().span, kCandidate);
    QTest::keyClick(&view, Qt::Key_Up);
    EXPECT_EQ(*view.selection().span, kInner);
    QTest::keyClick(&view, Qt::Key_Up);
    QTest::keyClick(&view, Qt::Key_End);
    EXPECT_EQ(view.selection().startNs, 500000);
    QTest::keyClick(&view, Qt::Key_Escape);
    EXPECT_FALSE(view.selection().span);
}

TEST_F(TimelineViewTest, AReBenchmarkKeepsZoomAndSelection)
{
    view.zoomAt(300, 2.5);
    view.selectSpan({0, 0, 3}); // the second mul
    const double left = view.timeAt(200);
    const double right = view.timeAt(900);
    view.setRows({{"eager", "", eager(0.9), TimelineAccent::Reference, false},
                  {"candidate 8", "", candidate(), TimelineAccent::Candidate, true}});
    EXPECT_DOUBLE_EQ(view.timeAt(200), left);
    EXPECT_DOUBLE_EQ(view.timeAt(900), right);
    ASSERT_TRUE(view.selection().span);
    EXPECT_EQ(view.selection().name, "aten::mul");
    EXPECT_EQ(view.selection().startNs, 450000); // 0.9 * 500 us
    view.setRows({{"candidate 8", "", candidate(), TimelineAccent::Candidate, true}});
    EXPECT_FALSE(view.selection().span); // its row is gone
}

TEST_F(TimelineViewTest, AFittedViewStaysFitted)
{
    view.setRows({{"eager", "", eager(10), TimelineAccent::Reference, false}});
    EXPECT_LT(view.xAt(5500000), view.width());
    EXPECT_GT(view.xAt(5500000), view.width() * 0.9);
}

TEST_F(TimelineViewTest, SearchFindsByNameInReadingOrder)
{
    EXPECT_EQ(view.search("MUL"), 2);
    view.nextMatch();
    EXPECT_EQ(*view.selection().span, kMul);
    view.nextMatch();
    EXPECT_EQ(view.selection().startNs, 500000);
    view.nextMatch(); // wraps
    EXPECT_EQ(*view.selection().span, kMul);
    view.nextMatch(true);
    EXPECT_EQ(view.selection().startNs, 500000);
    EXPECT_EQ(view.search("nothing of the kind"), 0);
    EXPECT_EQ(view.search("r"), 2); // inner and rmsnorm_residual
}

TEST_F(TimelineViewTest, SlashOpensTheSearchField)
{
    auto* field = view.findChild<QLineEdit*>("timelineSearch");
    ASSERT_NE(field, nullptr);
    EXPECT_FALSE(field->isVisible());
    QTest::keyClick(&view, Qt::Key_Slash);
    EXPECT_TRUE(field->isVisible());
    QTest::keyClicks(field, "pow");
    QTest::keyClick(field, Qt::Key_Return);
    ASSERT_TRUE(view.selection().span);
    EXPECT_EQ(*view.selection().span, kPow);
    QTest::keyClick(field, Qt::Key_Escape);
    EXPECT_FALSE(field->isVisible());
}

TEST_F(TimelineViewTest, AScreenReaderHearsTheSelectedSpan)
{
    QAccessibleInterface* accessible = QAccessible::queryAccessibleInterface(&view);
    ASSERT_NE(accessible, nullptr);
    EXPECT_EQ(accessible->role(), QAccessible::Chart);
    EXPECT_EQ(accessible->text(QAccessible::Name), "Timeline, nothing selected");
    view.selectSpan(kMul);
    EXPECT_TRUE(accessible->text(QAccessible::Name).contains("aten::mul"));
    EXPECT_TRUE(accessible->text(QAccessible::Name).contains("2 calls"));
    EXPECT_TRUE(accessible->text(QAccessible::Description).contains("candidate 7"));
}

TEST_F(TimelineViewTest, PaintsSpansInTheirRowsColour)
{
    TimelineColors colors = TimelineColors::fromPalette(view.palette());
    colors.reference = Qt::red;
    colors.candidate = Qt::green;
    view.setColors(colors);
    const QImage image = view.grab().toImage();
    const auto at = [&](const SpanRef& ref) {
        const QRectF rect = view.spanRect(ref);
        return image.pixelColor(static_cast<int>(rect.right()) - 4,
                                static_cast<int>(rect.top()) + 2);
    };
    EXPECT_EQ(at(kAdd), QColor(Qt::red));
    EXPECT_EQ(at(kCandidate), QColor(Qt::green));
    EXPECT_EQ(view.paintStats().spansDrawn, 6);
    EXPECT_GE(view.paintStats().labelsDrawn, 5);
}

TEST_F(TimelineViewTest, AMillionSpansCostNoMoreThanTheirPixels)
{
    Trace big;
    big.names = {"k"};
    big.lanes.resize(1);
    profile::Lane& lane = big.lanes[0];
    constexpr std::int64_t kCount = 1'000'000;
    for (std::int64_t i = 0; i < kCount; ++i) {
        lane.startNs.push_back(i * 1000);
        lane.durationNs.push_back(700);
        lane.nameId.push_back(0);
        lane.correlation.push_back(0);
        lane.category.push_back(profile::SpanCategory::Kernel);
    }
    big.spanNs = kCount * 1000;
    view.setRows({{"big",
                   "",
                   std::make_shared<const Trace>(std::move(big)),
                   TimelineAccent::Candidate,
                   false}});
    view.fitAll();
    for (int step = 0; step < 12; ++step) {
        view.grab();
        const TimelinePaintStats& stats = view.paintStats();
        EXPECT_LE(stats.spansDrawn + stats.columnsDrawn, view.width()) << step;
        EXPECT_LE(stats.steps, view.width() * 42) << step;
        view.zoomAt(500, 3);
    }
    view.grab();
    EXPECT_GT(view.paintStats().spansDrawn, 0); // zoomed in far enough to see single spans
}

TEST_F(TimelineViewTest, AnEmptyStackPaintsAndTakesKeys)
{
    view.setRows({});
    view.grab();
    QTest::keyClick(&view, Qt::Key_Right);
    QTest::keyClick(&view, Qt::Key_End);
    QTest::keyClick(&view, Qt::Key_W);
    view.setRows({{"compile", "not captured", nullptr, TimelineAccent::Compiled, false}});
    view.grab();
    QTest::keyClick(&view, Qt::Key_Down);
    EXPECT_FALSE(view.selection().span);
}

} // namespace
} // namespace lathe::ui
