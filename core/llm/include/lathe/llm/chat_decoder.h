// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::llm {

/// Tokens of one request as the provider counted them.
struct Usage
{
    std::int64_t promptTokens = 0;
    std::int64_t completionTokens = 0;
    std::int64_t cachedTokens = 0;    ///< part of promptTokens
    std::int64_t reasoningTokens = 0; ///< part of completionTokens
    std::optional<double> cost;       ///< US dollars, when the provider says so
};

/// A piece of a tool call. Pieces belong together by index and id, as far as the provider tells
/// them.
struct ToolCallPiece
{
    std::optional<std::int64_t> index;
    std::string id;
    std::string name;
    std::string arguments;
    bool whole = false; ///< arguments came as an object, not as text to append
    std::string
        extraJson; ///< members beside these (provider's own), an object's text; empty when none
};

struct StreamError
{
    std::string message;
    std::string code; ///< "context_length_exceeded", "429", ...
    std::string type;
    int status = 0; ///< HTTP status named inside the error object, 0 when none
};

/// The dialect-free vocabulary of a streamed answer.
struct Delta
{
    enum class Kind : std::uint8_t {
        Text,
        Reasoning,
        Refusal,
        ToolCall,
        Extra,
        Finish,
        Usage,
        Error,
        Done
    };
    Kind kind = Kind::Text;
    std::string text; ///< Text, Reasoning, Refusal; Finish: the reason; Extra: an object of other
                      ///< message members
    ToolCallPiece call;
    llm::Usage usage;
    StreamError error;
};

/// Decodes OpenAI Chat Completions chunks (one SSE data payload each) and whole completions.
class ChatDecoder
{
public:
    void decode(std::string_view data, std::vector<Delta>& out);
    /// A whole JSON body: a completion that was not streamed, or an error object.
    static void decodeBody(std::string_view body, std::vector<Delta>& out);
    [[nodiscard]] const std::string& model() const { return m_model; }

private:
    void chunk(const nlohmann::json& object, std::vector<Delta>& out);
    std::string m_model;
};

} // namespace lathe::llm
