// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/llm/chat_decoder.h>

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::llm {

struct ToolCall
{
    std::string id;
    std::string name;
    std::string argumentsJson = "{}"; ///< an object's text; "{}" when what came was malformed
    std::string rawArguments;         ///< exactly what came
    std::string malformed;            ///< why the arguments cannot be used; empty when they can
};

/// One finished answer of a model. Immutable once assembled.
struct AssistantTurn
{
    std::string text;
    std::string reasoning;
    std::string refusal;
    std::vector<ToolCall> calls;
    std::string finishReason; ///< the provider's own word
    std::string
        veto; ///< why none of the calls may run (cut off, malformed arguments); empty: they may
    std::optional<Usage> usage;
    std::string
        messageJson;   ///< the assistant message as the provider wants it back in the next request
    std::string model; ///< what the provider says answered
};

/// Collects deltas into one turn.
class TurnAssembler
{
public:
    TurnAssembler();
    ~TurnAssembler();
    TurnAssembler(const TurnAssembler&) = delete;
    TurnAssembler& operator=(const TurnAssembler&) = delete;

    void apply(const Delta& delta);
    /// The provider said that the answer is over (a finish reason or the end marker).
    [[nodiscard]] bool terminal() const { return !m_finishReason.empty() || m_done; }
    /// Nothing of an answer has come yet.
    [[nodiscard]] bool empty() const;
    [[nodiscard]] const std::optional<StreamError>& error() const { return m_error; }
    /// Protocol when no terminal signal came, or nothing at all.
    [[nodiscard]] Result<AssistantTurn> finish() const;

private:
    struct Slot;
    Slot& slotFor(const ToolCallPiece& piece);
    static ToolCall toCall(const Slot& slot, std::size_t position);
    std::string m_text;
    std::string m_reasoning;
    std::string m_refusal;
    std::string m_finishReason;
    bool m_done = false;
    std::optional<StreamError> m_error;
    std::optional<Usage> m_usage;
    std::vector<std::unique_ptr<Slot>> m_slots;
    std::unique_ptr<nlohmann::ordered_json> m_extra;
};

} // namespace lathe::llm
