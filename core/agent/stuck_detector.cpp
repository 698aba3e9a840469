// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/stuck_detector.h>

namespace lathe::agent {
namespace {

constexpr std::size_t kSameActions = 4;
constexpr int kSameErrors = 3;
constexpr std::size_t kAlternating = 6;

} // namespace

std::string
StuckDetector::add(const std::string& action, bool success, const std::string& resultText)
{
    m_actions.push_back(action);
    if (m_actions.size() > kAlternating) {
        m_actions.pop_front();
    }
    if (!success) {
        m_errors = m_errors > 0 && resultText == m_error ? m_errors + 1 : 1;
        m_error = resultText;
        if (m_errors >= kSameErrors) {
            return "the same error came " + std::to_string(kSameErrors) + " times";
        }
    }
    const std::size_t n = m_actions.size();
    bool same = n >= kSameActions;
    for (std::size_t i = 1; same && i < kSameActions; ++i) {
        same = m_actions[n - 1 - i] == action;
    }
    if (same) {
        return "the same action was taken " + std::to_string(kSameActions) + " times in a row";
    }
    bool alternating = n == kAlternating && m_actions[0] != m_actions[1];
    for (std::size_t i = 2; alternating && i < kAlternating; ++i) {
        alternating = m_actions[i] == m_actions[i - 2];
    }
    return alternating ? "two actions alternated over " + std::to_string(kAlternating) + " steps"
                       : std::string();
}

void StuckDetector::reset()
{
    m_actions.clear();
    m_error.clear();
    m_errors = 0;
}

} // namespace lathe::agent
