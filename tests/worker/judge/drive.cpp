// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0

// A small client of `lathe-worker serve` for looking at the judge from outside: sends one request
// per candidate folder to one worker and prints what comes back.
//   lathe-judge-drive TASK_FOLDER [options] [CANDIDATE_FOLDER...] -- WORKER [ARGS...]
#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/process/spawn.h>
#include <lathe/protocol/messages.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace lathe;
using namespace lathe::protocol;

namespace {

struct Options
{
    std::filesystem::path task;
    std::vector<std::filesystem::path> candidates;
    std::vector<std::string> worker;
    EvaluateRequest request;
    std::vector<std::string> tool;
    double prepareSeconds = 0;
    double cancelAfterSeconds = -1;
    std::string traceFolder;
    bool samples = false;
};

std::string literalOf(const nlohmann::json& value)
{
    if (value.is_string()) {
        return "'" + value.get<std::string>() + "'";
    }
    if (value.is_boolean()) {
        return value.get<bool>() ? "True" : "False";
    }
    return value.dump();
}

TaskSpec readTask(const std::filesystem::path& folder)
{
    TaskSpec task;
    task.key = folder.filename();
    const auto text = readFile(folder / "task.json");
    const auto json = text ? parseJson(*text) : Result<nlohmann::json>(nlohmann::json::object());
    task.source = readFile(folder / stringOr(*json, "reference", "reference.py")).value();
    task.forwardTimeoutSeconds = numberOr(*json, "forwardTimeoutSeconds", 10);
    task.importTimeoutSeconds = numberOr(*json, "importTimeoutSeconds", 10);
    for (const auto& row : json->value("variants", nlohmann::json::array())) {
        Variant variant{stringOr(row, "name"),
                        {},
                        stringOr(row, "device", "any"),
                        boolOr(row, "headline", false),
                        boolOr(row, "hidden", false)};
        const auto constants = row.value("constants", nlohmann::json::object());
        for (const auto& [name, value] : constants.items()) {
            variant.constants.push_back({name, literalOf(value)});
        }
        task.variants.push_back(std::move(variant));
    }
    if (task.variants.empty()) {
        task.variants.push_back({"default", {}, "any", true, false});
    }
    return task;
}

CandidateSpec readCandidate(const std::filesystem::path& folder)
{
    CandidateSpec spec;
    spec.id = folder.filename();
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (entry.is_regular_file()) {
            spec.files.push_back(
                {std::filesystem::relative(entry.path(), folder), readFile(entry.path()).value()});
        }
    }
    return spec;
}

/// CPU seconds of the worker's own process so far.
double cpuSeconds(std::int64_t pid)
{
    const auto text = readFile("/proc/" + std::to_string(pid) + "/stat").value_or("");
    unsigned long user = 0;
    unsigned long system = 0;
    const auto close = text.rfind(')');
    if (close == std::string::npos
        || std::sscanf(text.c_str() + close + 1,
                       " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
                       &user,
                       &system)
               != 2) {
        return 0;
    }
    return static_cast<double>(user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class Client
{
public:
    explicit Client(const std::vector<std::string>& command)
    {
        process::SpawnOptions options;
        options.command = command;
        options.pipeStdin = true;
        options.pipeStdout = true;
        m_child = std::move(process::spawn(options).value());
        send({FrameType::Hello, 0, R"({"version":1,"software":"lathe-judge-drive"})", {}});
    }
    void send(const Frame& frame)
    {
        const std::string bytes = encodeFrame(frame).value();
        for (std::size_t at = 0; at < bytes.size();) {
            const ssize_t n = ::write(m_child.stdinFd.get(), bytes.data() + at, bytes.size() - at);
            if (n <= 0) {
                std::exit(70);
            }
            at += static_cast<std::size_t>(n);
        }
    }
    Frame receive()
    {
        Frame frame;
        while (true) {
            const auto got = m_decoder.next(frame);
            if (!got) {
                std::fprintf(stderr, "%s\n", got.error().message.c_str());
                std::exit(70);
            }
            if (*got) {
                return frame;
            }
            char buffer[65536];
            const ssize_t n = ::read(m_child.stdoutFd.get(), buffer, sizeof buffer);
            if (n <= 0) {
                std::fprintf(stderr, "the worker is gone\n");
                std::exit(70);
            }
            m_decoder.feed({buffer, static_cast<std::size_t>(n)});
        }
    }

    [[nodiscard]] std::int64_t pid() const { return m_child.pid(); }

private:
    process::Child m_child;
    FrameDecoder m_decoder;
};

struct Printer
{
    const Options& options;
    double at;

    void line(const std::string& text) const { std::printf("%7.3f  %s\n", at, text.c_str()); }
    void operator()(const StageEvent& e) const { line("stage " + e.stage + ": " + e.text); }
    void operator()(const BuildEvent& e) const
    {
        line("build " + e.report.status + (e.report.cached ? " cached " : " ")
             + std::to_string(e.report.seconds));
        if (!e.report.log.empty() && e.report.status != "ok") {
            std::printf("%s\n", e.report.log.c_str());
        }
    }
    void operator()(const GateEvent& e) const
    {
        line("gate " + e.gate.name + " " + toString(e.gate.status) + ": " + e.gate.reason + "  "
             + e.gate.detailJson);
    }
    void operator()(const TimingEvent& e) const
    {
        char text[256];
        std::snprintf(text,
                      sizeof text,
                      "%-16s %-20s %s n=%d median %.2f us [%.2f, %.2f] cv %.1f%%",
                      e.row.arm.c_str(),
                      e.row.variant.c_str(),
                      e.row.protocol.c_str(),
                      e.row.samples,
                      e.row.medianUs,
                      e.row.lowUs,
                      e.row.highUs,
                      e.row.cvPercent);
        line(text);
        for (std::size_t i = 0; options.samples && i < e.row.samplesUs.size(); ++i) {
            std::printf(i % 12 == 11 ? " %.0f\n" : " %.0f", e.row.samplesUs[i]);
        }
        std::printf(options.samples ? "\n" : "");
    }
    void operator()(const ComparisonEvent& e) const
    {
        char text[256];
        const auto& c = e.comparison;
        std::snprintf(text,
                      sizeof text,
                      "%s vs %s %s %s: %.4f [%.4f, %.4f] %s",
                      c.arm.c_str(),
                      c.against.c_str(),
                      c.variant.c_str(),
                      c.protocol.c_str(),
                      c.ratio,
                      c.low,
                      c.high,
                      c.verdict.c_str());
        line(text);
    }
    void operator()(const TraceEvent& e) const
    {
        line("trace of " + e.arm + ", " + std::to_string(e.chromeJson.size()) + " bytes");
        if (!options.traceFolder.empty()) {
            (void)writeFileAtomic(std::filesystem::path(options.traceFolder) / (e.arm + ".json"),
                                  e.chromeJson);
        }
    }
    void operator()(const LogEvent& e) const { line("log (" + e.source + "):\n" + e.text); }
    void operator()(const WarningEvent& e) const { line("warning: " + e.text); }
};

/// Prints everything until the request ends; 0 when it was answered.
int follow(Client& client, const Options& options, std::uint64_t id)
{
    const std::int64_t started = monotonicNs();
    const double cpuBefore = cpuSeconds(client.pid());
    while (true) {
        Frame frame = client.receive();
        const double at = static_cast<double>(monotonicNs() - started) / 1e9;
        if (frame.type == FrameType::Hello) {
            std::printf("hello %s\n", frame.json.substr(0, 400).c_str());
        } else if (frame.request != id) {
            continue;
        } else if (frame.type == FrameType::Event) {
            if (auto event = decodeEvent(frame)) {
                std::visit(Printer{options, at}, *event);
            }
        } else if (frame.type == FrameType::Failure) {
            const Error error = decodeFailure(frame);
            std::printf("%7.3f  FAILURE %s: %s\n%s\n",
                        at,
                        toString(error.code),
                        error.message.c_str(),
                        error.detail.c_str());
            return 3;
        } else if (frame.type == FrameType::Done) {
            const auto done = decodeDone(frame);
            if (!done) {
                std::printf("unreadable done: %s\n", done.error().message.c_str());
                return 70;
            }
            const double own = done->workerSeconds - done->compilerSeconds - done->armSeconds
                               - done->samplingSeconds;
            std::printf("%7.3f  DONE %s: %s\n         worker %.3f compiler %.3f arms %.3f sampling "
                        "%.3f own %.3f  aa %.2f%% "
                        "exit %d, worker CPU %.2f s\n         limit %s\n         evidence %.300s\n",
                        at,
                        done->verdict ? toString(*done->verdict) : "-",
                        done->reason.c_str(),
                        done->workerSeconds,
                        done->compilerSeconds,
                        done->armSeconds,
                        done->samplingSeconds,
                        own,
                        done->aaFloorPercent.value_or(-1),
                        done->exitCode,
                        cpuSeconds(client.pid()) - cpuBefore,
                        done->limitJson.c_str(),
                        done->evidenceJson.c_str());
            std::fflush(stdout);
            return done->verdict == Verdict::Correct ? 0 : 1;
        }
        std::fflush(stdout);
    }
}

Options parse(int argc, char** argv)
{
    Options out;
    out.request.tier = Tier::Quick;
    std::vector<std::string> words(argv + 1, argv + argc);
    bool worker = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const auto value = [&] { return i + 1 < words.size() ? words[++i] : std::string{}; };
        if (worker) {
            out.worker.push_back(words[i]);
        } else if (words[i] == "--") {
            worker = true;
        } else if (words[i] == "--tier") {
            out.request.tier = tierFromString(value()).value_or(Tier::Quick);
        } else if (words[i] == "--until") {
            out.request.until = untilFromString(value()).value_or(Until::Profile);
        } else if (words[i] == "--method") {
            out.request.method = value();
        } else if (words[i] == "--device") {
            out.request.device = value();
        } else if (words[i] == "--variant") {
            out.request.variants.push_back(value());
        } else if (words[i] == "--parent") {
            out.request.parent = readCandidate(value());
        } else if (words[i] == "--min-seconds") {
            out.request.minSeconds = std::atof(value().c_str());
        } else if (words[i] == "--samples") {
            out.samples = true;
        } else if (words[i] == "--prepare") {
            out.prepareSeconds = std::atof(value().c_str());
        } else if (words[i] == "--cancel-after") {
            out.cancelAfterSeconds = std::atof(value().c_str());
        } else if (words[i] == "--traces") {
            out.traceFolder = value();
        } else if (words[i] == "--tool") {
            out.tool.push_back(value());
        } else if (out.task.empty()) {
            out.task = words[i];
        } else {
            out.candidates.emplace_back(words[i]);
        }
    }
    return out;
}

} // namespace

int main(int argc, char** argv)
{
    Options options = parse(argc, argv);
    if (options.task.empty() || options.worker.empty()) {
        std::fprintf(stderr,
                     "lathe-judge-drive TASK [--tier T] [--until U] [--method M] [--variant V] "
                     "[--parent DIR]\n"
                     "  [--prepare S] [--cancel-after S] [--traces DIR] [--tool WORD]... "
                     "[CANDIDATE...] -- WORKER...\n");
        return 2;
    }
    options.request.task = readTask(options.task);
    Client client(options.worker);
    std::uint64_t id = 0;
    int worst = 0;
    if (options.prepareSeconds > 0) {
        EvaluateRequest prepare = options.request;
        prepare.method = "prepare";
        client.send(encodeRequest(++id, prepare));
        (void)follow(client, options, id);
        std::this_thread::sleep_for(std::chrono::duration<double>(options.prepareSeconds));
    }
    if (options.request.method == "baseline") {
        client.send(encodeRequest(++id, options.request));
        return follow(client, options, id);
    }
    for (const auto& folder : options.candidates) {
        std::printf("==== %s\n", folder.c_str());
        options.request.candidate = readCandidate(folder);
        ++id;
        client.send(options.tool.empty()
                        ? encodeRequest(id, options.request)
                        : encodeRequest(id, ExecRequest{options.request, options.tool}));
        std::thread canceller;
        if (options.cancelAfterSeconds >= 0) {
            canceller = std::thread([&, id] {
                std::this_thread::sleep_for(
                    std::chrono::duration<double>(options.cancelAfterSeconds));
                client.send({FrameType::Cancel, id, "{}", {}});
            });
        }
        worst = std::max(worst, follow(client, options, id));
        if (canceller.joinable()) {
            canceller.join();
        }
    }
    client.send({FrameType::Shutdown, 0, "{}", {}});
    return worst;
}
