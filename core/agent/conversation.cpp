// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/conversation.h>
#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

namespace lathe::agent {
namespace {

using Json = nlohmann::ordered_json;

std::string message(const char* role, const std::string& text)
{
    return dumpJson(Json{{"role", role}, {"content", text}});
}

std::string toolMessage(const std::string& callId, const std::string& content)
{
    return dumpJson(Json{{"role", "tool"}, {"tool_call_id", callId}, {"content", content}});
}

std::int64_t tokens(std::size_t bytes)
{
    return static_cast<std::int64_t>(static_cast<double>(bytes) / 3.5);
}

} // namespace

void Conversation::system(const std::string& text)
{
    m_messages.push_back({message("system", text), {}});
}

void Conversation::user(const std::string& text)
{
    m_messages.push_back({message("user", text), {}});
}

void Conversation::assistant(const std::string& messageJson)
{
    m_messages.push_back({messageJson, {}});
}

void Conversation::toolResult(const std::string& callId,
                              const std::string& content,
                              const std::string& condensed)
{
    Message m{toolMessage(callId, content), {}};
    if (condensed.size() < content.size()) {
        m.condensedJson = toolMessage(callId, condensed);
    }
    m_messages.push_back(std::move(m));
}

std::string Conversation::json() const
{
    std::string out = "[";
    for (const auto& m : m_messages) {
        out += (out.size() > 1 ? "," : "") + m.json;
    }
    return out + "]";
}

std::int64_t Conversation::estimatedTokens() const
{
    std::size_t bytes = 0;
    for (const auto& m : m_messages) {
        bytes += m.json.size() + 12;
    }
    return tokens(bytes);
}

int Conversation::condense(std::int64_t targetTokens, int keep)
{
    int results = 0;
    for (const auto& m : m_messages) {
        results += m.condensedJson.empty() ? 0 : 1;
    }
    int condensed = 0;
    for (auto& m : m_messages) {
        if (estimatedTokens() <= targetTokens || results - condensed <= keep) {
            break;
        }
        if (!m.condensedJson.empty()) {
            m.json = std::move(m.condensedJson);
            m.condensedJson.clear();
            ++condensed;
        }
    }
    return condensed;
}

} // namespace lathe::agent
