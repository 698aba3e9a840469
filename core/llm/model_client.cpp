// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/llm/model_client.h>
#include <lathe/llm/stream_reader.h>

#include <nlohmann/json.hpp>

#include <utility>

namespace lathe::llm {

struct ModelClient::Job
{
    ChatRequest request;
    ChatHandlers handlers;
    std::string body;
    int attempt = 0;
    Transport::Id transfer = 0;
    Timers::Id retryTimer = 0;
    Timers::Id progressTimer = 0;
    HttpHead head;
    std::unique_ptr<StreamReader> reader;
    std::unique_ptr<TurnAssembler> assembler;
    bool deltasSeen = false;
};

ModelClient::ModelClient(Transport& transport, Timers& timers, ModelClientOptions options)
    : m_transport(transport)
    , m_timers(timers)
    , m_options(std::move(options))
{}

ModelClient::~ModelClient()
{
    cancel();
}

std::string ModelClient::body(const EndpointProfile& profile, const ChatRequest& request)
{
    std::string body = "{\"model\":" + dumpJson(nlohmann::json(profile.model))
                       + ",\"messages\":" + request.messagesJson;
    if (!request.toolsJson.empty()) {
        body += ",\"tools\":" + request.toolsJson + ",\"tool_choice\":\"auto\"";
    }
    body += ",\"stream\":true";
    if (profile.streamOptions) {
        body += ",\"stream_options\":{\"include_usage\":true}";
    }
    if (!profile.maxTokensField.empty() && profile.maxOutputTokens > 0) {
        body += "," + dumpJson(nlohmann::json(profile.maxTokensField)) + ":"
                + std::to_string(profile.maxOutputTokens);
    }
    return body + "}";
}

void ModelClient::ask(ChatRequest request, ChatHandlers handlers)
{
    cancel();
    m_job = std::make_unique<Job>();
    m_job->body = body(m_options.profile, request);
    m_job->request = std::move(request);
    m_job->handlers = std::move(handlers);
    attempt();
}

void ModelClient::cancel()
{
    if (m_job) {
        stopAttempt();
        m_timers.cancel(m_job->retryTimer);
        m_job.reset();
    }
}

void ModelClient::stopAttempt()
{
    if (m_job->transfer != 0) {
        m_transport.cancel(m_job->transfer);
        m_job->transfer = 0;
        if (m_options.tap) {
            m_options.tap->end("stopped");
        }
    }
    m_timers.cancel(m_job->progressTimer);
}

void ModelClient::attempt()
{
    Job& job = *m_job;
    ++job.attempt;
    job.head = {};
    job.reader = std::make_unique<StreamReader>();
    job.assembler = std::make_unique<TurnAssembler>();
    if (std::exchange(job.deltasSeen, false) && job.handlers.onRestart) {
        job.handlers.onRestart();
    }
    HttpRequest http;
    http.url = m_options.profile.baseUrl + "/chat/completions";
    http.headers = m_options.profile.headers;
    http.headers.push_back({"Content-Type", "application/json"});
    http.headers.push_back({"Accept", "text/event-stream"});
    http.bearerKey = m_options.key;
    http.body = job.body;
    http.connectSeconds = m_options.profile.connectSeconds;
    http.idleSeconds = m_options.profile.idleSeconds;
    http.turn = job.request.turn;
    if (m_options.tap) {
        m_options.tap->begin(job.request.turn, job.attempt);
    }
    HttpHandlers handlers;
    handlers.onHead = [this](const HttpHead& head) {
        m_job->head = head;
        if (m_options.tap) {
            m_options.tap->head(head);
        }
    };
    handlers.onBytes = [this](std::string_view bytes) { onBytes(bytes); };
    handlers.onDone = [this](Result<void> result) {
        m_job->transfer = 0;
        onEnd(std::move(result));
    };
    job.transfer = m_transport.start(std::move(http), std::move(handlers));
    armProgress();
}

void ModelClient::armProgress()
{
    m_timers.cancel(m_job->progressTimer);
    m_job->progressTimer = m_timers.after(m_options.profile.progressSeconds, [this] {
        stopAttempt();
        ModelFailure failure;
        failure.kind = ModelFailure::Kind::Network;
        failure.message = "the endpoint sent nothing but keep-alives for too long";
        failure.retryable = true;
        failed(std::move(failure));
    });
}

void ModelClient::onBytes(std::string_view bytes)
{
    if (m_options.tap) {
        m_options.tap->bytes(bytes);
    }
    std::vector<Delta> deltas;
    m_job->reader->feed(bytes, deltas);
    if (deltas.empty()) {
        return;
    }
    armProgress();
    for (const auto& delta : deltas) {
        m_job->assembler->apply(delta);
        if (m_job->head.status == 200 && m_job->handlers.onDelta) {
            m_job->deltasSeen = true;
            m_job->handlers.onDelta(delta);
            if (!m_job) {
                return; // the handler cancelled
            }
        }
    }
}

void ModelClient::onEnd(Result<void> result)
{
    m_timers.cancel(m_job->progressTimer);
    std::vector<Delta> deltas;
    m_job->reader->finish(deltas);
    for (const auto& delta : deltas) {
        m_job->assembler->apply(delta);
    }
    const TurnAssembler& assembler = *m_job->assembler;
    const auto end = [&](std::string_view outcome) {
        if (m_options.tap) {
            m_options.tap->end(outcome);
        }
    };
    if (m_job->head.status != 200 && m_job->head.status != 0) {
        end("http " + std::to_string(m_job->head.status));
        failed(classify(m_job->head, assembler.error().value_or(StreamError{})));
        return;
    }
    if (assembler.error()) {
        end("error in the stream");
        failed(classify(m_job->head, *assembler.error()));
        return;
    }
    if (!result && !assembler.terminal()) { // cut behind the terminal signal costs nothing
        end(result.error().message);
        failed(classify(result.error()));
        return;
    }
    auto turn = assembler.finish();
    if (!turn) {
        end(turn.error().message);
        failed(incomplete(turn.error().message));
        return;
    }
    end("complete");
    turn->model = m_job->reader->model();
    const auto job = std::move(m_job); // the handler may ask again
    job->handlers.onDone(std::move(*turn));
}

void ModelClient::failed(ModelFailure failure)
{
    const double random = m_options.random ? m_options.random() : 0.5;
    if (const auto wait = m_options.retry.delay(failure, m_job->attempt, random)) {
        if (m_job->handlers.onRetry) {
            m_job->handlers.onRetry(failure, *wait);
            if (!m_job) {
                return;
            }
        }
        m_job->retryTimer = m_timers.after(*wait, [this] { attempt(); });
        return;
    }
    const auto job = std::move(m_job);
    job->handlers.onDone(tl::unexpected(std::move(failure)));
}

} // namespace lathe::llm
