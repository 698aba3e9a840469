// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// Retries and timers with a manual clock and a transport that does what it is told.
#include <lathe/llm/model_client.h>

#include <gtest/gtest.h>

#include <map>

namespace lathe::llm {
namespace {

class ManualTimers final : public Timers
{
public:
    Id after(double seconds, std::function<void()> call) override
    {
        m_calls[++m_last] = {m_now + seconds, std::move(call)};
        return m_last;
    }
    void cancel(Id id) override { m_calls.erase(id); }
    void advance(double seconds)
    {
        const double end = m_now + seconds;
        for (;;) {
            auto next = m_calls.end();
            for (auto it = m_calls.begin(); it != m_calls.end(); ++it) {
                if (it->second.at <= end
                    && (next == m_calls.end() || it->second.at < next->second.at)) {
                    next = it;
                }
            }
            if (next == m_calls.end()) {
                break;
            }
            m_now = next->second.at;
            const auto call = std::move(next->second.call);
            m_calls.erase(next);
            call();
        }
        m_now = end;
    }

private:
    struct Call
    {
        double at = 0;
        std::function<void()> call;
    };
    double m_now = 0;
    Id m_last = 0;
    std::map<Id, Call> m_calls;
};

class ToldTransport final : public Transport
{
public:
    Id start(HttpRequest request, HttpHandlers h) override
    {
        requests.push_back(std::move(request));
        handlers = std::move(h);
        open = true;
        return requests.size();
    }
    void cancel(Id) override
    {
        open = false;
        handlers = {};
    }
    void answer(int status, const std::string& bytes, std::vector<HttpHeader> headers = {})
    {
        handlers.onHead({status, std::move(headers)});
        if (!bytes.empty()) {
            handlers.onBytes(bytes);
        }
        end({});
    }
    void end(Result<void> result)
    {
        open = false;
        const auto done = handlers.onDone;
        done(std::move(result));
    }
    std::vector<HttpRequest> requests;
    HttpHandlers handlers;
    bool open = false;
};

const std::string kGood =
    "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n";

class ModelClientTest : public ::testing::Test
{
protected:
    ModelClientTest()
    {
        ModelClientOptions options;
        options.profile.baseUrl = "http://127.0.0.1:1/v1";
        options.profile.model = "m";
        options.profile.progressSeconds = 100;
        options.key = "the-key";
        options.random = [] { return 0.0; };
        client = std::make_unique<ModelClient>(transport, timers, std::move(options));
    }
    void ask()
    {
        ChatHandlers handlers;
        handlers.onDelta = [this](const Delta& d) {
            streamed += d.kind == Delta::Kind::Text ? d.text : "";
        };
        handlers.onRestart = [this] { streamed += "|"; };
        handlers.onRetry = [this](const ModelFailure&, double seconds) {
            waits.push_back(seconds);
        };
        handlers.onDone = [this](tl::expected<AssistantTurn, ModelFailure> r) {
            ++done;
            result = std::move(r);
        };
        client->ask({"[]", "", 1}, std::move(handlers));
    }
    ToldTransport transport;
    ManualTimers timers;
    std::unique_ptr<ModelClient> client;
    std::string streamed;
    std::vector<double> waits;
    int done = 0;
    tl::expected<AssistantTurn, ModelFailure> result;
};

TEST_F(ModelClientTest, SendsTheKeyBesideTheLoggableHeaders)
{
    ask();
    ASSERT_EQ(transport.requests.size(), 1u);
    EXPECT_EQ(transport.requests[0].url, "http://127.0.0.1:1/v1/chat/completions");
    EXPECT_EQ(transport.requests[0].bearerKey, "the-key");
    for (const auto& header : transport.requests[0].headers) {
        EXPECT_EQ(header.value.find("the-key"), std::string::npos);
    }
    EXPECT_EQ(transport.requests[0].body.find("the-key"), std::string::npos);
}

TEST_F(ModelClientTest, AsksAgainAfterTooManyRequests)
{
    ask();
    transport.answer(429, R"({"error":{"message":"slow down"}})", {{"Retry-After", "7"}});
    EXPECT_EQ(transport.requests.size(), 1u);
    timers.advance(6.9);
    EXPECT_EQ(transport.requests.size(), 1u);
    timers.advance(0.2);
    ASSERT_EQ(transport.requests.size(), 2u);
    transport.answer(200, kGood);
    EXPECT_EQ(done, 1);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->text, "ok");
    EXPECT_EQ(waits, std::vector<double>{7});
}

TEST_F(ModelClientTest, GivesUpAfterSixAttempts)
{
    ask();
    for (int i = 0; i < 6; ++i) {
        ASSERT_EQ(done, 0);
        transport.answer(503, "");
        timers.advance(5);
    }
    EXPECT_EQ(done, 1);
    EXPECT_FALSE(result);
    EXPECT_EQ(waits, (std::vector<double>{0.25, 0.5, 1, 2, 4}));
}

TEST_F(ModelClientTest, NeverAsksAgainForAWrongKey)
{
    ask();
    transport.answer(401, R"({"error":{"message":"bad key"}})");
    EXPECT_EQ(done, 1);
    EXPECT_EQ(result.error().kind, ModelFailure::Kind::Key);
}

TEST_F(ModelClientTest, HalfAnAnswerIsForgottenAndAskedAgain)
{
    ask();
    transport.answer(200, "data: {\"choices\":[{\"delta\":{\"content\":\"ha\"}}]}\n\n");
    EXPECT_EQ(done, 0);
    timers.advance(1);
    transport.answer(200, kGood);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->text, "ok");
    EXPECT_EQ(streamed, "ha|ok");
}

TEST_F(ModelClientTest, CutBehindTheTerminalSignalIsComplete)
{
    ask();
    transport.handlers.onHead({200, {}});
    transport.handlers.onBytes(kGood);
    transport.end(fail(ErrorCode::Network, "reset"));
    EXPECT_TRUE(result);
}

TEST_F(ModelClientTest, KeepAlivesAloneAreNoProgress)
{
    ask();
    transport.handlers.onHead({200, {}});
    for (int i = 0; i < 9; ++i) {
        timers.advance(11);
        transport.handlers.onBytes(": still here\n\n");
    }
    EXPECT_TRUE(transport.open);
    EXPECT_EQ(transport.requests.size(), 1u);
    timers.advance(2);
    EXPECT_EQ(waits.size(), 1u);
    EXPECT_EQ(transport.requests.size(), 2u);
}

TEST_F(ModelClientTest, CancelClosesAndSilences)
{
    ask();
    client->cancel();
    EXPECT_FALSE(transport.open);
    timers.advance(1000);
    EXPECT_EQ(done, 0);
    EXPECT_EQ(transport.requests.size(), 1u);
}

TEST_F(ModelClientTest, CancelInsideADeltaIsSafe)
{
    ChatHandlers handlers;
    handlers.onDelta = [this](const Delta&) { client->cancel(); };
    handlers.onDone = [this](tl::expected<AssistantTurn, ModelFailure>) { ++done; };
    client->ask({"[]", "", 1}, std::move(handlers));
    const auto onBytes = transport.handlers.onBytes;
    transport.handlers.onHead({200, {}});
    onBytes(kGood + kGood);
    EXPECT_EQ(done, 0);
    EXPECT_FALSE(client->busy());
}

} // namespace
} // namespace lathe::llm
