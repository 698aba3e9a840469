// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "micros.h"

#include <lathe/profile/trace.h>

#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <type_traits>

// Layout, all little-endian: "LTRC", u32 version, i64 span, i64 repaired, i64 skipped, text source,
// u32 names, texts, u32 lanes, and per lane: text name, text process, i32 depth, u64 n, i64
// start[n], i64 duration[n], u32 name[n], u32 correlation[n], u8 category[n]. A text is u32 bytes
// and the bytes.
namespace lathe::profile {

static_assert(std::endian::native == std::endian::little,
              "columns are copied as they lie in memory");

namespace {

constexpr std::uint32_t kVersion = 1;

template <class T>
void put(std::string& out, T value)
{
    static_assert(std::is_trivially_copyable_v<T>);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
}

void putText(std::string& out, const std::string& text)
{
    put(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

template <class T>
void putColumn(std::string& out, const std::vector<T>& column)
{
    const std::size_t at = out.size();
    out.resize(at + column.size() * sizeof(T));
    if (!column.empty())
        std::memcpy(out.data() + at, column.data(), column.size() * sizeof(T));
}

/// Takes values off the front; once something is missing everything after it fails too.
class Reader
{
public:
    explicit Reader(std::string_view bytes)
        : m_bytes(bytes)
    {}
    [[nodiscard]] bool ok() const { return m_ok; }
    [[nodiscard]] bool atEnd() const { return m_at == m_bytes.size(); }
    [[nodiscard]] std::size_t offset() const { return m_at; }

    template <class T>
    T take()
    {
        T value{};
        if (need(sizeof(T))) {
            std::memcpy(&value, m_bytes.data() + m_at, sizeof(T));
            m_at += sizeof(T);
        }
        return value;
    }
    std::string text()
    {
        const auto bytes = take<std::uint32_t>();
        if (!need(bytes))
            return {};
        m_at += bytes;
        return std::string(m_bytes.substr(m_at - bytes, bytes));
    }
    template <class T>
    void column(std::vector<T>& out, std::uint64_t count)
    {
        if (count > m_bytes.size() || !need(count * sizeof(T)))
            return fail();
        out.resize(count);
        if (count > 0)
            std::memcpy(out.data(), m_bytes.data() + m_at, count * sizeof(T));
        m_at += count * sizeof(T);
    }
    void fail() { m_ok = false; }

private:
    bool need(std::uint64_t bytes)
    {
        if (m_ok && bytes <= m_bytes.size() - m_at)
            return true;
        m_ok = false;
        return false;
    }
    std::string_view m_bytes;
    std::size_t m_at = 0;
    bool m_ok = true;
};

/// What every reader of a trace relies on: sorted, no overlap on a sub-lane, ids that exist.
bool plausible(const Lane& lane, std::size_t names, std::int64_t spanNs)
{
    std::int64_t last = 0;
    for (std::size_t i = 0; i < lane.size(); ++i) {
        const std::int64_t start = lane.startNs[i];
        const std::int64_t duration = lane.durationNs[i];
        if (start < last || start > spanNs || duration < 0 || duration > spanNs - start)
            return false;
        if (lane.nameId[i] >= names || lane.category[i] > SpanCategory::Other)
            return false;
        last = start + duration;
    }
    return true;
}

tl::unexpected<Error> damaged(std::size_t offset)
{
    return fail(ErrorCode::Parse,
                fmt::format("The trace file is cut short or damaged at byte {}.", offset));
}

} // namespace

std::string toNativeTrace(const Trace& trace)
{
    std::string out = "LTRC";
    out.reserve(trace.events() * 25 + 4096);
    put(out, kVersion);
    put(out, trace.spanNs);
    put(out, trace.repaired);
    put(out, trace.skipped);
    putText(out, trace.source);
    put(out, static_cast<std::uint32_t>(trace.names.size()));
    for (const std::string& name : trace.names)
        putText(out, name);
    put(out, static_cast<std::uint32_t>(trace.lanes.size()));
    for (const Lane& lane : trace.lanes) {
        putText(out, lane.name);
        putText(out, lane.process);
        put(out, static_cast<std::int32_t>(lane.depth));
        put(out, static_cast<std::uint64_t>(lane.size()));
        putColumn(out, lane.startNs);
        putColumn(out, lane.durationNs);
        putColumn(out, lane.nameId);
        putColumn(out, lane.correlation);
        putColumn(out, lane.category);
    }
    return out;
}

Result<Trace> parseNativeTrace(std::string_view bytes)
{
    if (!bytes.starts_with("LTRC"))
        return fail(ErrorCode::Parse, "Not a Lathe trace file: it does not begin with LTRC.");
    Reader reader(bytes.substr(4));
    const auto version = reader.take<std::uint32_t>();
    if (reader.ok() && version != kVersion) {
        return fail(ErrorCode::Unsupported,
                    fmt::format("Trace file version {} is not known here (this program reads {}).",
                                version,
                                kVersion));
    }
    Trace trace;
    trace.spanNs = reader.take<std::int64_t>();
    if (trace.spanNs > kLargestNs)
        return damaged(reader.offset() + 4);
    trace.repaired = reader.take<std::int64_t>();
    trace.skipped = reader.take<std::int64_t>();
    trace.source = reader.text();
    const auto names = reader.take<std::uint32_t>();
    for (std::uint32_t i = 0; i < names && reader.ok(); ++i)
        trace.names.push_back(reader.text());
    const auto lanes = reader.take<std::uint32_t>();
    for (std::uint32_t i = 0; i < lanes && reader.ok(); ++i) {
        Lane lane;
        lane.name = reader.text();
        lane.process = reader.text();
        lane.depth = reader.take<std::int32_t>();
        const auto count = reader.take<std::uint64_t>();
        reader.column(lane.startNs, count);
        reader.column(lane.durationNs, count);
        reader.column(lane.nameId, count);
        reader.column(lane.correlation, count);
        reader.column(lane.category, count);
        if (!reader.ok() || !plausible(lane, trace.names.size(), trace.spanNs))
            return damaged(reader.offset() + 4);
        trace.lanes.push_back(std::move(lane));
    }
    if (!reader.ok() || !reader.atEnd())
        return damaged(reader.offset() + 4);
    if (trace.events() == 0)
        return fail(ErrorCode::Parse, "The trace holds no spans.");
    return trace;
}

} // namespace lathe::profile
