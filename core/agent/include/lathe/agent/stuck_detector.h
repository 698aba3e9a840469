// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>

namespace lathe::agent {

/// Notices a model that goes in circles: the same action 4 times, the same error 3 times, or two
/// actions alternating over 6 steps.
class StuckDetector
{
public:
    /// Enters one finished action. Why the run is stuck, or empty.
    std::string add(const std::string& action, bool success, const std::string& resultText);
    void reset();

private:
    std::deque<std::string> m_actions;
    std::string m_error;
    int m_errors = 0;
};

} // namespace lathe::agent
