// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "lane_builder.h"
#include "micros.h"

#include <lathe/base/text.h>
#include <lathe/profile/trace.h>

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <simdjson.h>

namespace lathe::profile {

namespace {

namespace ondemand = simdjson::ondemand;

/// The members of one event that matter here; views live as long as the document.
struct Event
{
    std::string_view phase;
    std::string_view name;
    std::string_view category;
    std::string_view pid; ///< as written, quotes included
    std::string_view tid;
    std::optional<std::int64_t> startNs;
    std::optional<std::int64_t> durationNs;
    bool hasDuration = false;
    std::uint32_t correlation = 0;
    std::string_view stream;
    std::string_view argName; ///< args.name of metadata
    std::optional<std::int64_t> sortIndex;
};

struct Mark
{ ///< a "B" or "E" event
    std::int64_t atNs = 0;
    bool begin = false;
    RawSpan span;
};

struct Thread
{
    std::string pid;
    std::string tid;
    std::string name;
    std::string stream;
    std::int64_t sortIndex = 0;
    std::vector<RawSpan> spans;
    std::vector<Mark> marks;
};

struct Process
{
    std::string name;
    std::int64_t sortIndex = 0;
};

SpanCategory categoryOf(std::string_view text)
{
    static constexpr std::pair<std::string_view, SpanCategory> kKnown[] = {
        {"cpu_op", SpanCategory::Operator},
        {"operator", SpanCategory::Operator},
        {"Operator", SpanCategory::Operator},
        {"kernel", SpanCategory::Kernel},
        {"Kernel", SpanCategory::Kernel},
        {"gpu_memcpy", SpanCategory::Memory},
        {"gpu_memset", SpanCategory::Memory},
        {"Memcpy", SpanCategory::Memory},
        {"Memset", SpanCategory::Memory},
        {"memory", SpanCategory::Memory},
        {"memcpy", SpanCategory::Memory},
        {"memset", SpanCategory::Memory},
        {"cuda_runtime", SpanCategory::Runtime},
        {"cuda_driver", SpanCategory::Runtime},
        {"privateuse1_runtime", SpanCategory::Runtime},
        {"Runtime", SpanCategory::Runtime},
        {"runtime", SpanCategory::Runtime},
        {"driver", SpanCategory::Runtime},
    };
    while (!text.empty()) { // "cat" may be a list: the first word that means something here counts
        const std::size_t comma = text.find(',');
        const std::string_view word = trimmed(text.substr(0, comma));
        for (const auto& [name, category] : kKnown)
            if (word == name)
                return category;
        text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
    }
    return SpanCategory::Other;
}

std::string_view unquoted(std::string_view token)
{
    token = trimmed(token);
    if (token.size() >= 2 && token.front() == '"' && token.back() == '"')
        return token.substr(1, token.size() - 2);
    return token;
}

/// Text of a scalar: a string's content or a number as written; empty for anything else.
std::string_view scalarText(ondemand::value value)
{
    switch (value.type()) {
    case ondemand::json_type::string:
        return value.get_string();
    case ondemand::json_type::number:
        return trimmed(value.raw_json_token());
    default:
        return {};
    }
}

std::string_view scalarToken(ondemand::value value)
{
    const ondemand::json_type type = value.type();
    if (type == ondemand::json_type::array || type == ondemand::json_type::object)
        return {};
    return trimmed(value.raw_json_token());
}

class ChromeReader
{
public:
    Result<Trace> read(std::string_view json);

private:
    void readRoot(ondemand::document& document);
    void readEvents(ondemand::array events);
    void readArgs(ondemand::object args, Event& event);
    void take(const Event& event);
    void takeMetadata(const Event& event);
    std::optional<RawSpan> spanOf(const Event& event);
    Thread& threadOf(const Event& event);
    void matchMarks();
    std::vector<RawLane> rawLanes();

    NameTable m_names;
    std::vector<Thread> m_threads;
    std::map<std::string, std::size_t, std::less<>> m_threadIndex;
    std::size_t m_lastThread = SIZE_MAX;
    std::map<std::string, Process, std::less<>> m_processes;
    std::string m_key;
    std::int64_t m_lastNs = INT64_MIN;
    Trace m_trace;
    bool m_foundEvents = false;
};

Thread& ChromeReader::threadOf(const Event& event)
{
    if (m_lastThread < m_threads.size() && m_threads[m_lastThread].pid == event.pid
        && m_threads[m_lastThread].tid == event.tid) {
        return m_threads[m_lastThread];
    }
    m_key.assign(event.pid).append(1, '\n').append(event.tid);
    const auto [found, fresh] = m_threadIndex.try_emplace(m_key, m_threads.size());
    if (fresh) {
        m_threads.emplace_back();
        m_threads.back().pid = event.pid;
        m_threads.back().tid = event.tid;
    }
    m_lastThread = found->second;
    return m_threads[m_lastThread];
}

void ChromeReader::takeMetadata(const Event& event)
{
    if (event.name == "process_name")
        m_processes[std::string(event.pid)].name = trimmed(event.argName);
    else if (event.name == "process_sort_index")
        m_processes[std::string(event.pid)].sortIndex = event.sortIndex.value_or(0);
    else if (event.name == "thread_name")
        threadOf(event).name = trimmed(event.argName);
    else if (event.name == "thread_sort_index")
        threadOf(event).sortIndex = event.sortIndex.value_or(0);
}

std::optional<RawSpan> ChromeReader::spanOf(const Event& event)
{
    if (!event.startNs) {
        ++m_trace.skipped;
        return std::nullopt;
    }
    RawSpan span;
    span.startNs = *event.startNs;
    span.nameId = m_names.intern(event.name);
    span.correlation = event.correlation;
    span.category = categoryOf(event.category);
    return span;
}

void ChromeReader::take(const Event& event)
{
    if (event.phase == "M")
        return takeMetadata(event);
    const bool complete = event.phase == "X";
    // The profiler's own recording window is no work: it would only move the origin and hide the
    // gaps.
    if ((!complete && event.phase != "B" && event.phase != "E") || event.category == "Trace") {
        ++m_trace.skipped;
        return;
    }
    auto span = spanOf(event);
    if (!span)
        return;
    Thread& thread = threadOf(event);
    if (!event.stream.empty() && span->category != SpanCategory::Runtime)
        thread.stream = event.stream;
    if (!complete) {
        thread.marks.push_back({span->startNs, event.phase == "B", *span});
        m_lastNs = std::max(m_lastNs, span->startNs);
        return;
    }
    if (!event.durationNs || *event.durationNs < 0)
        ++m_trace.repaired; // drawn as a span without length rather than dropped
    else
        span->durationNs = *event.durationNs;
    m_lastNs = std::max(m_lastNs, span->startNs + span->durationNs);
    thread.spans.push_back(*span);
}

void ChromeReader::readArgs(ondemand::object args, Event& event)
{
    for (auto field : args) {
        const ondemand::raw_json_string key = field.key();
        if (key == "correlation") {
            std::uint64_t id = 0;
            if (field.value().get_uint64().get(id) == simdjson::SUCCESS && id <= UINT32_MAX)
                event.correlation = static_cast<std::uint32_t>(id);
        } else if (key == "stream") {
            event.stream = scalarText(field.value());
        } else if (key == "name") {
            event.argName = scalarText(field.value());
        } else if (key == "sort_index") {
            std::int64_t index = 0;
            if (field.value().get_int64().get(index) == simdjson::SUCCESS)
                event.sortIndex = index;
        }
    }
}

void ChromeReader::readEvents(ondemand::array events)
{
    m_foundEvents = true;
    for (auto element : events) {
        ondemand::object object;
        if (ondemand::value value = element.value(); value.type() != ondemand::json_type::object) {
            ++m_trace.skipped;
            continue;
        } else {
            object = value.get_object();
        }
        Event event;
        for (auto field : object) {
            const ondemand::raw_json_string key = field.key();
            if (key == "ph")
                event.phase = scalarText(field.value());
            else if (key == "name")
                event.name = scalarText(field.value());
            else if (key == "cat")
                event.category = scalarText(field.value());
            else if (key == "pid")
                event.pid = scalarToken(field.value());
            else if (key == "tid")
                event.tid = scalarToken(field.value());
            else if (key == "ts")
                event.startNs = nanosecondsFromMicros(scalarText(field.value()));
            else if (key == "dur")
                event.durationNs = nanosecondsFromMicros(scalarText(field.value()));
            else if (key == "args") {
                ondemand::value value = field.value();
                if (value.type() == ondemand::json_type::object)
                    readArgs(value.get_object(), event);
            }
        }
        take(event);
    }
}

void ChromeReader::readRoot(ondemand::document& document)
{
    if (document.type() == ondemand::json_type::array) {
        m_trace.source = "chrome";
        readEvents(document.get_array());
        return;
    }
    std::string declared;
    bool torch = false;
    for (auto field : document.get_object()) {
        const ondemand::raw_json_string key = field.key();
        if (key == "traceEvents") {
            readEvents(field.value().get_array());
        } else if (key == "otherData") {
            ondemand::value value = field.value();
            if (value.type() != ondemand::json_type::object)
                continue;
            for (auto member : value.get_object())
                if (member.key() == "source")
                    declared = scalarText(member.value());
        } else if (key == "deviceProperties" || key == "schemaVersion") {
            torch = true;
        }
    }
    m_trace.source = !declared.empty() ? declared : torch ? "torch.profiler" : "chrome";
}

void ChromeReader::matchMarks()
{
    for (Thread& thread : m_threads) {
        std::stable_sort(thread.marks.begin(),
                         thread.marks.end(),
                         [](const Mark& a, const Mark& b) { return a.atNs < b.atNs; });
        std::vector<RawSpan> open;
        for (const Mark& mark : thread.marks) {
            if (mark.begin) {
                open.push_back(mark.span);
            } else if (open.empty()) {
                ++m_trace.skipped; // an end whose beginning was never recorded
            } else {
                open.back().durationNs = mark.atNs - open.back().startNs;
                if (open.back().correlation == 0)
                    open.back().correlation = mark.span.correlation;
                thread.spans.push_back(open.back());
                open.pop_back();
            }
        }
        for (RawSpan& span : open) { // still running when the recording ended
            span.durationNs = m_lastNs - span.startNs;
            thread.spans.push_back(span);
            ++m_trace.repaired;
        }
    }
}

std::vector<RawLane> ChromeReader::rawLanes()
{
    std::stable_sort(m_threads.begin(), m_threads.end(), [this](const Thread& a, const Thread& b) {
        const std::int64_t indexA = m_processes[a.pid].sortIndex;
        const std::int64_t indexB = m_processes[b.pid].sortIndex;
        return indexA != indexB ? indexA < indexB : a.sortIndex < b.sortIndex;
    });
    std::map<std::pair<std::string, std::string>, int> used;
    std::vector<RawLane> lanes;
    for (Thread& thread : m_threads) {
        if (thread.spans.empty())
            continue;
        RawLane lane;
        lane.process = m_processes[thread.pid].name;
        if (lane.process.empty())
            lane.process = fmt::format("process {}", unquoted(thread.pid));
        lane.name = thread.name;
        if (lane.name.empty()) {
            lane.name = thread.stream.empty() ? fmt::format("thread {}", unquoted(thread.tid))
                                              : "stream " + thread.stream;
        }
        if (used[{lane.process, lane.name}]++ > 0)
            lane.name += fmt::format(" ({})", unquoted(thread.tid));
        lane.process = toValidUtf8(lane.process);
        lane.name = toValidUtf8(lane.name);
        lane.spans = std::move(thread.spans);
        lanes.push_back(std::move(lane));
    }
    return lanes;
}

Result<Trace> ChromeReader::read(std::string_view json)
{
    const simdjson::padded_string padded(json);
    ondemand::parser parser;
    ondemand::document document;
    const auto atByte = [&](simdjson::error_code code) {
        const char* location = nullptr;
        std::size_t offset = json.size();
        if (document.is_alive() && document.current_location().get(location) == simdjson::SUCCESS
            && location >= padded.data() && location <= padded.data() + json.size()) {
            offset = static_cast<std::size_t>(location - padded.data());
        }
        return fail(ErrorCode::Parse,
                    fmt::format("Not a whole Chrome trace: cut short or damaged at byte {} of {}.",
                                offset,
                                json.size()),
                    simdjson::error_message(code));
    };
    if (const simdjson::error_code code = parser.iterate(padded).get(document);
        code != simdjson::SUCCESS)
        return atByte(code);
    try {
        readRoot(document);
        if (document.current_location().error() != simdjson::OUT_OF_BOUNDS)
            return atByte(simdjson::TRAILING_CONTENT);
    } catch (const simdjson::simdjson_error& error) {
        return atByte(error.error());
    }
    if (!m_foundEvents)
        return fail(ErrorCode::Parse, "Not a Chrome trace: there is no \"traceEvents\" list.");
    matchMarks();
    buildLanes(rawLanes(), m_trace);
    m_trace.names = m_names.take();
    // Times that can be read one by one, but whose distance could not be written again.
    if (m_trace.spanNs > kLargestNs) {
        return fail(
            ErrorCode::Parse,
            "The trace's times cannot be right: it would have lasted longer than 70 years.");
    }
    if (m_trace.events() == 0) {
        return fail(
            ErrorCode::Parse,
            fmt::format("The trace holds no spans ({} events were skipped).", m_trace.skipped));
    }
    return std::move(m_trace);
}

} // namespace

Result<Trace> parseChromeTrace(std::string_view json)
{
    auto trace = ChromeReader().read(json);
    if (trace || trace.error().detail != simdjson::error_message(simdjson::UTF8_ERROR))
        return trace;
    // Kernel names may hold bytes that are no UTF-8: replace those rather than lose the recording.
    auto mended = ChromeReader().read(toValidUtf8(json));
    if (mended)
        ++mended->repaired;
    return mended;
}

} // namespace lathe::profile
