// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/conversation.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace lathe::agent {
namespace {

TEST(Conversation, CondensesOldResultsAndKeepsEveryCallAnswered)
{
    Conversation c;
    c.system("s");
    c.user("u");
    for (int i = 0; i < 10; ++i) {
        const std::string id = "c" + std::to_string(i);
        c.assistant(R"({"role":"assistant","content":null,"tool_calls":[{"id":")" + id
                    + R"(","type":"function","function":{"name":"x","arguments":"{}"}}]})");
        c.toolResult(id, std::string(7000, 'x'), "short");
    }
    const auto before = c.estimatedTokens();
    EXPECT_GT(before, 20000);           // 70,000 bytes at 3.5 bytes a token
    EXPECT_EQ(c.condense(12000, 6), 4); // six are kept whatever the target
    const auto json = nlohmann::json::parse(c.json());
    ASSERT_EQ(json.size(), 22u);
    for (std::size_t i = 2; i < json.size(); i += 2) {
        EXPECT_EQ(json[i]["tool_calls"][0]["id"], json[i + 1]["tool_call_id"]);
    }
    EXPECT_EQ(json[3]["content"], "short");
    EXPECT_EQ(json[21]["content"].get<std::string>().size(), 7000u);
    EXPECT_EQ(c.condense(12000, 6), 0);
    EXPECT_EQ(c.condense(5500, 0), 4); // two whole results are 4000 tokens, three 6000
}

TEST(Conversation, PrefixStaysByteEqual)
{
    Conversation c;
    c.system("s\xFF");
    c.user("u");
    const std::string first = c.json();
    c.assistant("{\"role\":\"assistant\",\"z\":1,\"a\":2}");
    EXPECT_EQ(c.json().substr(0, first.size() - 1), first.substr(0, first.size() - 1));
    EXPECT_NE(c.json().find("{\"role\":\"assistant\",\"z\":1,\"a\":2}"), std::string::npos);
}

} // namespace
} // namespace lathe::agent
