// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// Reader and assembler together: bytes of a response to one turn.
#include <lathe/base/json.h>
#include <lathe/llm/stream_reader.h>
#include <lathe/llm/turn_assembler.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace lathe::llm {
namespace {

using Json = nlohmann::json;

struct Outcome
{
    Result<AssistantTurn> turn = fail(ErrorCode::Internal, "");
    std::optional<StreamError> error;
};

Outcome read(const std::vector<std::string>& pieces)
{
    StreamReader reader;
    TurnAssembler assembler;
    std::vector<Delta> deltas;
    for (const auto& piece : pieces) {
        reader.feed(piece, deltas);
    }
    reader.finish(deltas);
    for (const auto& delta : deltas) {
        assembler.apply(delta);
    }
    return {assembler.finish(), assembler.error()};
}

std::string sse(const std::vector<std::string>& payloads)
{
    std::string out;
    for (const auto& p : payloads) {
        out += "data: " + p + "\n\n";
    }
    return out;
}

std::string delta(const std::string& json, const std::string& finish = "null")
{
    return R"({"choices":[{"index":0,"delta":)" + json + R"(,"finish_reason":)" + finish + "}]}";
}

std::string call(const std::string& members)
{
    return delta(R"({"tool_calls":[{)" + members + "}]}");
}

TEST(Stream, IsTheSameForEveryByteSplit)
{
    const std::string stream =
        ": keep-alive\n\n"
        + sse(
            {R"({"choices":[],"usage":null})",
             delta(R"({"role":"assistant","content":null,"refusal":null})"),
             delta(R"({"reasoning_content":"Tail f\u00e4llt"})"),
             delta("{\"content\":\"gr\xC3\xBC\xC3\x9F \"}"),
             delta(R"({"content":"dich"})"),
             call(
                 R"("index":0,"id":"a","type":"function","function":{"name":"write_file","arguments":""})"),
             call(R"("index":0,"function":{"arguments":"{\"path\":\"k"})"),
             call(R"("index":0,"function":{"arguments":".cpp\"}"})"),
             call(
                 R"("index":1,"id":"b","type":"function","function":{"name":"compile","arguments":"{}"})"),
             delta("{}", "\"tool_calls\""),
             R"({"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":4}}})",
             "[DONE]"});
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        const auto outcome = read({stream.substr(0, cut), stream.substr(cut)});
        ASSERT_TRUE(outcome.turn) << "cut at " << cut << ": " << outcome.turn.error().message;
        const auto& turn = *outcome.turn;
        ASSERT_EQ(turn.text, "gr\xC3\xBC\xC3\x9F dich");
        ASSERT_EQ(turn.reasoning, "Tail f\xC3\xA4llt");
        ASSERT_EQ(turn.calls.size(), 2u);
        ASSERT_EQ(turn.calls[0].name, "write_file");
        ASSERT_EQ(turn.calls[0].argumentsJson, R"({"path":"k.cpp"})");
        ASSERT_EQ(turn.calls[1].id, "b");
        ASSERT_TRUE(turn.veto.empty());
        ASSERT_EQ(turn.usage->promptTokens, 11);
        ASSERT_EQ(turn.usage->cachedTokens, 4);
    }
}

TEST(Stream, EndWithoutTerminalSignalIsNoTurn)
{
    const auto outcome =
        read({sse({delta(R"({"content":"half"})"),
                   call(R"("index":0,"id":"a","function":{"name":"submit","arguments":"{}"})")})});
    ASSERT_FALSE(outcome.turn);
    EXPECT_EQ(outcome.turn.error().code, ErrorCode::Protocol);
}

TEST(Stream, FinishReasonIsEnoughWithoutDone)
{
    EXPECT_TRUE(read({sse({delta(R"({"content":"x"})"), delta("{}", "\"stop\"")})}).turn);
}

TEST(Stream, EmptyAnswerIsNoTurn)
{
    EXPECT_FALSE(read({sse({"[DONE]"})}).turn);
    EXPECT_FALSE(read({""}).turn);
}

TEST(Stream, ToolsAreWantedWhateverTheFinishReasonSays)
{
    const auto outcome =
        read({sse({call(R"("index":0,"id":"a","function":{"name":"compile","arguments":"{}"})"),
                   delta("{}", "\"stop\"")})});
    ASSERT_TRUE(outcome.turn);
    EXPECT_EQ(outcome.turn->calls.size(), 1u);
    EXPECT_TRUE(outcome.turn->veto.empty());
}

TEST(Stream, LengthVetoesEvenCompleteCalls)
{
    const auto outcome =
        read({sse({call(R"("index":0,"id":"a","function":{"name":"compile","arguments":"{}"})"),
                   delta("{}", "\"length\"")})});
    ASSERT_TRUE(outcome.turn);
    EXPECT_FALSE(outcome.turn->veto.empty());
}

TEST(Stream, UnparsableArgumentsVetoAndAreReplayedEmpty)
{
    // what llama.cpp sends when the output limit cuts a call: the finish reason lies
    const auto outcome = read({sse(
        {call(R"("index":0,"id":"a","function":{"name":"write_file","arguments":"{\"path\":\"x"})"),
         delta("{}", "\"tool_calls\"")})});
    ASSERT_TRUE(outcome.turn);
    EXPECT_FALSE(outcome.turn->veto.empty());
    EXPECT_EQ(outcome.turn->calls[0].rawArguments, R"({"path":"x)");
    const auto message = Json::parse(outcome.turn->messageJson);
    EXPECT_EQ(message["tool_calls"][0]["function"]["arguments"], "{}");
}

TEST(Stream, ArgumentsThatAreNoObjectVeto)
{
    const auto outcome =
        read({sse({call(R"("index":0,"id":"a","function":{"name":"verify","arguments":"[1]"})"),
                   delta("{}", "\"stop\"")})});
    ASSERT_TRUE(outcome.turn);
    EXPECT_FALSE(outcome.turn->veto.empty());
}

struct CallCase
{
    const char* what;
    std::vector<std::string> pieces;
    std::vector<std::pair<std::string, std::string>> expected; ///< name, arguments
};

class ToolCallPieces : public ::testing::TestWithParam<CallCase>
{};

TEST_P(ToolCallPieces, AreJoined)
{
    std::vector<std::string> payloads;
    for (const auto& piece : GetParam().pieces) {
        payloads.push_back(call(piece));
    }
    payloads.push_back(delta("{}", "\"tool_calls\""));
    const auto outcome = read({sse(payloads)});
    ASSERT_TRUE(outcome.turn) << GetParam().what;
    std::vector<std::pair<std::string, std::string>> got;
    std::vector<std::string> ids;
    for (const auto& c : outcome.turn->calls) {
        got.emplace_back(c.name, c.argumentsJson);
        EXPECT_FALSE(c.id.empty());
        EXPECT_THAT(ids, ::testing::Not(::testing::Contains(c.id)));
        ids.push_back(c.id);
    }
    EXPECT_EQ(got, GetParam().expected) << GetParam().what;
    EXPECT_EQ(outcome.turn->veto, "") << GetParam().what;
}

INSTANTIATE_TEST_SUITE_P(
    Providers,
    ToolCallPieces,
    ::testing::Values(
        CallCase{"no index, no id",
                 {R"("function":{"name":"a","arguments":"{\"x\""})",
                  R"("function":{"arguments":":1}"})"},
                 {{"a", R"({"x":1})"}}},
        CallCase{"no index, two calls",
                 {R"("id":"1","function":{"name":"a","arguments":"{}"})",
                  R"("id":"2","function":{"name":"b","arguments":"{}"})"},
                 {{"a", "{}"}, {"b", "{}"}}},
        CallCase{"all index 0, other ids",
                 {R"("index":0,"id":"1","function":{"name":"a","arguments":"{}"})",
                  R"("index":0,"id":"2","function":{"name":"a","arguments":"{}"})"},
                 {{"a", "{}"}, {"a", "{}"}}},
        CallCase{"id and name in every piece",
                 {R"("index":0,"id":"1","function":{"name":"a","arguments":"{\"x\":"})",
                  R"("index":0,"id":"1","function":{"name":"a","arguments":"2}"})"},
                 {{"a", R"({"x":2})"}}},
        CallCase{"name in every piece, no id",
                 {R"("index":0,"function":{"name":"a","arguments":"{\"x\":"})",
                  R"("index":0,"function":{"name":"a","arguments":"2}"})"},
                 {{"a", R"({"x":2})"}}},
        CallCase{"arguments as an object",
                 {R"("index":0,"id":"1","function":{"name":"a","arguments":{"x":3}})"},
                 {{"a", R"({"x":3})"}}},
        CallCase{"no arguments at all",
                 {R"("index":0,"id":"1","function":{"name":"a"})"},
                 {{"a", "{}"}}},
        CallCase{"indexes interleaved",
                 {R"("index":0,"id":"1","function":{"name":"a","arguments":"{"})",
                  R"("index":1,"id":"2","function":{"name":"b","arguments":"{"})",
                  R"("index":0,"function":{"arguments":"}"})",
                  R"("index":1,"function":{"arguments":"}"})"},
                 {{"a", "{}"}, {"b", "{}"}}},
        CallCase{"null for absent",
                 {R"("index":0,"id":"1","type":null,"function":{"name":"a","arguments":null})",
                  R"("index":0,"id":null,"function":{"name":null,"arguments":"{}"})"},
                 {{"a", "{}"}}}));

TEST(Stream, ProviderMembersAreKeptVerbatim)
{
    const auto outcome = read({sse(
        {delta(R"({"reasoning":"a","reasoning_details":[{"type":"t","data":"1"}]})"),
         delta(R"({"reasoning":"b","reasoning_details":[{"type":"t","data":"2"}]})"),
         call(
             R"("index":0,"id":"1","function":{"name":"x","arguments":"{}"},"extra_content":{"signature":"s"})"),
         delta("{}", "\"tool_calls\"")})});
    ASSERT_TRUE(outcome.turn);
    const auto message = Json::parse(outcome.turn->messageJson);
    EXPECT_EQ(message["reasoning"], "ab");
    EXPECT_EQ(message["reasoning_details"],
              Json::parse(R"([{"type":"t","data":"1"},{"type":"t","data":"2"}])"));
    EXPECT_EQ(message["tool_calls"][0]["extra_content"]["signature"], "s");
    EXPECT_TRUE(message["content"].is_null());
}

TEST(Stream, ErrorObjectInTheStreamWins)
{
    const auto outcome = read(
        {sse({delta(R"({"content":"x"})"), R"({"error":{"message":"overloaded","code":529}})"})});
    ASSERT_TRUE(outcome.error);
    EXPECT_EQ(outcome.error->message, "overloaded");
    EXPECT_EQ(outcome.error->status, 529);
}

TEST(Stream, WebPageInsteadOfAStream)
{
    const auto outcome =
        read({"\r\n<!DOCTYPE html><html><head><tit", "le>Sign in</title></head></html>"});
    ASSERT_TRUE(outcome.error);
    EXPECT_THAT(outcome.error->message, ::testing::HasSubstr("Sign in"));
}

TEST(Stream, WholeCompletionInsteadOfAStream)
{
    const auto outcome = read(
        {R"({"choices":[{"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"1","type":"function","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":3,"completion_tokens":2}})"});
    ASSERT_TRUE(outcome.turn) << outcome.turn.error().message;
    EXPECT_EQ(outcome.turn->text, "hi");
    EXPECT_EQ(outcome.turn->calls.size(), 1u);
    EXPECT_EQ(outcome.turn->usage->completionTokens, 2);
}

TEST(Stream, PlainJsonErrors)
{
    EXPECT_EQ(read({R"({"error":"model not found"})"}).error->message, "model not found");
    EXPECT_EQ(read({R"({"detail":"Not Found"})"}).error->message, "Not Found");
    EXPECT_TRUE(read({R"({"error":)"}).error);
}

TEST(Stream, HostileBytesNeverThrow)
{
    EXPECT_TRUE(read({sse({"{\"choices\":[{\"delta\":{\"content\":\"\xFF\xFE\"},\"finish_reason\":"
                           "\"stop\"}]}"})})
                    .error);
    EXPECT_TRUE(
        read({sse({R"({"choices":[{"delta":{"content":"\ud800"},"finish_reason":"stop"}]})"})})
            .error);
    EXPECT_FALSE(read({sse({R"({"choices":"x"})", R"([1])", "null"})}).turn);
    EXPECT_FALSE(
        read({sse({R"({"choices":[null]})", R"({"choices":[{"delta":{"tool_calls":[null,3]}}]})"})})
            .turn);
    EXPECT_FALSE(read({sse({std::string(5000, '[')})}).turn);
}

TEST(Stream, EventsWithoutTheBlankLineBetween)
{
    const auto outcome = read({"data: " + delta(R"({"content":"a"})") + "\ndata: "
                               + delta(R"({"content":"b"})", "\"stop\"") + "\ndata: [DONE]\n\n"});
    ASSERT_TRUE(outcome.turn);
    EXPECT_EQ(outcome.turn->text, "ab");
}

} // namespace
} // namespace lathe::llm
