// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::agent {

/// The messages of a run as the model gets them. Append-only, except that old tool results can
/// shrink to their heads when the context runs out; a call never loses its result.
class Conversation
{
public:
    void system(const std::string& text);
    void user(const std::string& text);
    /// The provider's own assistant message, verbatim.
    void assistant(const std::string& messageJson);
    /// condensed: what stays when the context runs out.
    void
    toolResult(const std::string& callId, const std::string& content, const std::string& condensed);

    /// The array's text.
    [[nodiscard]] std::string json() const;
    /// Rough: 3.5 bytes a token, as code and JSON come out with current tokenizers.
    [[nodiscard]] std::int64_t estimatedTokens() const;
    /// Shrinks the oldest tool results, but none of the last keep, until at most target tokens are
    /// left. How many.
    int condense(std::int64_t targetTokens, int keep);

private:
    struct Message
    {
        std::string json;
        std::string condensedJson; ///< empty: cannot shrink (any more)
    };
    std::vector<Message> m_messages;
};

} // namespace lathe::agent
