// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/llm/sse_framer.h>

namespace lathe::llm {

void SseFramer::feed(std::string_view bytes, std::vector<SseEvent>& out)
{
    while (!bytes.empty()) {
        if (m_sawCr) { // the CR ended the line already; a LF right behind it belongs to it
            m_sawCr = false;
            if (bytes.front() == '\n') {
                bytes.remove_prefix(1);
                continue;
            }
        }
        const auto end = bytes.find_first_of("\r\n");
        const std::string_view piece = bytes.substr(0, end);
        if (m_line.size() + piece.size() > kMaxLineBytes) {
            m_tooLong = true;
            m_line.clear();
        }
        if (!m_tooLong) {
            m_line.append(piece);
        }
        if (end == std::string_view::npos) {
            return;
        }
        m_sawCr = bytes[end] == '\r';
        bytes.remove_prefix(end + 1);
        endLine(out);
    }
}

void SseFramer::endLine(std::vector<SseEvent>& out)
{
    std::string_view line = m_line;
    if (m_firstLine && line.starts_with("\xEF\xBB\xBF")) {
        line.remove_prefix(3);
    }
    m_firstLine = false;
    if (m_tooLong) {
        m_tooLong = false;
        ++m_droppedLines;
    } else if (line.empty()) {
        dispatch(out);
    } else {
        const auto colon = line.find(':');
        const std::string_view field = line.substr(0, colon);
        std::string_view value =
            colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
        if (value.starts_with(' ')) {
            value.remove_prefix(1);
        }
        if (field == "data") {
            if (m_hasData) {
                m_data += '\n';
            }
            m_data += value;
            m_hasData = true;
        } else if (field == "event") {
            m_name = value;
        } // comments (empty field), id and retry carry nothing for us
    }
    m_line.clear();
}

void SseFramer::dispatch(std::vector<SseEvent>& out)
{
    if (!m_data.empty()) {
        out.push_back({std::move(m_name), std::move(m_data)});
    }
    m_data.clear();
    m_name.clear();
    m_hasData = false;
}

void SseFramer::finish(std::vector<SseEvent>& out)
{
    if (!m_line.empty()) {
        endLine(out);
    }
    dispatch(out);
}

} // namespace lathe::llm
