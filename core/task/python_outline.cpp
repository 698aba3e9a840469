// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python_outline.h"

#include <lathe/base/text.h>

#include <algorithm>
#include <array>
#include <vector>

namespace lathe::task {
namespace {

bool isWordStart(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool isWord(char c)
{
    return isWordStart(c) || (c >= '0' && c <= '9');
}

std::string_view leadingWord(std::string_view text)
{
    std::size_t end = 0;
    while (end < text.size() && isWord(text[end])) {
        ++end;
    }
    return text.substr(0, end);
}

/// Blanks string contents and comments (same length, same lines), and what is inside brackets keeps
/// its text but is marked as continuation by bracket depth.
class Scanner
{
public:
    Scanner(std::string_view source, PythonOutline& outline)
        : m_source(source)
        , m_outline(outline)
    {}

    void run()
    {
        while (m_at < m_source.size()) {
            const char c = m_source[m_at];
            if (c == '\n') {
                endLine();
            } else if (c == '#') {
                m_at = std::min(m_source.find('\n', m_at), m_source.size());
                continue;
            } else if (c == '\'' || c == '"') {
                skipString(c);
                continue;
            } else if (c == '\\' && m_at + 1 < m_source.size() && m_source[m_at + 1] == '\n') {
                m_line += 1;
                m_at += 2;
                continue;
            } else {
                bracket(c);
                append(c);
            }
            ++m_at;
        }
        endLine();
        if (!m_open.empty()) {
            m_outline.unclosedBracketLine = m_open.back();
        }
    }

private:
    void bracket(char c)
    {
        if (c == '(' || c == '[' || c == '{') {
            m_open.push_back(m_line);
        } else if ((c == ')' || c == ']' || c == '}') && !m_open.empty()) {
            m_open.pop_back();
        }
    }

    void append(char c)
    {
        if (m_logical.empty()) {
            m_logicalLine = m_line;
        }
        m_logical.push_back(c);
    }

    void skipString(char quote)
    {
        append(quote);
        const int startLine = m_line;
        const std::string triple(3, quote);
        const bool isTriple = m_source.substr(m_at, 3) == triple;
        m_at += isTriple ? 3 : 1;
        while (m_at < m_source.size()) {
            const char c = m_source[m_at];
            if (c == '\\') {
                m_line += m_at + 1 < m_source.size() && m_source[m_at + 1] == '\n' ? 1 : 0;
                m_at += 2;
            } else if (isTriple && m_source.substr(m_at, 3) == triple) {
                m_at += 3;
                return;
            } else if (!isTriple && c == quote) {
                m_at += 1;
                return;
            } else if (!isTriple && c == '\n') {
                break;
            } else {
                m_line += c == '\n' ? 1 : 0;
                ++m_at;
            }
        }
        if (m_outline.unterminatedStringLine == 0) {
            m_outline.unterminatedStringLine = startLine;
        }
    }

    void endLine()
    {
        if (m_open.empty()) {
            statement(m_logical, m_logicalLine);
            m_logical.clear();
        }
        ++m_line;
    }

    void statement(std::string_view text, int line)
    {
        const std::string_view word = leadingWord(text);
        if (word.empty()) {
            return; // indented, a decorator or blank
        }
        std::string_view rest = trimmed(text.substr(word.size()));
        if (word == "def" || word == "class") {
            const std::string name(leadingWord(rest));
            (word == "def" ? m_outline.functions : m_outline.classes).emplace(name, line);
            return;
        }
        if (!rest.empty() && rest.front() == ':') { // annotated
            const auto equals = rest.find('=');
            rest = equals == std::string_view::npos ? std::string_view{} : rest.substr(equals);
        }
        if (!rest.empty() && rest.front() == '=' && (rest.size() == 1 || rest[1] != '=')
            && isPythonIdentifier(word)) {
            m_outline.constants.emplace(std::string(word), line);
        }
    }

    std::string_view m_source;
    PythonOutline& m_outline;
    std::size_t m_at = 0;
    int m_line = 1;
    std::vector<int> m_open; ///< lines of the brackets that are open
    std::string m_logical;
    int m_logicalLine = 1;
};

} // namespace

PythonOutline outlinePython(std::string_view source)
{
    PythonOutline outline;
    Scanner(source, outline).run();
    return outline;
}

bool isPythonIdentifier(std::string_view text)
{
    static constexpr std::array<std::string_view, 35> kKeywords = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
    return !text.empty() && isWordStart(text.front())
           && std::all_of(text.begin(), text.end(), isWord)
           && std::find(kKeywords.begin(), kKeywords.end(), text) == kKeywords.end();
}

} // namespace lathe::task
