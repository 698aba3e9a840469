// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/profile/trace.h>

#include <gtest/gtest.h>

#include <cstring>

namespace lathe::profile {
namespace {

Trace small()
{
    auto trace = parseChromeTrace(R"([
      {"ph":"X","cat":"operator","name":"outer","pid":1,"tid":1,"ts":0,"dur":10},
      {"ph":"X","cat":"operator","name":"inner","pid":1,"tid":1,"ts":2,"dur":3,"args":{"correlation":9}},
      {"ph":"i","name":"instant","pid":1,"tid":1,"ts":1}])");
    EXPECT_TRUE(trace);
    return *trace;
}

TEST(NativeFile, RoundTrip)
{
    const Trace trace = small();
    const std::string bytes = toNativeTrace(trace);
    EXPECT_EQ(bytes.substr(0, 4), "LTRC");
    const auto back = parseNativeTrace(bytes);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->names, trace.names);
    EXPECT_EQ(back->spanNs, 10000);
    EXPECT_EQ(back->skipped, 1);
    ASSERT_EQ(back->lanes.size(), 2u);
    EXPECT_EQ(back->lanes[1].correlation[0], 9u);
    EXPECT_EQ(back->lanes[1].depth, 1);
    EXPECT_EQ(toNativeTrace(*back), bytes);
}

TEST(NativeFile, EveryTruncationIsAnError)
{
    const std::string bytes = toNativeTrace(small());
    for (std::size_t length = 0; length < bytes.size(); ++length)
        EXPECT_FALSE(parseNativeTrace(std::string_view(bytes).substr(0, length))) << length;
    EXPECT_FALSE(parseNativeTrace(bytes + "x"));
}

TEST(NativeFile, EveryFlippedByteIsReadSafelyOrRefused)
{
    const std::string bytes = toNativeTrace(small());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(~damaged[at]);
        const auto trace = parseNativeTrace(damaged);
        if (!trace)
            continue;
        for (const Lane& lane : trace->lanes) {
            for (std::size_t i = 0; i < lane.size(); ++i) {
                EXPECT_LT(lane.nameId[i], trace->names.size());
                EXPECT_GE(lane.durationNs[i], 0);
                EXPECT_LE(lane.startNs[i] + lane.durationNs[i], trace->spanNs);
            }
        }
    }
}

TEST(NativeFile, AHugeCountDoesNotAllocate)
{
    std::string bytes = toNativeTrace(small());
    const std::uint64_t huge = UINT64_MAX / 8;
    // The first lane's count follows its depth: find the column of starts (0) behind count 1.
    const std::uint64_t one = 1;
    char needle[8];
    std::memcpy(needle, &one, 8);
    const std::size_t at = bytes.rfind(std::string(needle, 8), bytes.size() - 25);
    ASSERT_NE(at, std::string::npos);
    std::memcpy(bytes.data() + at, &huge, 8);
    EXPECT_FALSE(parseNativeTrace(bytes));
}

TEST(NativeFile, ANewerVersionIsNamed)
{
    std::string bytes = toNativeTrace(small());
    bytes[4] = 2;
    const auto trace = parseNativeTrace(bytes);
    ASSERT_FALSE(trace);
    EXPECT_EQ(trace.error().code, ErrorCode::Unsupported);
}

} // namespace
} // namespace lathe::profile
