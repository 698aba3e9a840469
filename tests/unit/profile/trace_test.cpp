// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/profile/trace.h>

#include <gtest/gtest.h>

namespace lathe::profile {
namespace {

// thread 1:  outer [0, 100)  holding  mul [10, 40) and mul [40, 60);  lone [150, 200)
// stream 7:  k [20, 50), k [90, 130)
constexpr const char* kTwoLanes = R"([
  {"ph":"X","cat":"cpu_op","name":"outer","pid":1,"tid":1,"ts":1000,"dur":100},
  {"ph":"X","cat":"cpu_op","name":"mul","pid":1,"tid":1,"ts":1010,"dur":30},
  {"ph":"X","cat":"cpu_op","name":"mul","pid":1,"tid":1,"ts":1040,"dur":20},
  {"ph":"X","cat":"cpu_op","name":"lone","pid":1,"tid":1,"ts":1150,"dur":50},
  {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1020,"dur":30,"args":{"correlation":5,"stream":7}},
  {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1090,"dur":40,"args":{"correlation":6,"stream":7}}
])";

const NameSummary*
find(const Trace& trace, const std::vector<NameSummary>& sums, const std::string& name)
{
    for (const NameSummary& sum : sums)
        if (trace.name(sum.nameId) == name)
            return &sum;
    return nullptr;
}

TEST(Trace, NestedSpansSitOnDeeperSubLanes)
{
    const auto trace = parseChromeTrace(kTwoLanes);
    ASSERT_TRUE(trace) << trace.error().message;
    ASSERT_EQ(trace->lanes.size(), 3u);
    EXPECT_EQ(trace->lanes[0].depth, 0);
    EXPECT_EQ(trace->lanes[0].startNs, (std::vector<std::int64_t>{0, 150000}));
    EXPECT_EQ(trace->lanes[1].depth, 1);
    EXPECT_EQ(trace->lanes[1].startNs, (std::vector<std::int64_t>{10000, 40000}));
    EXPECT_EQ(trace->lanes[2].name, "stream 7");
    EXPECT_EQ(trace->lanes[2].correlation, (std::vector<std::uint32_t>{5, 6}));
    EXPECT_EQ(trace->spanNs, 200000);
    EXPECT_EQ(trace->events(), 6u);
}

TEST(Trace, SumsPerNameLargestFirst)
{
    const auto trace = parseChromeTrace(kTwoLanes);
    ASSERT_TRUE(trace);
    const auto sums = trace->summarise(0, trace->spanNs);
    ASSERT_EQ(sums.size(), 4u);
    EXPECT_EQ(trace->name(sums[0].nameId), "outer");
    const NameSummary* mul = find(*trace, sums, "mul");
    ASSERT_NE(mul, nullptr);
    EXPECT_EQ(mul->count, 2);
    EXPECT_EQ(mul->totalNs, 50000);
    EXPECT_EQ(mul->minNs, 20000);
    EXPECT_EQ(mul->maxNs, 30000);
    const NameSummary* kernel = find(*trace, sums, "k");
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->totalNs, 70000);
    EXPECT_EQ(kernel->category, SpanCategory::Kernel);
}

TEST(Trace, SumsAreClippedToTheRange)
{
    const auto trace = parseChromeTrace(kTwoLanes);
    ASSERT_TRUE(trace);
    const auto sums = trace->summarise(30000, 100000); // [30, 100) us
    EXPECT_EQ(find(*trace, sums, "outer")->totalNs, 70000);
    EXPECT_EQ(find(*trace, sums, "mul")->totalNs, 10000 + 20000);
    EXPECT_EQ(find(*trace, sums, "k")->totalNs, 20000 + 10000);
    EXPECT_EQ(find(*trace, sums, "lone"), nullptr);
    EXPECT_TRUE(trace->summarise(130000, 150000).empty());
}

TEST(Trace, BusyTimeIsTheUnionOverLanes)
{
    const auto trace = parseChromeTrace(kTwoLanes);
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->busyNs(SpanCategory::Operator),
              150000); // [0,100) and [150,200): nested ones add nothing
    EXPECT_EQ(trace->busyNs(SpanCategory::Kernel), 70000);
    EXPECT_EQ(trace->busyNs(SpanCategory::Memory), 0);
}

TEST(Trace, OverlappingKernelsOfOneStreamAllStay)
{
    // a [0,10) b [5,15) c [8,12) d [12,14): c overlaps a and sits inside b; d sits inside b.
    const auto trace = parseChromeTrace(R"([
      {"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10},{"ph":"X","name":"b","pid":1,"tid":1,"ts":5,"dur":10},
      {"ph":"X","name":"c","pid":1,"tid":1,"ts":8,"dur":4},{"ph":"X","name":"d","pid":1,"tid":1,"ts":12,"dur":2}])");
    ASSERT_TRUE(trace);
    ASSERT_EQ(trace->lanes.size(), 3u);
    EXPECT_EQ(trace->name(trace->lanes[0].nameId[0]), "a");
    EXPECT_EQ(trace->name(trace->lanes[1].nameId[0]), "b");
    ASSERT_EQ(trace->lanes[2].size(), 2u);
    EXPECT_EQ(trace->name(trace->lanes[2].nameId[0]), "c");
    EXPECT_EQ(trace->name(trace->lanes[2].nameId[1]), "d");
    EXPECT_EQ(trace->busyNs(SpanCategory::Other), 15000);
}

} // namespace
} // namespace lathe::profile
