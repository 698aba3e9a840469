// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "agent_loop.h"

#include <lathe/base/clock.h>
#include <lathe/base/json.h>
#include <lathe/candidate/candidate.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <random>

namespace lathe::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxFormatErrors = 3;
constexpr int kResultsKept = 6;
constexpr std::int64_t kPartialNs = 50'000'000;

} // namespace

AgentLoop::AgentLoop(boost::asio::io_context& io, AgentParts parts, AgentHost& host)
    : m_io(io)
    , m_host(host)
    , m_options(std::move(parts.options))
    , m_prompts(std::move(parts.prompts))
    , m_workdir(std::move(parts.workdir))
    , m_log(std::move(parts.log))
    , m_transport(std::move(parts.transport))
    , m_timers(std::move(parts.timers))
    , m_tap(std::move(parts.tap))
    , m_recording(std::move(parts.recording))
{
    llm::ModelClientOptions client;
    client.profile = std::move(parts.profile);
    client.key = std::move(parts.key);
    client.random = [generator = std::minstd_rand{std::random_device{}()}]() mutable {
        return std::uniform_real_distribution<double>(0, 1)(generator);
    };
    client.tap = m_tap;
    m_model = std::make_unique<llm::ModelClient>(*m_transport, *m_timers, std::move(client));
    m_budget.maxTurns = m_options.limits.maxTurns;
    m_budget.maxTokens = m_options.limits.maxTokens;
    m_budget.maxContextTokens = m_options.limits.maxContextTokens;
    m_budget.maxCost = m_options.limits.maxCost;
    m_budget.maxSeconds = m_options.limits.maxSeconds;
    if (m_model->profile().price) {
        m_budget.cost = 0;
    }
    m_parent = m_options.startCandidate;
    m_startHash = candidate::contentHash(m_options.start);
    if (m_parent) {
        m_candidates[m_parent->text()] = m_options.start;
    }
}

AgentLoop::~AgentLoop() = default;

TrajectoryItem AgentLoop::item(const char* kind) const
{
    TrajectoryItem item;
    item.run = m_options.run.text();
    item.step = m_budget.turns;
    item.kind = kind;
    return item;
}

void AgentLoop::publish(TrajectoryItem entry)
{
    if (auto written = m_log.append(entry); !written && m_state != State::Finished) {
        // A run whose log cannot be written ends: what it did would be lost.
        conclude(StopReason::Crashed, written.error().message);
        return;
    }
    m_host.onItem(entry);
}

void AgentLoop::publishPartial(const char* kind, const std::string& text)
{
    const auto now = monotonicNs();
    if (now - m_lastPartialNs < kPartialNs) {
        return;
    }
    m_lastPartialNs = now;
    TrajectoryItem entry = item(kind);
    entry.partial = true;
    entry.text = m_log.scrubber().clean(text);
    m_host.onItem(entry);
}

void AgentLoop::reportBudget()
{
    m_budget.seconds = static_cast<double>(monotonicNs() - m_startNs) / 1e9;
    m_host.onBudget(m_budget);
}

void AgentLoop::start()
{
    m_startNs = monotonicNs();
    TrajectoryItem entry = item("run_started");
    entry.title = m_options.task.spec.key + " with " + m_options.provider;
    const bool scripted = m_model->profile().origin == "scripted";
    entry.text =
        m_recording
            ? (scripted
                   ? "The turns are recorded from a script written by people, not from a model; "
                   : "The model's turns are recorded; ")
                  + std::string("tools, checks and measurements are live.")
        : scripted
            ? "The turns come from a script written by people, not from a model; tools are live."
            : "Model " + m_model->profile().model + ".";
    Json head = {{"model", m_model->profile().model},
                 {"replay", m_recording != nullptr},
                 {"origin", m_model->profile().origin}};
    entry.headJson = dumpJson(head);
    publish(std::move(entry));
    TrajectoryItem prompt = item("prompt");
    Json data = {{"system", m_prompts.system}, {"user", m_prompts.task}};
    if (auto tools = parseOrderedJson(m_prompts.toolsJson)) {
        data["tools"] = std::move(*tools);
    }
    if (auto written = m_log.append(prompt, data); !written) {
        conclude(StopReason::Crashed, written.error().message);
        return;
    }
    m_conversation.system(m_prompts.system);
    m_conversation.user(m_prompts.task);
    m_timers->after(
        m_options.limits.maxSeconds, guarded([this] {
            if (m_state
                == State::Asking) { // a tool in progress has its own deadline and ends first
                m_model->cancel();
                finish(StopReason::TimeLimit, "the time for this run is used up");
            }
        }));
    reportBudget();
    boost::asio::post(m_io, guarded([this] { nextTurn(); }));
}

void AgentLoop::stop()
{
    if (m_state == State::Finished) {
        return;
    }
    m_model->cancel();
    m_bash.reset();
    ++m_toolSerial;
    if (m_job != 0) {
        m_host.cancel(std::exchange(m_job, 0));
    }
    conclude(StopReason::Cancelled, "stopped by the user");
}

void AgentLoop::steer(const std::string& message)
{
    if (m_state != State::Finished) {
        m_steering.push_back(message);
    }
}

std::optional<StopReason> AgentLoop::budgetUsedUp() const
{
    if (m_budget.turns >= m_budget.maxTurns) {
        return StopReason::TurnLimit;
    }
    if (m_budget.maxTokens > 0 && m_budget.tokens >= m_budget.maxTokens) {
        return StopReason::TokenLimit;
    }
    if (m_budget.maxCost && m_budget.cost && *m_budget.cost >= *m_budget.maxCost) {
        return StopReason::CostLimit;
    }
    if (static_cast<double>(monotonicNs() - m_startNs) / 1e9 >= m_budget.maxSeconds) {
        return StopReason::TimeLimit;
    }
    return std::nullopt;
}

bool AgentLoop::makeRoom()
{
    const auto limit = static_cast<double>(m_budget.maxContextTokens);
    const auto size = [&] {
        return m_tokenScale
               * (static_cast<double>(m_conversation.estimatedTokens())
                  + static_cast<double>(m_prompts.toolsJson.size()) / 3.5);
    };
    if (!m_overflowed && size() <= 0.8 * limit) {
        return true;
    }
    const double target = m_overflowed ? std::min(0.5 * limit, 0.5 * size()) : 0.5 * limit;
    const int condensed = m_conversation.condense(static_cast<std::int64_t>(target / m_tokenScale),
                                                  m_overflowed ? 1 : kResultsKept);
    if (condensed > 0) {
        TrajectoryItem note = item("note");
        note.title = fmt::format("{} old tool results shortened to make room", condensed);
        publish(std::move(note));
    }
    return m_overflowed ? condensed > 0 : size() <= 0.95 * limit;
}

void AgentLoop::nextTurn()
{
    if (m_state == State::Finished) {
        return;
    }
    if (!m_stuckWhy.empty()) {
        finish(StopReason::Stuck, m_stuckWhy);
        return;
    }
    if (m_formatErrors >= kMaxFormatErrors) {
        finish(StopReason::RepeatedFormatErrors,
               "the model did not make a usable tool call in three turns");
        return;
    }
    if (const auto reason = budgetUsedUp()) {
        finish(*reason, "a limit of this run is reached");
        return;
    }
    while (!m_steering.empty()) {
        TrajectoryItem entry = item("steer");
        entry.text = m_steering.front();
        m_conversation.user(m_steering.front());
        m_steering.pop_front();
        publish(std::move(entry));
    }
    ++m_budget.turns;
    askModel();
}

void AgentLoop::askModel()
{
    if (!makeRoom()) {
        finish(StopReason::ContextExhausted, "the conversation no longer fits the context");
        return;
    }
    if (m_state == State::Finished) {
        return;
    }
    m_state = State::Asking;
    m_partialText.clear();
    m_partialThinking.clear();
    m_askedTokens = m_conversation.estimatedTokens()
                    + static_cast<std::int64_t>(m_prompts.toolsJson.size() / 4);
    llm::ChatRequest request;
    request.messagesJson = m_conversation.json();
    request.toolsJson = m_prompts.toolsJson;
    request.turn = m_budget.turns;
    llm::ChatHandlers handlers;
    handlers.onDelta = [this](const llm::Delta& delta) { onDelta(delta); };
    handlers.onRestart = [this] {
        m_partialText.clear();
        m_partialThinking.clear();
    };
    handlers.onRetry = [this](const llm::ModelFailure& failure, double seconds) {
        TrajectoryItem note = item("note");
        note.title = fmt::format("asking again in {:.1f} s", seconds);
        note.text = failure.message;
        publish(std::move(note));
    };
    handlers.onDone = [this](tl::expected<llm::AssistantTurn, llm::ModelFailure> answer) {
        if (answer) {
            onTurn(std::move(*answer));
        } else {
            onFailure(answer.error());
        }
    };
    m_model->ask(std::move(request), std::move(handlers));
}

void AgentLoop::onDelta(const llm::Delta& delta)
{
    if (delta.kind == llm::Delta::Kind::Text) {
        m_partialText += delta.text;
        publishPartial("assistant_text", m_partialText);
    } else if (delta.kind == llm::Delta::Kind::Reasoning) {
        m_partialThinking += delta.text;
        publishPartial("thinking", m_partialThinking);
    }
}

void AgentLoop::onFailure(const llm::ModelFailure& failure)
{
    if (failure.kind == llm::ModelFailure::Kind::ContextOverflow) {
        if (!std::exchange(m_overflowed, true) && m_state != State::Finished) {
            askModel();
            return;
        }
        finish(StopReason::ContextExhausted, failure.message);
        return;
    }
    finish(StopReason::ProviderError, failure.message);
}

void AgentLoop::onTurn(llm::AssistantTurn turn)
{
    m_overflowed = false;
    if (turn.usage && turn.usage->promptTokens > 0) {
        m_budget.tokens += turn.usage->promptTokens + turn.usage->completionTokens;
        m_budget.contextTokens = turn.usage->promptTokens;
        m_tokenScale =
            std::clamp(static_cast<double>(turn.usage->promptTokens)
                           / static_cast<double>(std::max<std::int64_t>(m_askedTokens, 1)),
                       0.3,
                       3.0);
        if (const auto cost = llm::costOf(m_model->profile(), *turn.usage)) {
            m_budget.cost = m_budget.cost.value_or(0) + *cost;
        }
    } else {
        m_budget.contextTokens = m_askedTokens;
        m_budget.tokens += m_askedTokens + static_cast<std::int64_t>(turn.messageJson.size() / 4);
    }
    TrajectoryItem machine = item("model_turn");
    Json data = {{"finishReason", turn.finishReason}, {"model", turn.model}};
    if (auto message = parseOrderedJson(turn.messageJson)) {
        data["message"] = std::move(*message);
    }
    if (turn.usage) {
        data["usage"] = {{"prompt", turn.usage->promptTokens},
                         {"completion", turn.usage->completionTokens},
                         {"cached", turn.usage->cachedTokens},
                         {"reasoning", turn.usage->reasoningTokens}};
    }
    for (const auto& call : turn.calls) {
        if (!call.malformed.empty()) {
            data["rawArguments"].push_back(call.rawArguments);
        }
    }
    if (auto written = m_log.append(machine, data); !written) {
        conclude(StopReason::Crashed, written.error().message);
        return;
    }
    for (const auto& [kind, text] :
         {std::pair{"thinking", &turn.reasoning}, std::pair{"assistant_text", &turn.text}}) {
        if (!text->empty()) {
            TrajectoryItem entry = item(kind);
            entry.text = *text;
            publish(std::move(entry));
        }
    }
    m_conversation.assistant(turn.messageJson);
    reportBudget();
    if (m_state == State::Finished) {
        return;
    }
    if (!turn.refusal.empty() || turn.finishReason == "content_filter") {
        finish(StopReason::Refusal,
               turn.refusal.empty() ? "the provider's filter stopped the answer" : turn.refusal);
    } else if (turn.calls.empty()) {
        noCalls(turn);
    } else if (!turn.veto.empty()) {
        vetoCalls(turn);
    } else {
        m_state = State::Tools;
        m_turn = std::move(turn);
        m_call = 0;
        m_turnTools.clear();
        nextTool();
    }
}

void AgentLoop::noCalls(const llm::AssistantTurn& turn)
{
    ++m_formatErrors;
    const bool cut = turn.finishReason == "length";
    const std::string text =
        cut ? "Your answer was cut off at the output limit. Be brief and call one tool."
            : "No tool was called. Call a tool to go on; call submit when the candidate is "
              "finished.";
    m_conversation.user(text);
    TrajectoryItem note = item("note");
    note.title = cut ? "the answer was cut off" : "no tool was called";
    publish(std::move(note));
    boost::asio::post(m_io, guarded([this] { nextTurn(); }));
}

void AgentLoop::vetoCalls(const llm::AssistantTurn& turn)
{
    ++m_formatErrors;
    for (const auto& call : turn.calls) {
        const std::string why = "not run: " + (call.malformed.empty() ? turn.veto : call.malformed);
        m_conversation.toolResult(call.id,
                                  R"({"status":"failed"})"
                                  "\n" + why,
                                  why);
        TrajectoryItem entry = item("tool_result");
        entry.title = call.name.empty() ? "unnamed" : call.name;
        entry.status = "failed";
        entry.text = why;
        publish(std::move(entry));
    }
    boost::asio::post(m_io, guarded([this] { nextTurn(); }));
}

void AgentLoop::finish(StopReason reason, const std::string& why)
{
    if (m_state == State::Finished) {
        return;
    }
    if (measuresLastCandidate(reason)) {
        measureLastCandidate(reason, why);
    } else {
        conclude(reason, why);
    }
}

void AgentLoop::conclude(StopReason reason, const std::string& why)
{
    if (m_state == State::Finished) {
        return;
    }
    m_state = State::Finished;
    m_model->cancel();
    m_steering.clear();
    TrajectoryItem entry = item("stopped");
    entry.title = toString(reason);
    entry.text = why;
    entry.status = reason == StopReason::Submitted ? "ok" : "";
    entry.seconds = static_cast<double>(monotonicNs() - m_startNs) / 1e9;
    if (m_parent) {
        entry.candidate = m_parent->text();
    }
    publish(std::move(entry));
    reportBudget();
    // Posted, because the host may destroy the run when it hears of the end.
    boost::asio::post(
        m_io, guarded([this, text = std::string(toString(reason))] { m_host.onFinished(text); }));
}

} // namespace lathe::agent
