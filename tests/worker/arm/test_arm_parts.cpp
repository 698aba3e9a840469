// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/elf_symbols.h"
#include "cpu/float_mode.h"
#include "profile/chrome_trace.h"
#include "profile/span_log.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cfenv>
#include <thread>

namespace lathe::arm {
namespace {

TEST(ElfSymbols, FindsExportedFunctionsOfARealLibrary)
{
    // The C library is an independent producer; these two are functions of every one of them.
    auto bytes = readFile("/lib/x86_64-linux-gnu/libm.so.6");
    if (!bytes)
        GTEST_SKIP() << "no libm.so.6 at the place of this architecture";
    auto names = exportedFunctions(*bytes, "cb");
    ASSERT_TRUE(names.has_value()) << names.error().message;
    EXPECT_THAT(*names, testing::Contains("rtf")); // cbrtf
    EXPECT_TRUE(std::is_sorted(names->begin(), names->end()));
}

TEST(ElfSymbols, EveryCutOfAFileIsRefusedOrReadButNeverOverrun)
{
    auto bytes = readFile("/lib/x86_64-linux-gnu/libm.so.6");
    if (!bytes)
        GTEST_SKIP() << "no libm.so.6 at the place of this architecture";
    for (std::size_t size : {std::size_t{0},
                             std::size_t{3},
                             std::size_t{63},
                             std::size_t{64},
                             bytes->size() / 2,
                             bytes->size() - 1}) {
        const std::string copy =
            bytes->substr(0, size); // its own block, so that a sanitizer sees an overrun
        auto names = exportedFunctions(copy, "cb");
        if (size < bytes->size() / 2) {
            EXPECT_FALSE(names.has_value()) << size;
        }
    }
    EXPECT_FALSE(exportedFunctions("#!/bin/sh\n", "x").has_value());
}

TEST(FloatMode, SeesAndUndoesWhatIsLeftBehind)
{
    const FloatMode before;
    volatile float third = 1;
    third = third / 3; // sets the sticky inexact flag, which is no mode
    EXPECT_EQ(before.restore(), 0);
    std::fesetround(FE_UPWARD);
    EXPECT_EQ(before.restore(), kRoundingChanged);
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
#if defined(__x86_64__)
    volatile float tiny = 1e-38f;
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8000); // FTZ, Intel SDM vol. 1, 10.2.3
    EXPECT_EQ(tiny / 16, 0.0f);
    EXPECT_EQ(before.restore(), kFlushChanged);
    EXPECT_GT(tiny / 16, 0.0f);
#endif
}

TEST(SpanLog, RecordsOnlyBetweenStartAndStopSortedByStart)
{
    SpanLog log;
    log.add("before", SpanCategory::Kernel, 1, 2);
    log.start();
    log.add("second", SpanCategory::Kernel, 20, 30);
    std::thread([&] { log.add("first", SpanCategory::Operator, 10, 40); }).join();
    const auto spans = log.stop();
    log.add("after", SpanCategory::Kernel, 50, 60);
    ASSERT_EQ(spans.size(), 2u);
    EXPECT_EQ(spans[0].name, "first");
    EXPECT_EQ(spans[1].name, "second");
    EXPECT_NE(spans[0].lane, spans[1].lane);
}

TEST(SpanLog, BusyTimeIsTheUnionOfOwnKernels)
{
    std::vector<Span> spans;
    auto add = [&](std::int64_t start, std::int64_t end, bool own) {
        spans.push_back({"k", SpanCategory::Kernel, start, end, 1, 0, own});
    };
    add(0, 1000, true);
    add(500, 1500, true);  // overlaps: 500 more
    add(600, 700, true);   // inside
    add(3000, 3250, true); // apart: 250
    add(5000, 9000, false);
    EXPECT_DOUBLE_EQ(busySeconds(spans), 1750e-9);
    EXPECT_DOUBLE_EQ(busySeconds({}), 0);
}

TEST(ChromeTrace, WritesExactMicrosecondsAndValidJson)
{
    const std::vector<Span> spans = {
        {"a\"b\\n",
         SpanCategory::Kernel,
         9'007'199'254'740'993,
         9'007'199'254'742'000,
         42,
         3,
         true},
        {"op", SpanCategory::Operator, 1005, 2007, kStreamLaneBase + 7, 0, false}};
    const std::string text = toChromeTrace(spans, "candidate", 42);
    EXPECT_NE(text.find("\"ts\":9007199254740.993,\"dur\":1.007"),
              std::string::npos); // 2^53 + 1 ns survives
    auto json = parseJson(text);
    ASSERT_TRUE(json.has_value()) << json.error().message;
    const auto& events = (*json)["traceEvents"];
    ASSERT_EQ(events.size(), 5u); // process, two lanes, two spans
    EXPECT_EQ(events[0]["args"]["name"], "candidate");
    EXPECT_EQ(events[1]["args"]["name"], "main thread");
    EXPECT_EQ(events[2]["args"]["name"], "stream 7");
    EXPECT_EQ(events[3]["name"], "a\"b\\n");
    EXPECT_EQ(events[3]["cat"], "kernel");
    EXPECT_EQ(events[3]["args"]["correlation"], 3);
    EXPECT_DOUBLE_EQ(events[4]["ts"].get<double>(), 1.005);
    EXPECT_DOUBLE_EQ(events[4]["dur"].get<double>(), 1.002);
}

} // namespace
} // namespace lathe::arm
