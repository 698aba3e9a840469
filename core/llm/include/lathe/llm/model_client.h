// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/llm/chat_decoder.h>
#include <lathe/llm/endpoint_profile.h>
#include <lathe/llm/recording.h>
#include <lathe/llm/retry_policy.h>
#include <lathe/llm/timers.h>
#include <lathe/llm/transport.h>
#include <lathe/llm/turn_assembler.h>

#include <functional>
#include <memory>
#include <string>

namespace lathe::llm {

/// One question to the model. The texts are inserted as they are, so that an unchanged prefix stays
/// byte-equal.
struct ChatRequest
{
    std::string messagesJson; ///< an array's text
    std::string toolsJson;    ///< an array's text; empty: no tools
    int turn = 1;
};

struct ChatHandlers
{
    std::function<void(const Delta&)> onDelta;
    std::function<void()> onRestart; ///< a retry begins: forget the deltas so far
    std::function<void(const ModelFailure&, double waitSeconds)> onRetry;
    std::function<void(tl::expected<AssistantTurn, ModelFailure>)>
        onDone; ///< once, unless cancelled
};

struct ModelClientOptions
{
    EndpointProfile profile;
    std::string key;
    RetryPolicy retry;
    std::function<double()> random;       ///< in [0, 1); for the jitter
    std::shared_ptr<RecordingWriter> tap; ///< null: nothing is recorded
};

/// Asks one model, one question at a time, with retries. Core thread; never blocks. The transport
/// and the timers must outlive it.
class ModelClient
{
public:
    ModelClient(Transport& transport, Timers& timers, ModelClientOptions options);
    ~ModelClient();
    ModelClient(const ModelClient&) = delete;
    ModelClient& operator=(const ModelClient&) = delete;

    void ask(ChatRequest request, ChatHandlers handlers);
    /// Closes the connection before it returns; no handler is called any more.
    void cancel();
    [[nodiscard]] bool busy() const { return m_job != nullptr; }
    [[nodiscard]] const EndpointProfile& profile() const { return m_options.profile; }
    /// The request body, as sent.
    [[nodiscard]] static std::string body(const EndpointProfile& profile,
                                          const ChatRequest& request);

private:
    struct Job;
    void attempt();
    void onBytes(std::string_view bytes);
    void onEnd(Result<void> result);
    void armProgress();
    void failed(ModelFailure failure);
    void stopAttempt();
    Transport& m_transport;
    Timers& m_timers;
    ModelClientOptions m_options;
    std::unique_ptr<Job> m_job;
};

} // namespace lathe::llm
