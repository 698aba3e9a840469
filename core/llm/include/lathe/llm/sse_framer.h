// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe::llm {

struct SseEvent
{
    std::string name; ///< "event:" field; empty for a plain message
    std::string data; ///< "data:" lines joined by line feeds
};

/// Cuts a byte stream into server-sent events (WHATWG HTML, section 9.2). Value type; feed it any
/// pieces.
class SseFramer
{
public:
    /// A line beyond this is dropped to its end and counted.
    static constexpr std::size_t kMaxLineBytes = 64u << 20;

    void feed(std::string_view bytes, std::vector<SseEvent>& out);
    /// The stream ended: hands out an event whose closing blank line never came.
    void finish(std::vector<SseEvent>& out);
    [[nodiscard]] int droppedLines() const { return m_droppedLines; }

private:
    void endLine(std::vector<SseEvent>& out);
    void dispatch(std::vector<SseEvent>& out);
    std::string m_line;
    std::string m_data;
    std::string m_name;
    bool m_hasData = false;
    bool m_sawCr = false;
    bool m_firstLine = true;
    bool m_tooLong = false;
    int m_droppedLines = 0;
};

} // namespace lathe::llm
