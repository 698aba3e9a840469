// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/scrubber.h>

#include <gtest/gtest.h>

namespace lathe::agent {
namespace {

std::string clean(std::string_view text)
{
    return Scrubber({"hunter2-hunter2", "abc"}).clean(text);
}

TEST(Scrubber, RemovesKnownValuesAndKeyShapes)
{
    for (const char* text :
         {"key hunter2-hunter2 end",
          "sk-abcdefghijklmnopqrstuvwxyz012345",
          "x=ghp_abcdefghijklmnopqrstuvwxyz0123456789",
          "Authorization: Bearer abcdefgh12345678",
          "authorization: Basic dXNlcjpwYXNzd29yZA==",
          "{\"x-api-key\": \"0123456789abcdef\"}",
          "AKIAIOSFODNN7EXAMPLE",
          "\\nsk-abcdefghijklmnopqrstuvwxyz012345",
          "-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----"}) {
        const auto out = clean(text);
        EXPECT_NE(out.find("[secret removed]"), std::string::npos) << text << " -> " << out;
        for (const char* part : {"hunter2", "abcdefgh", "dXNlcj", "0123456789", "IOSFOD", "MIIB"}) {
            EXPECT_EQ(out.find(part), std::string::npos) << out;
        }
    }
}

TEST(Scrubber, LeavesOrdinaryTextAlone)
{
    for (const char* text : {"the task-key is starter/rmsnorm",
                             "risk-averse-people-like-long-hyphenated-words-here",
                             "sk-short",
                             "abc",
                             "authorization is needed",
                             "for (int i = 0; i < sk; ++i)",
                             "Bearer of news"}) {
        EXPECT_EQ(clean(text), text);
    }
}

TEST(Scrubber, IsLinearOnLongText)
{
    const std::string big(8u << 20, 's');
    EXPECT_EQ(clean(big), big);
}

} // namespace
} // namespace lathe::agent
