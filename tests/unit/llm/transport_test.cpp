// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The curl transport against a real socket: the scripted model server on the loopback.
#include "model_server/model_server.h"

#include <lathe/base/files.h>
#include <lathe/llm/model_client.h>

#include <gmock/gmock.h>

#include <chrono>

namespace lathe::llm {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kKey = "sk-test-0123456789";

class TransportTest : public ::testing::Test
{
protected:
    std::unique_ptr<testing::ModelServer> serve(const std::string& script)
    {
        return std::make_unique<testing::ModelServer>(
            io, *testing::parseScript(ordered_json::parse(script), "."));
    }
    void open(const std::string& baseUrl, double idleSeconds = 60)
    {
        ModelClientOptions options;
        options.profile.baseUrl = baseUrl;
        options.profile.model = "m";
        options.profile.idleSeconds = idleSeconds;
        options.key = kKey;
        options.tap = tap;
        options.retry.baseSeconds = 0.001;
        client = std::make_unique<ModelClient>(*transport, *timers, std::move(options));
    }
    void ask()
    {
        ChatHandlers handlers;
        handlers.onDelta = [this](const Delta& d) {
            streamed += d.kind == Delta::Kind::Text ? d.text : "";
        };
        handlers.onRetry = [this](const ModelFailure& failure, double) {
            retries.push_back(failure.message);
        };
        handlers.onDone = [this](tl::expected<AssistantTurn, ModelFailure> r) {
            done = true;
            result = std::move(r);
        };
        client->ask({R"([{"role":"user","content":"x"}])", "", 1}, std::move(handlers));
    }
    /// Runs the loop until the condition holds; false when it does not within a generous time.
    template <class Condition>
    bool runUntil(Condition condition)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
        while (!condition() && std::chrono::steady_clock::now() < end) {
            io.run_one_for(std::chrono::milliseconds(50));
        }
        return condition();
    }
    boost::asio::io_context io;
    std::unique_ptr<Transport> transport = makeCurlTransport(io);
    std::unique_ptr<Timers> timers = makeAsioTimers(io);
    std::shared_ptr<RecordingWriter> tap;
    std::unique_ptr<ModelClient> client;
    std::string streamed;
    std::vector<std::string> retries;
    bool done = false;
    tl::expected<AssistantTurn, ModelFailure> result;
};

TEST_F(TransportTest, StreamsATurn)
{
    auto server = serve(
        R"({"keepAlives":true,"turns":[{"reasoning":"why","text":"hello there, this is long enough for pieces",
        "calls":[{"name":"write_file","arguments":{"path":"kernels/a.cpp","content":"\u00e4\n"}}]}]})");
    open(server->baseUrl());
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->text, "hello there, this is long enough for pieces");
    EXPECT_EQ(streamed, result->text);
    EXPECT_EQ(result->reasoning, "why");
    ASSERT_EQ(result->calls.size(), 1u);
    EXPECT_EQ(result->calls[0].argumentsJson,
              "{\"path\":\"kernels/a.cpp\",\"content\":\"\xC3\xA4\\n\"}");
    EXPECT_THAT(server->requests().at(0).head,
                HasSubstr(std::string("Authorization: Bearer ") + kKey));
    EXPECT_TRUE(result->usage);
}

TEST_F(TransportTest, EveryFaultIsAskedAgain)
{
    auto server = serve(
        R"({"turns":[{"text":"fine","faults":[{"kind":"http","status":429,"header":"Retry-After: 0.01","body":"{}"},
        {"kind":"http","status":503},{"kind":"cut","after":2},{"kind":"error_in_stream","after":2,"body":"overloaded"}]}]})");
    open(server->baseUrl());
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->text, "fine");
    EXPECT_EQ(retries.size(), 4u);
    EXPECT_EQ(server->requests().size(), 5u);
}

TEST_F(TransportTest, ClosedPortIsANetworkFailureWithoutTheKey)
{
    auto server = serve(R"({"turns":[]})");
    const auto url = server->baseUrl();
    server.reset();
    open(url);
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, ModelFailure::Kind::Network);
    EXPECT_EQ(retries.size(), 5u);
    EXPECT_THAT(result.error().message + result.error().detail, Not(HasSubstr(kKey)));
}

TEST_F(TransportTest, SilenceEndsTheRequest)
{
    auto server = serve(R"({"turns":[{"text":"late","faults":[{"kind":"stall","after":1}]}]})");
    open(server->baseUrl(), 0.2);
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(retries.size(), 1u);
}

TEST_F(TransportTest, CancelClosesTheConnection)
{
    auto server = serve(R"({"turns":[{"text":"never","faults":[{"kind":"stall","after":3}]}]})");
    open(server->baseUrl());
    ask();
    ASSERT_TRUE(runUntil([&] { return server->openConnections() == 1; }));
    client->cancel();
    ASSERT_TRUE(runUntil([&] { return server->openConnections() == 0; }));
    EXPECT_FALSE(done);
}

TEST_F(TransportTest, KeyNeverFollowsARedirectToAnotherHost)
{
    auto other = serve(R"({"turns":[{"text":"stolen"}]})");
    auto server = serve(
        R"({"turns":[{"text":"x","faults":[{"kind":"redirect","status":307,"header":"Location: )"
        + other->baseUrl() + R"(/chat/completions"}]}]})");
    open(server->baseUrl());
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_FALSE(result);
    EXPECT_TRUE(other->requests().empty());
    EXPECT_TRUE(retries.empty());
}

TEST_F(TransportTest, RedirectWithinTheHostIsFollowed)
{
    auto server = serve(
        R"({"turns":[{"text":"moved","faults":[{"kind":"redirect","status":308,"header":"Location: /v2/chat/completions"}]}]})");
    open(server->baseUrl());
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->text, "moved");
    EXPECT_THAT(server->requests().at(1).head, HasSubstr("/v2/chat/completions"));
    EXPECT_THAT(server->requests().at(1).head, HasSubstr(kKey));
}

TEST_F(TransportTest, WebPageSaysWhatToCheck)
{
    auto server = serve(
        R"({"turns":[{"text":"x","faults":[{"kind":"html","body":"<html><title>Portal</title></html>"}]}]})");
    open(server->baseUrl());
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("baseUrl"));
}

TEST_F(TransportTest, RecordedBytesReplayToTheSameTurn)
{
    const auto folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-tap-");
    tap = *RecordingWriter::create(folder / "x.jsonl", {}, kKey);
    auto server = serve(
        R"({"chunkCharacters":3,"turns":[{"text":"gr\u00fc\u00df dich","calls":[{"name":"compile"}],"faults":[{"kind":"cut","after":4}]}]})");
    open(server->baseUrl());
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_TRUE(result) << result.error().message;
    const auto live = *result;
    client.reset();
    tap.reset();
    auto recording = std::make_shared<Recording>(*readRecording(folder / "x.jsonl"));
    transport = makeReplayTransport(io, recording, 0);
    done = false;
    open("http://127.0.0.1:1/none");
    ask();
    ASSERT_TRUE(runUntil([&] { return done; }));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->messageJson, live.messageJson);
    EXPECT_EQ(result->usage->promptTokens, live.usage->promptTokens);
    client.reset();
    std::filesystem::remove_all(folder);
}

TEST_F(TransportTest, DestructionWithARequestInFlightIsSafe)
{
    auto server = serve(R"({"turns":[{"text":"x","faults":[{"kind":"stall","after":1}]}]})");
    open(server->baseUrl());
    ask();
    ASSERT_TRUE(runUntil([&] { return server->openConnections() == 1; }));
    client.reset();
    transport.reset();
    ASSERT_TRUE(runUntil([&] { return server->openConnections() == 0; }));
}

} // namespace
} // namespace lathe::llm
