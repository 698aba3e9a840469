// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/scrubber.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

namespace lathe::agent {
namespace {

constexpr std::string_view kMasked = "[secret removed]";

struct KeyShape
{
    std::string_view prefix;
    std::size_t least; ///< key characters that must follow
};

constexpr std::array kShapes = {
    KeyShape{"sk-", 20},
    KeyShape{"ghp_", 20},
    KeyShape{"gho_", 20},
    KeyShape{"ghs_", 20},
    KeyShape{"github_pat_", 20},
    KeyShape{"glpat-", 16},
    KeyShape{"hf_", 20},
    KeyShape{"gsk_", 20},
    KeyShape{"xai-", 20},
    KeyShape{"AIza", 30},
    KeyShape{"AKIA", 16},
    KeyShape{"ASIA", 16},
    KeyShape{"xoxb-", 16},
    KeyShape{"xoxp-", 16},
    KeyShape{"nvapi-", 20},
    KeyShape{"pplx-", 20},
    KeyShape{"r8_", 30},
    KeyShape{"npm_", 30},
};

bool keyCharacter(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'
           || c == '+' || c == '=';
}

bool wordCharacter(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}

std::size_t keyLength(std::string_view text, std::size_t from)
{
    std::size_t end = from;
    while (end < text.size() && (keyCharacter(text[end]) || text[end] == '/')) {
        ++end;
    }
    return end - from;
}

bool startsWithNoCase(std::string_view text, std::string_view prefix)
{
    return text.size() >= prefix.size()
           && ::strncasecmp(text.data(), prefix.data(), prefix.size()) == 0;
}

/// Bytes at the start of text that are a secret by their look; 0 when none. keep: leading bytes
/// that stay readable.
std::size_t secretLength(std::string_view text, bool atWordStart, std::size_t& keep)
{
    keep = 0;
    if (!atWordStart) {
        return 0;
    }
    for (const auto& shape : kShapes) {
        if (text.starts_with(shape.prefix)) {
            const auto length = keyLength(text, shape.prefix.size());
            return length >= shape.least ? shape.prefix.size() + length : 0;
        }
    }
    for (const std::string_view name : {"authorization", "x-api-key", "api-key"}) {
        if (!startsWithNoCase(text, name)) {
            continue;
        }
        std::size_t at = name.size();
        while (at < text.size()
               && (text[at] == ' ' || text[at] == ':' || text[at] == '"' || text[at] == '='
                   || text[at] == '\'' || text[at] == '\\')) {
            ++at;
        }
        if (at == name.size()) {
            return 0;
        }
        for (const std::string_view scheme : {"bearer ", "basic ", "token "}) {
            if (startsWithNoCase(text.substr(at), scheme)) {
                at += scheme.size();
                break;
            }
        }
        const auto length = keyLength(text, at);
        keep = at;
        return length >= 8 ? at + length : 0;
    }
    if (startsWithNoCase(text, "bearer ")) {
        keep = 7;
        const auto length = keyLength(text, 7);
        return length >= 16 ? 7 + length : 0;
    }
    if (text.starts_with("-----BEGIN ")) {
        const auto head = text.substr(0, 60).find("PRIVATE KEY-----");
        if (head != std::string_view::npos) {
            const auto end = text.find("PRIVATE KEY-----", head + 16);
            return end == std::string_view::npos ? text.size() : end + 16;
        }
    }
    return 0;
}

} // namespace

Scrubber::Scrubber(std::vector<std::string> secrets)
    : m_secrets(std::move(secrets))
{
    m_secrets.erase(std::remove_if(m_secrets.begin(),
                                   m_secrets.end(),
                                   [](const auto& s) { return s.size() < 6; }),
                    m_secrets.end()); // shorter ones would eat ordinary words
}

std::string Scrubber::clean(std::string_view raw) const
{
    std::string text(raw);
    for (const auto& secret : m_secrets) {
        for (auto at = text.find(secret); at != std::string::npos;
             at = text.find(secret, at + kMasked.size())) {
            text.replace(at, secret.size(), kMasked);
        }
    }
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size();) {
        // JSON text holds "\nsk-...": the escape's letter is no part of the word
        const bool escape =
            i >= 2 && text[i - 2] == '\\' && std::strchr("nrt", text[i - 1]) != nullptr;
        const bool start = i == 0 || escape || !wordCharacter(text[i - 1]);
        std::size_t keep = 0;
        const std::size_t length = secretLength(std::string_view(text).substr(i), start, keep);
        if (length > 0) {
            out.append(text, i, keep);
            out += kMasked;
            i += length;
        } else {
            out += text[i++];
        }
    }
    return out;
}

} // namespace lathe::agent
