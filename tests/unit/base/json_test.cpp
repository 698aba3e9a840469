// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lathe {
namespace {

TEST(Json, ReadsMembersWithoutThrowing)
{
    const auto value = parseJson(R"({"s": "x", "i": 7, "d": 2.5, "b": true, "null": null})");
    ASSERT_TRUE(value.has_value());
    EXPECT_EQ(stringOr(*value, "s"), "x");
    EXPECT_EQ(stringOr(*value, "i", "fallback"), "fallback");
    EXPECT_EQ(stringOr(*value, "null", "fallback"), "fallback");
    EXPECT_EQ(intOr(*value, "i", 0), 7);
    EXPECT_EQ(intOr(*value, "absent", -3), -3);
    EXPECT_EQ(numberOr(*value, "d", 0), 2.5);
    EXPECT_EQ(numberOr(*value, "i", 0), 7.0);
    EXPECT_TRUE(boolOr(*value, "b", false));
    EXPECT_EQ(stringOr(nlohmann::json::array(), "s", "fallback"), "fallback");
}

TEST(Json, RefusesBrokenAndOverDeepTexts)
{
    for (const char* text : {"", "{", "{\"a\": }", "[1, 2", "nul"}) {
        const auto value = parseJson(text);
        ASSERT_FALSE(value.has_value()) << text;
        EXPECT_EQ(value.error().code, ErrorCode::Parse);
    }
    EXPECT_FALSE(parseJson(std::string(100'000, '[')).has_value());
    EXPECT_TRUE(parseJson(std::string(100, '[') + std::string(100, ']')).has_value());
}

TEST(Json, WritesInvalidUtf8AsReplacement)
{
    EXPECT_EQ(dumpJson(nlohmann::json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(Json, KeepsTheOrderOfOrderedObjects)
{
    const auto value = parseOrderedJson(R"({"z":1,"a":2})");
    ASSERT_TRUE(value.has_value());
    EXPECT_EQ(dumpJson(*value), R"({"z":1,"a":2})");
}

} // namespace
} // namespace lathe
