// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>
#include <lathe/profile/trace.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace lathe::profile {
namespace {

// 2^61 ns each way: readable one by one, 146 years apart.
TEST(ChromeReader, TimesTooFarApartAreNoTrace)
{
    EXPECT_FALSE(parseChromeTrace(R"([{"ph":"X","name":"a","ts":-2305843009213693,"dur":1},
        {"ph":"X","name":"b","ts":2305843009213693,"dur":1}])"));
    // Microseconds since the epoch beside a forgotten zero are only ugly.
    EXPECT_TRUE(parseChromeTrace(R"([{"ph":"X","name":"a","ts":0,"dur":1},
        {"ph":"X","name":"b","ts":1790857026000000,"dur":1}])"));
}

TEST(ChromeReader, ObjectFormWithMetadataNamesLanes)
{
    const auto trace =
        parseChromeTrace(R"({"schemaVersion":1,"deviceProperties":[{"id":0}],"traceEvents":[
      {"ph":"M","name":"process_name","pid":12,"tid":0,"ts":0,"args":{"name":"python"}},
      {"ph":"M","name":"thread_name","pid":12,"tid":3,"args":{"name":"thread 3 (python) "}},
      {"ph":"M","name":"process_sort_index","pid":12,"args":{"sort_index":50}},
      {"ph":"M","name":"process_sort_index","pid":0,"args":{"sort_index":10}},
      {"ph":"X","cat":"cpu_op","name":"aten::add","pid":12,"tid":3,"ts":5,"dur":2},
      {"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":6,"dur":1,"args":{"stream":7}},
      {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":12,"tid":4,"ts":5,"dur":1}
    ],"traceName":"x.json"})");
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->source, "torch.profiler");
    ASSERT_EQ(trace->lanes.size(), 3u);
    EXPECT_EQ(trace->lanes[0].name, "stream 7");
    EXPECT_EQ(trace->lanes[0].category[0], SpanCategory::Memory);
    EXPECT_EQ(trace->lanes[1].name, "thread 3 (python)");
    EXPECT_EQ(trace->lanes[1].process, "python");
    EXPECT_EQ(trace->lanes[2].category[0], SpanCategory::Runtime);
}

TEST(ChromeReader, TimesAreExactAtTodaysEpoch)
{
    // As doubles both would round to multiples of 0.25 us.
    const auto trace = parseChromeTrace(R"([
      {"ph":"X","name":"a","pid":1,"tid":1,"ts":1764590100123456.100,"dur":0.3},
      {"ph":"X","name":"b","pid":1,"tid":1,"ts":"1764590100123457.437","dur":"1.0005"},
      {"ph":"X","name":"c","pid":1,"tid":1,"ts":1764590100123460,"dur":1.5e1}])");
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->lanes[0].startNs, (std::vector<std::int64_t>{0, 1337, 3900}));
    EXPECT_EQ(trace->lanes[0].durationNs, (std::vector<std::int64_t>{300, 1001, 15000}));
}

TEST(ChromeReader, BeginAndEndPair)
{
    const auto trace = parseChromeTrace(R"([
      {"ph":"B","name":"outer","cat":"operator","pid":1,"tid":1,"ts":0},
      {"ph":"B","name":"inner","cat":"operator","pid":1,"tid":1,"ts":2},
      {"ph":"E","pid":1,"tid":1,"ts":5},
      {"ph":"E","pid":1,"tid":1,"ts":9},
      {"ph":"E","pid":1,"tid":1,"ts":11},
      {"ph":"B","name":"open","cat":"operator","pid":1,"tid":1,"ts":12},
      {"ph":"X","name":"last","pid":1,"tid":2,"ts":15,"dur":5}])");
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->skipped, 1);  // the end at 11 has no beginning
    EXPECT_EQ(trace->repaired, 1); // "open" is closed where the recording ends: at 20
    ASSERT_EQ(trace->lanes.size(), 3u);
    EXPECT_EQ(trace->lanes[0].durationNs, (std::vector<std::int64_t>{9000, 8000}));
    EXPECT_EQ(trace->lanes[1].startNs[0], 2000);
    EXPECT_EQ(trace->lanes[1].durationNs[0], 3000);
}

TEST(ChromeReader, ImpossibleTimesAreCountedNotDropped)
{
    const auto trace = parseChromeTrace(R"([
      {"ph":"X","name":"ok","pid":1,"tid":1,"ts":0,"dur":4},
      {"ph":"X","name":"negative","pid":1,"tid":1,"ts":5,"dur":-3},
      {"ph":"X","name":"no duration","pid":1,"tid":1,"ts":6},
      {"ph":"X","name":"no time","pid":1,"tid":1,"dur":6},
      {"ph":"X","name":"absurd","pid":1,"tid":1,"ts":1e300,"dur":6},
      {"ph":"i","name":"instant","pid":1,"tid":1,"ts":1},
      {"ph":"X","cat":"Trace","name":"PyTorch Profiler (0) ","pid":"Spans","tid":"PyTorch Profiler","ts":-100,"dur":1000}])");
    ASSERT_TRUE(trace);
    EXPECT_EQ(trace->events(), 3u);
    EXPECT_EQ(trace->repaired, 2);
    EXPECT_EQ(trace->skipped, 4);
    EXPECT_EQ(trace->spanNs, 6000);
}

TEST(ChromeReader, EveryTruncationIsAnErrorThatNamesAByte)
{
    const std::string whole =
        R"({"traceEvents":[{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":4,"args":{"stream":7}},)"
        R"({"ph":"X","name":"b\"c","pid":1,"tid":1,"ts":5,"dur":4}],"otherData":{"source":"lathe"}})";
    ASSERT_TRUE(parseChromeTrace(whole));
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
        const auto trace = parseChromeTrace(whole.substr(0, bytes));
        ASSERT_FALSE(trace) << bytes;
        EXPECT_EQ(trace.error().code, ErrorCode::Parse);
        EXPECT_NE(trace.error().message.find("at byte "), std::string::npos)
            << trace.error().message;
    }
    EXPECT_NE(parseChromeTrace(whole.substr(0, 50)).error().message.find("byte 50 of 50"),
              std::string::npos);
}

TEST(ChromeReader, EmptyAndForeignFilesAreErrors)
{
    EXPECT_FALSE(parseChromeTrace(""));
    EXPECT_FALSE(parseChromeTrace("[]"));
    EXPECT_FALSE(parseChromeTrace("{}"));
    EXPECT_FALSE(parseChromeTrace("42"));
    EXPECT_FALSE(parseChromeTrace("[1,2]"));
    EXPECT_FALSE(parseChromeTrace(
        R"({"traceEvents":[{"ph":"M","name":"process_name","args":{"name":"x"}}]})"));
    EXPECT_FALSE(parseChromeTrace(R"([{"ph":"X","name":"a","ts":0,"dur":1}] trailing)"));
}

TEST(ChromeReader, BrokenUtf8IsReplacedAndCounted)
{
    const auto trace = parseChromeTrace(
        "[{\"ph\":\"X\",\"name\":\"a\xff\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1}]");
    ASSERT_TRUE(trace) << trace.error().message;
    EXPECT_EQ(trace->names[0], "a\xEF\xBF\xBD");
    EXPECT_EQ(trace->repaired, 1);
}

TEST(ChromeWriter, RoundTripAndReadableByAnotherParser)
{
    const auto first = parseChromeTrace(R"([
      {"ph":"X","cat":"operator","name":"quote \" and \\ and é","pid":1,"tid":1,"ts":0.001,"dur":10.999},
      {"ph":"X","cat":"kernel","name":"inner","pid":1,"tid":1,"ts":2,"dur":3,"args":{"correlation":9}},
      {"ph":"X","cat":"memory","name":"copy","pid":2,"tid":"s","ts":1,"dur":1}])");
    ASSERT_TRUE(first);
    const std::string text = toChromeTrace(*first);
    const auto json = nlohmann::json::parse(text);
    EXPECT_EQ(json["traceEvents"].size(), 3u + 2u + 2u); // spans, processes, threads
    const auto second = parseChromeTrace(text);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(toNativeTrace(*second), toNativeTrace(*first));
}

TEST(TraceFile, SaysWhyAFileCannotBeRead)
{
    const auto missing = readTraceFile("/nonexistent/trace.json");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().code, ErrorCode::NotFound);
    const std::filesystem::path packed =
        std::filesystem::temp_directory_path() / "lathe_profile_test.json.gz";
    std::ofstream(packed) << "\x1f\x8b\x08";
    const auto compressed = readTraceFile(packed.string());
    std::filesystem::remove(packed);
    ASSERT_FALSE(compressed);
    EXPECT_EQ(compressed.error().code, ErrorCode::Unsupported);
}

// Written by torch.profiler itself (tests/data/profile/record.py); the expected numbers were taken
// from the same file by that script with Python's json module.
TEST(TraceFile, AgreesWithPythonOnARealRecording)
{
    const std::string folder = std::string(LATHE_TEST_DATA) + "/profile/";
    const auto trace = readTraceFile(folder + "torch_cpu.json");
    ASSERT_TRUE(trace) << trace.error().message;
    std::ifstream file(folder + "torch_cpu.expected.json");
    const auto expected = nlohmann::json::parse(file);
    EXPECT_EQ(trace->source, "torch.profiler");
    EXPECT_EQ(trace->events(), expected["spans"].get<std::size_t>());
    EXPECT_EQ(trace->skipped, expected["others"].get<std::int64_t>());
    EXPECT_EQ(trace->repaired, 0);
    EXPECT_EQ(trace->spanNs, expected["spanNs"].get<std::int64_t>());
    EXPECT_EQ(trace->busyNs(SpanCategory::Operator),
              expected["operatorBusyNs"].get<std::int64_t>());
    std::size_t named = 0;
    for (const NameSummary& sum : trace->summarise(0, trace->spanNs + 1)) {
        const auto& row = expected["names"][trace->name(sum.nameId)];
        EXPECT_EQ(sum.count, row["count"].get<std::int64_t>()) << trace->name(sum.nameId);
        EXPECT_EQ(sum.totalNs, row["totalNs"].get<std::int64_t>()) << trace->name(sum.nameId);
        ++named;
    }
    EXPECT_EQ(named, expected["names"].size());
}

} // namespace
} // namespace lathe::profile
