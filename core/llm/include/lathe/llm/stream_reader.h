// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/llm/chat_decoder.h>
#include <lathe/llm/sse_framer.h>

#include <string>
#include <string_view>
#include <vector>

namespace lathe::llm {

/// Bytes of one response to deltas: framer and decoder, or a whole JSON or HTML body when that is
/// what came.
class StreamReader
{
public:
    void feed(std::string_view bytes, std::vector<Delta>& out);
    void finish(std::vector<Delta>& out);
    [[nodiscard]] const std::string& model() const { return m_decoder.model(); }

private:
    enum class Shape : std::uint8_t { Unknown, Events, Json, Html };
    void decodeEvents(std::vector<Delta>& out);
    Shape m_shape = Shape::Unknown;
    std::string m_body; ///< what is not an event stream
    std::vector<SseEvent> m_events;
    SseFramer m_framer;
    ChatDecoder m_decoder;
};

} // namespace lathe::llm
