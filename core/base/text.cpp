// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/text.h>

#include <cstdint>

namespace lathe {
namespace {

/// Length of the valid UTF-8 sequence at text[i], 0 when there is none (RFC 3629, no surrogates, no
/// overlongs).
std::size_t sequenceLength(std::string_view text, std::size_t i)
{
    const auto at = [&](std::size_t k) { return static_cast<std::uint8_t>(text[k]); };
    const std::uint8_t c = at(i);
    if (c < 0x80) {
        return 1;
    }
    const std::size_t length = c >= 0xc2 && c <= 0xdf   ? 2
                               : (c & 0xf0) == 0xe0     ? 3
                               : c >= 0xf0 && c <= 0xf4 ? 4
                                                        : 0;
    if (length == 0 || i + length > text.size()) {
        return 0;
    }
    for (std::size_t k = 1; k < length; ++k) {
        if ((at(i + k) & 0xc0) != 0x80) {
            return 0;
        }
    }
    const std::uint8_t second = at(i + 1);
    const bool bad = (c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f)
                     || (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f);
    return bad ? 0 : length;
}

} // namespace

std::vector<std::string> splitLines(std::string_view text)
{
    std::vector<std::string> lines;
    while (!text.empty()) {
        const auto end = text.find('\n');
        std::string_view line = text.substr(0, end);
        if (!line.empty() && line.back() == '\r') {
            line.remove_suffix(1);
        }
        lines.emplace_back(line);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    }
    return lines;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator)
{
    std::string out;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (i > 0) {
            out += separator;
        }
        out += parts[i];
    }
    return out;
}

std::string_view trimmed(std::string_view text)
{
    constexpr std::string_view kSpace = " \t\r\n\v\f";
    const auto first = text.find_first_not_of(kSpace);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string toValidUtf8(std::string_view bytes)
{
    std::string out;
    out.reserve(bytes.size());
    for (std::size_t i = 0; i < bytes.size();) {
        const std::size_t length = sequenceLength(bytes, i);
        if (length == 0) {
            out += "\xef\xbf\xbd";
            ++i;
        } else {
            if (bytes[i] != '\0') {
                out.append(bytes.substr(i, length));
            }
            i += length;
        }
    }
    return out;
}

std::string headAndTail(std::string_view text, std::size_t maxBytes)
{
    if (text.size() <= maxBytes) {
        return std::string(text);
    }
    std::size_t head = maxBytes / 2;
    std::size_t tail = text.size() - (maxBytes - head);
    const auto continuation = [&](std::size_t i) {
        return (static_cast<std::uint8_t>(text[i]) & 0xc0) == 0x80;
    };
    while (head > 0 && continuation(head)) {
        --head;
    }
    while (tail < text.size() && continuation(tail)) {
        ++tail;
    }
    return std::string(text.substr(0, head)) + "\n[... " + std::to_string(tail - head)
           + " bytes left out ...]\n" + std::string(text.substr(tail));
}

std::string shellQuote(std::string_view word)
{
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) {
        return std::string(word);
    }
    std::string out = "'";
    for (const char c : word) {
        out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    }
    return out + "'";
}

} // namespace lathe
