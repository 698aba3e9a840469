// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <lathe/base/text.h>
#include <lathe/protocol/messages.h>
#include <lathe/protocol/types_json.h>

#include <cstdint>

namespace lathe::protocol {
namespace {

constexpr std::size_t kMaxLineBytes = 64 * 1024; ///< of a text inside the JSON
constexpr std::size_t kMaxSamples = 20'000;      ///< of a timing row on the wire
constexpr std::size_t kMaxDiagnostics = 500;

struct Encoder
{
    Frame& frame;

    nlohmann::json operator()(const StageEvent& event) const
    {
        return {{"event", "stage"},
                {"stage", event.stage},
                {"text", headAndTail(event.text, kMaxLineBytes)},
                {"fraction", event.fraction}};
    }
    nlohmann::json operator()(const BuildEvent& event) const
    {
        frame.attachments.push_back(event.report.log);
        BuildReport report = event.report;
        if (report.diagnostics.size() > kMaxDiagnostics) {
            report.diagnostics.resize(kMaxDiagnostics);
        }
        for (Diagnostic& diagnostic : report.diagnostics) {
            diagnostic.message = headAndTail(diagnostic.message, 1024);
        }
        return {{"event", "build"}, {"report", toJson(report)}};
    }
    nlohmann::json operator()(const GateEvent& event) const
    {
        GateResult gate = event.gate;
        gate.reason = headAndTail(gate.reason, kMaxLineBytes);
        return {{"event", "gate"}, {"gate", toJson(gate)}};
    }
    nlohmann::json operator()(const TimingEvent& event) const
    {
        TimingRow row = event.row;
        if (row.samplesUs.size() > kMaxSamples) {
            row.samplesUs.resize(kMaxSamples);
        }
        return {{"event", "timing"}, {"row", toJson(row, true)}};
    }
    nlohmann::json operator()(const ComparisonEvent& event) const
    {
        return {{"event", "comparison"}, {"comparison", toJson(event.comparison)}};
    }
    nlohmann::json operator()(const TraceEvent& event) const
    {
        frame.attachments.push_back(event.chromeJson);
        return {{"event", "trace"},
                {"arm", event.arm},
                {"variant", event.variant},
                {"protocol", event.protocol},
                {"calls", event.calls}};
    }
    nlohmann::json operator()(const LogEvent& event) const
    {
        return {{"event", "log"},
                {"source", event.source},
                {"text", headAndTail(event.text, kMaxLineBytes)}};
    }
    nlohmann::json operator()(const WarningEvent& event) const
    {
        return {{"event", "warning"}, {"text", headAndTail(event.text, kMaxLineBytes)}};
    }
};

template <class T>
Result<Event> finished(const Fields& fields, T event)
{
    if (fields.failed()) {
        return fields.error();
    }
    return Event(std::move(event));
}

/// A member that is one shared type.
template <class T, class Parse>
Result<T> part(const Fields& fields, const char* key, Parse parse)
{
    const auto* value = fields.find(key);
    if (value == nullptr) {
        return fail(ErrorCode::Parse, std::string("event.") + key + " is missing");
    }
    return parse(*value);
}

template <class Make, class T>
Result<Event> wrapped(Result<T> value, Make make)
{
    if (!value) {
        return tl::unexpected(value.error());
    }
    return Event(make(std::move(*value)));
}

} // namespace

Frame encodeEvent(std::uint64_t id, const Event& event)
{
    Frame frame{FrameType::Event, id, {}, {}};
    frame.json = dumpJson(std::visit(Encoder{frame}, event));
    return frame;
}

Result<Event> decodeEvent(Frame& frame)
{
    if (frame.type != FrameType::Event) {
        return fail(ErrorCode::Protocol, "not an event frame");
    }
    const auto json = parseJson(frame.json);
    if (!json) {
        return tl::unexpected(json.error());
    }
    std::string kind;
    Fields fields(*json, "event");
    fields.need("event").read("event", kind);
    if (fields.failed()) {
        return fields.error();
    }
    const auto takeAttachment = [&frame] {
        return frame.attachments.empty() ? std::string{} : std::move(frame.attachments.front());
    };
    if (kind == "stage") {
        StageEvent event;
        fields.read("stage", event.stage).read("text", event.text).read("fraction", event.fraction);
        return finished(fields, std::move(event));
    }
    if (kind == "build") {
        auto report = part<BuildReport>(fields, "report", buildReportFromJson);
        if (report) {
            report->log = takeAttachment();
        }
        return wrapped(std::move(report),
                       [](BuildReport value) { return BuildEvent{std::move(value)}; });
    }
    if (kind == "gate") {
        return wrapped(part<GateResult>(fields, "gate", gateResultFromJson),
                       [](GateResult value) { return GateEvent{std::move(value)}; });
    }
    if (kind == "timing") {
        return wrapped(part<TimingRow>(fields, "row", timingRowFromJson),
                       [](TimingRow value) { return TimingEvent{std::move(value)}; });
    }
    if (kind == "comparison") {
        return wrapped(part<Comparison>(fields, "comparison", comparisonFromJson),
                       [](Comparison value) { return ComparisonEvent{std::move(value)}; });
    }
    if (kind == "trace") {
        TraceEvent event;
        fields.read("arm", event.arm).read("variant", event.variant);
        fields.read("protocol", event.protocol).read("calls", event.calls);
        event.chromeJson = takeAttachment();
        return finished(fields, std::move(event));
    }
    if (kind == "log") {
        LogEvent event;
        fields.read("source", event.source).read("text", event.text);
        return finished(fields, std::move(event));
    }
    if (kind == "warning") {
        WarningEvent event;
        fields.read("text", event.text);
        return finished(fields, std::move(event));
    }
    return fail(ErrorCode::Unsupported, "unknown event: " + kind);
}

} // namespace lathe::protocol
