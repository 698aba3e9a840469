// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/text.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe {
namespace {

using testing::ElementsAre;

TEST(Text, SplitsLinesWithEitherEnding)
{
    EXPECT_THAT(splitLines("a\r\nb\n\nc"), ElementsAre("a", "b", "", "c"));
    EXPECT_THAT(splitLines("a\n"), ElementsAre("a"));
    EXPECT_THAT(splitLines(""), ElementsAre());
}

TEST(Text, JoinsAndTrims)
{
    EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
    EXPECT_EQ(join({}, ", "), "");
    EXPECT_EQ(trimmed(" \t a b\n"), "a b");
    EXPECT_EQ(trimmed(" \n"), "");
}

// Examples of RFC 3629, section 3 and 10: overlong NUL, a surrogate, a truncated sequence, the last
// code point.
TEST(Text, ReplacesEveryInvalidByte)
{
    const std::string replacement = "\xef\xbf\xbd";
    EXPECT_EQ(toValidUtf8("A\xe2\x89\xa2\xce\x91."), "A\xe2\x89\xa2\xce\x91.");
    EXPECT_EQ(toValidUtf8("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf");
    EXPECT_EQ(toValidUtf8("\xc0\x80"), replacement + replacement);
    EXPECT_EQ(toValidUtf8("\xed\xa0\x80"), replacement + replacement + replacement);
    EXPECT_EQ(toValidUtf8("a\xe2\x89"), "a" + replacement + replacement);
    EXPECT_EQ(toValidUtf8(std::string_view("a\0b", 3)), "ab");
}

TEST(Text, KeepsHeadAndTailAtCharacterBoundaries)
{
    EXPECT_EQ(headAndTail("short", 5), "short");
    EXPECT_EQ(headAndTail("0123456789", 4), "01\n[... 6 bytes left out ...]\n89");
    const std::string cut = headAndTail("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 6);
    EXPECT_EQ(toValidUtf8(cut), cut);
}

TEST(Text, QuotesForAShell)
{
    EXPECT_EQ(shellQuote("plain-1.0"), "plain-1.0");
    EXPECT_EQ(shellQuote(""), "''");
    EXPECT_EQ(shellQuote("it's $x"), "'it'\\''s $x'");
}

} // namespace
} // namespace lathe
