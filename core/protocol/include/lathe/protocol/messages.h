// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/frame.h>
#include <lathe/protocol/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// The worker protocol's requests and events as types (docs/protocol.md is the document; this is
/// its code).
namespace lathe::protocol {

/// Request "evaluate": build, verify, benchmark one candidate. Also the carrier of "baseline" (no
/// candidate) and "prepare" (start the task's arms and compiled baselines in the background, answer
/// at once).
struct EvaluateRequest
{
    std::string method = "evaluate"; ///< "evaluate", "baseline", "prepare"
    TaskSpec task;
    std::optional<CandidateSpec> candidate;
    std::optional<CandidateSpec>
        parent; ///< timed as arm "parent" when it differs from the candidate
    Tier tier = Tier::Full;
    Until until = Until::Profile;
    std::string device = "cpu"; ///< "cpu" or "cuda"
    int deviceIndex = 0;
    std::vector<std::string> variants;       ///< names; empty: what the tier says
    std::vector<std::string> against;        ///< baseline arms; empty: eager and compile:default
    double minSeconds = 0;                   ///< least sampling time per arm; 0: the tier's own
    double maxNoisePercent = 1.0;            ///< stop once the interval's half-width is below this
    double timeoutSeconds = 600;             ///< of the whole request
    std::optional<std::uint64_t> replaySeed; ///< set: the result is "replayed" and not kept
};

/// Request "exec": run a tool on the candidate with the exact inputs (lathe exec). Output comes as
/// log events.
struct ExecRequest
{
    EvaluateRequest what;
    std::vector<std::string>
        command; ///< tool and its arguments; the arm's command line is appended
};

/// Events ("event" member): what the worker found out, as it finds it out.
struct StageEvent
{                         ///< "stage"
    std::string stage;    ///< "prepare", "build", "verify", "bench", "profile", "idle"
    std::string text;     ///< one line for a person
    double fraction = -1; ///< 0..1, or -1 when unknown
};
struct BuildEvent
{
    BuildReport report;
}; ///< "build"; attachment 0: log
struct GateEvent
{
    GateResult gate;
}; ///< "gate"
struct TimingEvent
{
    TimingRow row;
}; ///< "timing"
struct ComparisonEvent
{
    Comparison comparison;
}; ///< "comparison"
struct TraceEvent
{ ///< "trace"; attachment 0: Chrome trace JSON of one arm (categories operator, kernel, runtime)
    std::string arm;
    std::string variant;
    std::string protocol; ///< "evidence"
    int calls = 1;
    std::string chromeJson;
};
struct LogEvent
{                       ///< "log"
    std::string source; ///< "build", "candidate", "worker", "tool"
    std::string text;
};
struct WarningEvent
{
    std::string text;
}; ///< "warning"

using Event = std::variant<StageEvent,
                           BuildEvent,
                           GateEvent,
                           TimingEvent,
                           ComparisonEvent,
                           TraceEvent,
                           LogEvent,
                           WarningEvent>;

/// The end of an evaluate/baseline/prepare request.
struct EvaluateDone
{
    std::optional<Verdict> verdict; ///< absent for "prepare"
    std::string reason;
    TargetInfo target;
    Conditions conditions;
    std::string controlsJson = "{}";
    std::string evidenceJson = "{}"; ///< kernel list, busy time, span
    std::string limitJson = "{}";    ///< speed of light: bytes, flops, measured ceilings
    std::string attestedJson = "[]";
    std::optional<double> aaFloorPercent; ///< half-width of the A/A comparison
    /// The variants that the tier calls for and whose timing is missing: not chosen, declined, or
    /// no time was left.
    std::vector<std::string> untimed;
    std::vector<std::uint64_t> seeds;
    double workerSeconds = 0;   ///< wall time of the request in the worker
    double compilerSeconds = 0; ///< wall time spent in compilers
    double armSeconds = 0;      ///< wall time spent waiting for arms' work
    double samplingSeconds = 0; ///< wall time spent sampling
    int exitCode = 0;           ///< of the tool, for exec
};

/// Hello of the worker: who it is and what it can do.
struct WorkerHello
{
    int version = kProtocolVersion;
    std::string software; ///< "lathe-worker 0.1.0"
    std::int64_t pid = 0;
    TargetInfo target;
    std::vector<std::string> devices; ///< "cpu", "cuda:0"
    /// Doctor's rows: name, "ok" | "missing" | "degraded", what was found, and the fix.
    struct Capability
    {
        std::string name, status, found, fix;
    };
    std::vector<Capability> capabilities;
};

Frame encodeRequest(std::uint64_t id, const EvaluateRequest& request);
Frame encodeRequest(std::uint64_t id, const ExecRequest& request);
/// Decodes a Request frame's evaluate/baseline/prepare/exec; attachments are moved in.
Result<EvaluateRequest> decodeEvaluateRequest(Frame& frame);
Result<ExecRequest> decodeExecRequest(Frame& frame);
/// The "method" of a Request frame.
Result<std::string> requestMethod(const Frame& frame);

Frame encodeEvent(std::uint64_t id, const Event& event);
Result<Event> decodeEvent(Frame& frame);
Frame encodeDone(std::uint64_t id, const EvaluateDone& done);
Result<EvaluateDone> decodeDone(const Frame& frame);
Frame encodeFailure(std::uint64_t id, const Error& error);
Error decodeFailure(const Frame& frame);
Frame encodeHello(const WorkerHello& hello);
Result<WorkerHello> decodeHello(const Frame& frame);

} // namespace lathe::protocol
