// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace lathe::profile {

enum class SpanCategory : std::uint8_t { Operator, Kernel, Memory, Runtime, Other };
const char* toString(SpanCategory category);

/// One lane: a thread, a stream, or a sub-lane of overlapping spans. Spans are sorted by start;
/// nested operator spans sit on deeper sub-lanes. Columnar; 24 bytes an event beside interned
/// names.
struct Lane
{
    std::string name; ///< "thread 1", "stream 7"
    std::string process;
    int depth = 0;                     ///< 0 for the outermost sub-lane
    std::vector<std::int64_t> startNs; ///< from the trace's first span
    std::vector<std::int64_t> durationNs;
    std::vector<std::uint32_t> nameId;
    std::vector<std::uint32_t> correlation; ///< 0: none
    std::vector<SpanCategory> category;
    [[nodiscard]] std::size_t size() const { return startNs.size(); }
};

/// Spans per name: what the kernel table and the selection summary show.
struct NameSummary
{
    std::uint32_t nameId = 0;
    SpanCategory category = SpanCategory::Other;
    std::int64_t count = 0;
    std::int64_t totalNs = 0;
    std::int64_t minNs = 0;
    std::int64_t maxNs = 0;
};

/// An immutable timeline. Value type; build it with TraceBuilder or parseChromeTrace.
class Trace
{
public:
    std::vector<Lane> lanes;
    std::vector<std::string> names;
    std::int64_t spanNs = 0; ///< last end minus first start
    std::int64_t repaired =
        0; ///< events with an impossible time that were mended, never dropped silently
    std::int64_t skipped = 0; ///< events that could not be used, counted
    std::string source;       ///< "torch.profiler", "lathe", "nsys"...

    [[nodiscard]] std::size_t events() const;
    [[nodiscard]] const std::string& name(std::uint32_t id) const { return names[id]; }
    /// Sums per name over [fromNs, toNs) (clipped), largest total first; only spans of the given
    /// category when not Other.
    [[nodiscard]] std::vector<NameSummary> summarise(std::int64_t fromNs, std::int64_t toNs) const;
    /// Time covered by at least one span of the category (union over lanes) in nanoseconds.
    [[nodiscard]] std::int64_t busyNs(SpanCategory category) const;
};

/// Parses Chrome/Perfetto trace JSON ("X", "B"/"E", "M" events; object or array form), from
/// torch.profiler or Lathe. Streaming; an error names the byte offset; an empty trace is an error.
Result<Trace> parseChromeTrace(std::string_view json);
Result<Trace> readTraceFile(const std::string& path);

/// Writes Chrome trace JSON that Perfetto and chrome://tracing open.
std::string toChromeTrace(const Trace& trace);
/// Lathe's native columnar file (magic "LTRC", version, little-endian columns).
std::string toNativeTrace(const Trace& trace);
Result<Trace> parseNativeTrace(std::string_view bytes);

} // namespace lathe::profile
