// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/text.h>
#include <lathe/llm/stream_reader.h>

namespace lathe::llm {
namespace {

constexpr std::size_t kMaxBodyBytes = 64u << 20;

/// The title of a web page, or its beginning.
std::string pageText(std::string_view html)
{
    const auto open = html.find("<title>");
    const auto close = html.find("</title>");
    if (open != std::string_view::npos && close != std::string_view::npos && close > open) {
        return toValidUtf8(trimmed(html.substr(open + 7, close - open - 7)));
    }
    return headAndTail(toValidUtf8(html.substr(0, 400)), 200);
}

} // namespace

void StreamReader::feed(std::string_view bytes, std::vector<Delta>& out)
{
    if (m_shape == Shape::Unknown) {
        m_body += bytes;
        std::string_view head = m_body;
        if (std::string_view("\xEF\xBB\xBF").starts_with(head.substr(0, 3)) && head.size() < 3) {
            return; // half a byte order mark
        }
        if (head.starts_with("\xEF\xBB\xBF")) {
            head.remove_prefix(3);
        }
        const auto first = head.find_first_not_of(" \t\r\n");
        if (first == std::string_view::npos) {
            return;
        }
        const char c = head[first];
        m_shape = c == '{' || c == '[' ? Shape::Json : c == '<' ? Shape::Html : Shape::Events;
        if (m_shape == Shape::Events) {
            m_framer.feed(m_body, m_events);
            m_body.clear();
            decodeEvents(out);
        }
        return;
    }
    if (m_shape == Shape::Events) {
        m_framer.feed(bytes, m_events);
        decodeEvents(out);
    } else if (m_body.size() + bytes.size() <= kMaxBodyBytes) {
        m_body += bytes;
    }
}

void StreamReader::decodeEvents(std::vector<Delta>& out)
{
    for (const auto& event : m_events) {
        m_decoder.decode(event.data, out);
    }
    m_events.clear();
}

void StreamReader::finish(std::vector<Delta>& out)
{
    switch (m_shape) {
    case Shape::Events:
        m_framer.finish(m_events);
        decodeEvents(out);
        break;
    case Shape::Json:
        ChatDecoder::decodeBody(m_body, out);
        break;
    case Shape::Html: {
        Delta delta;
        delta.kind = Delta::Kind::Error;
        delta.error.message = "the endpoint answered with a web page, not with a model's stream "
                              "(check the profile's baseUrl): "
                              + pageText(m_body);
        delta.error.type = "html";
        out.push_back(std::move(delta));
        break;
    }
    case Shape::Unknown:
        break;
    }
}

} // namespace lathe::llm
