// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0

// Speaks the worker protocol and judges nothing: what it answers is written in the candidate's own
// text, for tests of the client, the session and the windows. Never shipped.
//
// Markers anywhere in a candidate's files:
//   fake:wrong fake:build_failed fake:ratio=1.5     what the answer says (default: correct, ratio
//   2) fake:slow=SECONDS                               takes that long, ends early when cancelled
//   fake:hang                                       until cancelled
//   fake:stubborn                                   for ever, deaf to Cancel
//   fake:crash fake:exit fake:garbage fake:failure fake:stranger   how it breaks
// Command line: --no-hello --garbage --version=N --exit=N --stderr=TEXT --log=FILE (one line per
// request)

#include <lathe/base/text.h>
#include <lathe/protocol/messages.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <poll.h>
#include <string>
#include <thread>
#include <unistd.h>

namespace {

using namespace lathe;
using namespace lathe::protocol;

void writeAll(const std::string& bytes)
{
    std::size_t at = 0;
    while (at < bytes.size()) {
        const ssize_t n = ::write(1, bytes.data() + at, bytes.size() - at);
        if (n <= 0) {
            std::_Exit(0);
        }
        at += static_cast<std::size_t>(n);
    }
}

void send(const Frame& frame)
{
    if (const auto bytes = encodeFrame(frame)) {
        writeAll(*bytes);
    }
}

class FakeWorker
{
public:
    explicit FakeWorker(std::string logFile)
        : m_logFile(std::move(logFile))
    {}

    void serve()
    {
        for (;;) {
            Frame frame;
            if (!take(frame, -1)) {
                return;
            }
            if (frame.type == FrameType::Shutdown) {
                return;
            }
            if (frame.type == FrameType::Request) {
                handle(frame);
            }
        }
    }

private:
    /// The next frame within the time, false at the end of input or when the time is over.
    bool take(Frame& frame, int timeoutMs)
    {
        for (;;) {
            const auto complete = m_decoder.next(frame);
            if (!complete) {
                std::_Exit(1);
            }
            if (*complete) {
                return true;
            }
            pollfd entry = {0, POLLIN, 0};
            if (::poll(&entry, 1, timeoutMs) <= 0) {
                return false;
            }
            char buffer[1u << 16];
            const ssize_t n = ::read(0, buffer, sizeof buffer);
            if (n <= 0) {
                std::_Exit(0); // the client went away
            }
            m_decoder.feed({buffer, static_cast<std::size_t>(n)});
        }
    }

    /// True when the request was cancelled meanwhile.
    bool wait(std::uint64_t id, double seconds, bool deaf)
    {
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        for (;;) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                end - std::chrono::steady_clock::now());
            if (left.count() <= 0) {
                return false;
            }
            Frame frame;
            if (!take(frame, static_cast<int>(std::min<std::int64_t>(left.count(), 1000)))) {
                continue;
            }
            if (frame.type == FrameType::Shutdown) {
                std::_Exit(0);
            }
            if (frame.type == FrameType::Cancel && frame.request == id && !deaf) {
                return true;
            }
        }
    }

    void log(const std::string& line) const
    {
        if (!m_logFile.empty()) {
            std::ofstream(m_logFile, std::ios::app) << line << '\n';
        }
    }

    void handle(Frame& frame)
    {
        const std::uint64_t id = frame.request;
        const auto method = requestMethod(frame);
        if (method && *method == "exec") {
            auto request = decodeExecRequest(frame);
            if (request) {
                log("exec " + join(request->command, " "));
                send(encodeEvent(id, LogEvent{"tool", join(request->command, " ") + "\n"}));
                EvaluateDone done = summary();
                done.exitCode = request->command.front() == "false" ? 1 : 0;
                send(encodeDone(id, done));
            }
            return;
        }
        auto request = decodeEvaluateRequest(frame);
        if (!request) {
            send(encodeFailure(id, request.error()));
            return;
        }
        log(request->method + " " + request->task.key + " " + toString(request->tier)
            + (request->parent ? " parent" : ""));
        if (request->method == "prepare") {
            send(encodeDone(id, summary()));
            return;
        }
        evaluate(id, *request);
    }

    static std::string allText(const EvaluateRequest& request)
    {
        std::string text;
        if (request.candidate) {
            for (const auto& file : request.candidate->files) {
                text += file.text + "\n";
            }
        }
        return text;
    }

    static EvaluateDone summary()
    {
        EvaluateDone done;
        done.target = target();
        done.conditions.threads = 2;
        done.conditions.affinity = "0,1";
        done.conditions.allocator = "fake";
        done.seeds = {11, 12};
        return done;
    }

public:
    static TargetInfo target()
    {
        return {"local", "CPU: fake, 2 cores", "", "g++ fake", "torch fake", "none (fake)"};
    }

private:
    /// The misbehaviours that end the request (or the process); true when one of them did.
    bool misbehave(std::uint64_t id, const std::string& text)
    {
        const auto says = [&](const char* marker) {
            return text.find(marker) != std::string::npos;
        };
        if (says("fake:crash")) {
            ::raise(SIGKILL);
        }
        if (says("fake:exit")) {
            std::_Exit(3);
        }
        if (says("fake:garbage")) {
            writeAll(std::string(64, '\xff'));
        }
        if (says("fake:stranger")) {
            send(encodeEvent(id + 1000, StageEvent{"build", "whose?", -1}));
            wait(id, 3600, true);
        }
        if (says("fake:failure")) {
            send(encodeFailure(id,
                               {ErrorCode::Refused, "the fake refuses", "because it was told to"}));
            return true;
        }
        double seconds = 0;
        if (const auto at = text.find("fake:slow="); at != std::string::npos) {
            seconds = std::strtod(text.c_str() + at + 10, nullptr);
        }
        if (says("fake:hang") || says("fake:stubborn") || says("fake:garbage")) {
            seconds = 3600;
        }
        if (seconds > 0 && wait(id, seconds, says("fake:stubborn"))) {
            send(encodeFailure(id, {ErrorCode::Cancelled, "cancelled", {}}));
            return true;
        }
        return false;
    }

    static void timings(std::uint64_t id, const EvaluateRequest& request, double ratio)
    {
        for (const auto& variant : request.task.variants) {
            if (variant.hidden || (variant.device != "any" && variant.device != request.device)
                || (request.tier == Tier::Quick && !variant.headline)) {
                continue;
            }
            const auto row = [&](const std::string& arm, double us) {
                TimingRow timing;
                timing.arm = arm;
                timing.variant = variant.name;
                timing.protocol = "warm";
                timing.samples = 30;
                timing.medianUs = us;
                timing.lowUs = us * 0.995;
                timing.highUs = us * 1.005;
                timing.p10Us = us * 0.99;
                timing.p90Us = us * 1.01;
                timing.cvPercent = 0.5;
                send(encodeEvent(id, TimingEvent{timing}));
            };
            const double base = 1000;
            const auto compare = [&](const std::string& against, double value) {
                const std::string verdict = value > 1.01   ? "faster"
                                            : value < 0.99 ? "slower"
                                                           : "same";
                send(encodeEvent(id,
                                 ComparisonEvent{{"candidate",
                                                  against,
                                                  variant.name,
                                                  "warm",
                                                  value,
                                                  value * 0.995,
                                                  value * 1.005,
                                                  verdict}}));
            };
            row("eager", base);
            row("compile:default", base / 1.25);
            if (request.candidate) {
                row("candidate", base / ratio);
                compare("eager", ratio);
                compare("compile:default", ratio / 1.25);
            }
            if (request.parent) {
                row("parent", base / 1.6);
                compare("parent", ratio / 1.6);
            }
        }
    }

    static void traces(std::uint64_t id, const EvaluateRequest& request)
    {
        const char* const eager = R"({"traceEvents":[
{"ph":"X","cat":"operator","name":"aten::add","pid":1,"tid":1,"ts":0,"dur":400},
{"ph":"X","cat":"operator","name":"aten::mean","pid":1,"tid":1,"ts":400,"dur":350},
{"ph":"X","cat":"operator","name":"aten::mul","pid":1,"tid":1,"ts":750,"dur":250}]})";
        const char* const candidate = R"({"traceEvents":[
{"ph":"X","cat":"kernel","name":"fused","pid":1,"tid":1,"ts":0,"dur":500}]})";
        const std::string variant =
            request.task.variants.empty() ? "" : request.task.variants.front().name;
        send(encodeEvent(id, TraceEvent{"eager", variant, "evidence", 1, eager}));
        if (request.candidate) {
            send(encodeEvent(id, TraceEvent{"candidate", variant, "evidence", 1, candidate}));
        }
    }

    void evaluate(std::uint64_t id, const EvaluateRequest& request)
    {
        const std::string text = allText(request);
        send(encodeEvent(id, StageEvent{"build", "building", -1}));
        if (misbehave(id, text)) {
            return;
        }
        EvaluateDone done = summary();
        BuildReport build;
        build.status = "ok";
        build.seconds = 0.25;
        build.log = "fake compiler output\n";
        if (text.find("fake:build_failed") != std::string::npos) {
            build.status = "failed";
            build.diagnostics = {
                {"kernels/kernel.cpp", 3, 5, "error", "expected ';' before '}' token"}};
            send(encodeEvent(id, BuildEvent{build}));
            done.verdict = Verdict::BuildFailed;
            done.reason = "kernels/kernel.cpp:3: expected ';' before '}' token";
            send(encodeEvent(id, GateEvent{{"build", GateStatus::Fail, done.reason, "{}"}}));
            send(encodeDone(id, done));
            return;
        }
        if (request.candidate) {
            send(encodeEvent(id, BuildEvent{build}));
        }
        send(encodeEvent(id, StageEvent{"verify", "comparing", 0.5}));
        if (text.find("fake:wrong") != std::string::npos) {
            done.verdict = Verdict::Wrong;
            done.reason = "output 0 differs at [0, 7]: expected 1, got 2";
            send(encodeEvent(
                id,
                GateEvent{
                    {"numerics",
                     GateStatus::Fail,
                     done.reason,
                     R"({"maxAbs":1.0,"worst":{"output":0,"index":[0,7],"expected":1.0,"got":2.0}})"}}));
            send(encodeDone(id, done));
            return;
        }
        send(encodeEvent(id, GateEvent{{"numerics", GateStatus::Pass, "", R"({"maxAbs":1e-7})"}}));
        done.verdict = Verdict::Correct;
        done.reason = "all gates passed";
        if (request.until != Until::Build && request.until != Until::Verify) {
            double ratio = 2;
            if (const auto at = text.find("fake:ratio="); at != std::string::npos) {
                ratio = std::strtod(text.c_str() + at + 11, nullptr);
            }
            timings(id, request, ratio);
            done.aaFloorPercent = 0.4;
        }
        if (request.until == Until::Profile) {
            traces(id, request);
        }
        send(encodeDone(id, done));
    }

    std::string m_logFile;
    FrameDecoder m_decoder;
};

} // namespace

int main(int argc, char** argv)
{
    WorkerHello hello;
    hello.software = "fake_worker";
    hello.pid = ::getpid();
    hello.target = FakeWorker::target();
    hello.devices = {"cpu"};
    hello.capabilities = {{"compiler", "ok", "g++ fake", ""},
                          {"cuda", "missing", "no device", "plug one in"}};
    std::string logFile;
    bool sayHello = true;
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::string value = word.substr(std::min(word.size(), word.find('=') + 1));
        if (word == "--no-hello") {
            sayHello = false;
        } else if (word == "--garbage") {
            writeAll("this is no protocol at all, only text of some length");
        } else if (word.starts_with("--version=")) {
            hello.version = std::atoi(value.c_str());
        } else if (word.starts_with("--exit=")) {
            std::_Exit(std::atoi(value.c_str()));
        } else if (word.starts_with("--stderr=")) {
            [[maybe_unused]] const auto n = ::write(2, value.data(), value.size());
        } else if (word.starts_with("--log=")) {
            logFile = value;
        }
    }
    if (sayHello) {
        send(encodeHello(hello));
    }
    FakeWorker(logFile).serve();
    return 0;
}
