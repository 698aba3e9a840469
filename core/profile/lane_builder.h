// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/profile/trace.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathe::profile {

/// One span before it has found its sub-lane; absolute time.
struct RawSpan
{
    std::int64_t startNs = 0;
    std::int64_t durationNs = 0;
    std::uint32_t nameId = 0;
    std::uint32_t correlation = 0;
    SpanCategory category = SpanCategory::Other;
};

/// What one thread or stream recorded, in file order.
struct RawLane
{
    std::string process;
    std::string name;
    std::vector<RawSpan> spans;
};

/// Gives equal names one id.
class NameTable
{
public:
    std::uint32_t intern(std::string_view name);
    std::vector<std::string> take() { return std::move(m_names); }

private:
    struct Hash
    {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const
        {
            return std::hash<std::string_view>{}(text);
        }
    };
    std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> m_ids;
    std::vector<std::string> m_names;
};

/// Sorts each lane, spreads nested and overlapping spans over sub-lanes on which no two spans
/// overlap, and moves the time origin to the first span.
void buildLanes(std::vector<RawLane> raw, Trace& trace);

} // namespace lathe::profile
