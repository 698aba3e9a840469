// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>
#include <lathe/base/sha256.h>
#include <lathe/base/text.h>
#include <lathe/llm/turn_assembler.h>

#include <nlohmann/json.hpp>

namespace lathe::llm {
namespace {

using Json = nlohmann::ordered_json;

/// Merges a later fragment of a provider's member: text and lists grow, objects merge, anything
/// else is replaced.
void mergeInto(Json& target, const Json& fragment)
{
    if (fragment.is_null()) {
        return;
    }
    if (target.is_string() && fragment.is_string()) {
        target = target.get<std::string>() + fragment.get<std::string>();
    } else if (target.is_array() && fragment.is_array()) {
        for (const auto& element : fragment) {
            target.push_back(element);
        }
    } else if (target.is_object() && fragment.is_object()) {
        for (const auto& [key, value] : fragment.items()) {
            mergeInto(target[key], value);
        }
    } else {
        target = fragment;
    }
}

void mergeText(Json& target, const std::string& json)
{
    if (auto fragment = parseOrderedJson(json)) {
        mergeInto(target, *fragment);
    }
}

bool cutOff(const std::string& finishReason)
{
    return finishReason == "length" || finishReason == "max_tokens"
           || finishReason == "model_length";
}

/// An id for a call that came without one: the same for the same answer, so that a replay is
/// byte-equal.
std::string madeUpId(std::size_t position, const std::string& content)
{
    return "call_" + std::to_string(position + 1) + "_" + sha256Hex(content).substr(0, 12);
}

} // namespace

struct TurnAssembler::Slot
{
    std::optional<std::int64_t> index;
    std::string id;
    std::string name;
    std::string arguments;
    Json extra = Json::object();
};

TurnAssembler::TurnAssembler()
    : m_extra(std::make_unique<Json>(Json::object()))
{}
TurnAssembler::~TurnAssembler() = default;

TurnAssembler::Slot& TurnAssembler::slotFor(const ToolCallPiece& piece)
{
    const auto add = [&]() -> Slot& {
        m_slots.push_back(std::make_unique<Slot>());
        m_slots.back()->index = piece.index;
        return *m_slots.back();
    };
    if (m_slots.empty()) {
        return add();
    }
    if (!piece.id.empty()) {
        for (auto it = m_slots.rbegin(); it != m_slots.rend(); ++it) {
            if ((*it)->id == piece.id
                && (!piece.index || !(*it)->index || (*it)->index == piece.index)) {
                return **it;
            }
        }
    }
    if (piece.index) {
        for (auto it = m_slots.rbegin(); it != m_slots.rend(); ++it) {
            if ((*it)->index == piece.index) {
                // A named call with another id under a used index is a new call: some servers
                // number all of them 0.
                const bool newCall =
                    !piece.name.empty() && !(*it)->name.empty()
                    && ((!piece.id.empty() && !(*it)->id.empty() && piece.id != (*it)->id)
                        || piece.name != (*it)->name || piece.whole);
                return newCall ? add() : **it;
            }
        }
        return add();
    }
    // No index: a name or a new id starts a call, anything else continues the last one.
    Slot& last = *m_slots.back();
    const bool starts = !piece.name.empty() || (!piece.id.empty() && piece.id != last.id);
    return starts && !last.name.empty() ? add() : last;
}

void TurnAssembler::apply(const Delta& delta)
{
    switch (delta.kind) {
    case Delta::Kind::Text:
        m_text += delta.text;
        break;
    case Delta::Kind::Reasoning:
        m_reasoning += delta.text;
        break;
    case Delta::Kind::Refusal:
        m_refusal += delta.text;
        break;
    case Delta::Kind::Extra:
        mergeText(*m_extra, delta.text);
        break;
    case Delta::Kind::ToolCall: {
        Slot& slot = slotFor(delta.call);
        if (slot.id.empty()) {
            slot.id = delta.call.id;
        }
        if (slot.name.empty()) {
            slot.name = delta.call.name;
        }
        if (delta.call.whole) {
            slot.arguments = delta.call.arguments;
        } else {
            slot.arguments += delta.call.arguments;
        }
        if (!delta.call.extraJson.empty()) {
            mergeText(slot.extra, delta.call.extraJson);
        }
        break;
    }
    case Delta::Kind::Finish:
        m_finishReason = delta.text;
        break;
    case Delta::Kind::Usage:
        m_usage = delta.usage;
        break;
    case Delta::Kind::Error:
        if (!m_error) {
            m_error = delta.error;
        }
        break;
    case Delta::Kind::Done:
        m_done = true;
        break;
    }
}

bool TurnAssembler::empty() const
{
    return m_text.empty() && m_reasoning.empty() && m_refusal.empty() && m_slots.empty();
}

ToolCall TurnAssembler::toCall(const Slot& slot, std::size_t position)
{
    ToolCall call;
    call.id = slot.id.empty() ? madeUpId(position, slot.name + slot.arguments) : slot.id;
    call.name = slot.name;
    call.rawArguments = slot.arguments;
    if (const auto text = trimmed(slot.arguments); !text.empty()) {
        const auto parsed = parseJson(text);
        if (!parsed) {
            call.malformed = "the arguments are not valid JSON";
        } else if (!parsed->is_object()) {
            call.malformed = "the arguments are not a JSON object";
        } else {
            call.argumentsJson = std::string(text);
        }
    }
    if (call.name.empty()) {
        call.malformed = "the call names no tool";
    }
    return call;
}

Result<AssistantTurn> TurnAssembler::finish() const
{
    if (!terminal()) {
        return fail(ErrorCode::Protocol,
                    "the stream ended before the model said that it was finished");
    }
    if (empty()) {
        return fail(
            ErrorCode::Protocol,
            "the model's answer is empty (some servers do this when the context is too long)");
    }
    AssistantTurn turn;
    turn.text = m_text;
    turn.reasoning = m_reasoning;
    turn.refusal = m_refusal;
    turn.finishReason = m_finishReason;
    turn.usage = m_usage;
    if (cutOff(m_finishReason) && !m_slots.empty()) {
        turn.veto =
            "the answer was cut off at the output limit, so its tool calls may be incomplete";
    }
    Json message = Json::object();
    message["role"] = "assistant";
    message["content"] = m_text.empty() && !m_slots.empty() ? Json(nullptr) : Json(m_text);
    for (const auto& [key, value] : m_extra->items()) {
        message[key] = value;
    }
    Json calls = Json::array();
    for (const auto& slot : m_slots) {
        ToolCall call = toCall(*slot, calls.size());
        if (!call.malformed.empty() && turn.veto.empty()) {
            turn.veto = call.malformed;
        }
        Json entry = Json::object();
        entry["id"] = call.id;
        entry["type"] = "function";
        entry["function"]["name"] = call.name.empty() ? "unnamed" : call.name;
        entry["function"]["arguments"] = call.argumentsJson;
        for (const auto& [key, value] : slot->extra.items()) {
            entry[key] = value;
        }
        calls.push_back(std::move(entry));
        turn.calls.push_back(std::move(call));
    }
    if (!calls.empty()) {
        message["tool_calls"] = std::move(calls);
    }
    turn.messageJson = dumpJson(message);
    return turn;
}

} // namespace lathe::llm
