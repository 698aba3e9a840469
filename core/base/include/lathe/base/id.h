// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <utility>

namespace lathe {

/// A fresh UUID version 7 (RFC 9562) as 36 lower-case characters: time-ordered, random tail.
std::string newUuidV7();

/// A strongly typed identifier. Nodes (tasks, candidates, evaluations, runs) carry UUIDv7 text.
template <class Tag>
class Id
{
public:
    Id() = default;
    explicit Id(std::string text)
        : m_text(std::move(text))
    {}
    static Id fresh() { return Id(newUuidV7()); }
    [[nodiscard]] const std::string& text() const { return m_text; }
    [[nodiscard]] bool empty() const { return m_text.empty(); }
    auto operator<=>(const Id&) const = default;

private:
    std::string m_text;
};

using TaskId = Id<struct TaskTag>;
using CandidateId = Id<struct CandidateTag>;
using EvaluationId = Id<struct EvaluationTag>;
using RunId = Id<struct RunTag>; ///< one agent run (trajectory)

} // namespace lathe
