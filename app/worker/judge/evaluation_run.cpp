// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation_run.h"

#include "unhonoured.h"

#include <lathe/base/clock.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/worker/conditions.h>

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lathe::worker {

using protocol::GateStatus;
using protocol::Tier;
using protocol::Until;
using protocol::Variant;
using protocol::Verdict;

std::vector<Variant> chosenVariants(const protocol::EvaluateRequest& request)
{
    std::vector<Variant> fitting;
    for (const Variant& variant : request.task.variants) {
        if (variant.device == "any" || variant.device == request.device) {
            fitting.push_back(variant);
        }
    }
    if (fitting.empty() && request.task.variants.empty()) {
        fitting.push_back({"default", {}, "any", true, false});
    }
    std::stable_sort(fitting.begin(), fitting.end(), [](const Variant& a, const Variant& b) {
        return a.headline && !b.headline;
    });
    if (!request.variants.empty()) {
        std::erase_if(fitting, [&](const Variant& variant) {
            return std::find(request.variants.begin(), request.variants.end(), variant.name)
                   == request.variants.end();
        });
        return fitting;
    }
    if (request.tier != Tier::Accept) {
        std::erase_if(fitting, [](const Variant& variant) { return variant.hidden; });
    }
    if (request.tier == Tier::Quick && fitting.size() > 1) {
        fitting.resize(1);
    }
    return fitting;
}

EvaluationRun::EvaluationRun(Workshop& workshop,
                             const protocol::EvaluateRequest& request,
                             const EventSink& sink,
                             const process::CancelSource& cancel)
    : m_workshop(workshop)
    , m_request(request)
    , m_sink(sink)
    , m_cancel(cancel)
    , m_startedNs(monotonicNs())
{}

EvaluationRun::~EvaluationRun() = default;

void EvaluationRun::stage(const std::string& name, const std::string& text)
{
    m_sink(protocol::StageEvent{name, text, -1});
}

void EvaluationRun::warning(const std::string& text)
{
    m_sink(protocol::WarningEvent{text});
}

bool EvaluationRun::outOfTime() const
{
    return static_cast<double>(monotonicNs() - m_startedNs) / 1e9 > m_request.timeoutSeconds;
}

Result<void> EvaluationRun::open()
{
    auto device = m_workshop.device(m_request);
    if (!device) {
        return tl::unexpected(device.error());
    }
    m_device = *device;
    if (!m_device->quarantine.empty()) {
        return fail(ErrorCode::Unsupported, m_device->quarantine);
    }
    auto task = m_workshop.openTask(m_request, *m_device);
    if (!task) {
        return tl::unexpected(task.error());
    }
    m_task = *task;
    const auto chosen = chosenVariants(m_request);
    if (chosen.empty()) {
        return fail(ErrorCode::InvalidArgument,
                    m_request.variants.empty()
                        ? "the task has no variant for the device " + m_request.device
                        : "the task has no such variant for the device " + m_request.device + ": "
                              + join(m_request.variants, ", "));
    }
    for (const Variant& variant : chosen) {
        m_variants.push_back(&m_task->variant(variant));
    }
    m_board = std::make_unique<GateBoard>(m_sink, m_variants.size() > 1);
    for (const std::string& sentence : unhonoured(m_request.task, m_request.device)) {
        warning(sentence);
    }
    return {};
}

tl::expected<std::filesystem::path, Stop> EvaluationRun::build(const protocol::CandidateSpec& spec,
                                                               bool announce)
{
    const std::int64_t started = monotonicNs();
    auto outcome = m_workshop.builder().build(
        spec, m_request.device, cancelFd(), [&](const std::filesystem::path& folder, int) {
            return discover(folder, spec);
        });
    m_ledger.compilerSeconds += static_cast<double>(monotonicNs() - started) / 1e9;
    if (!outcome) {
        return tl::unexpected(Stop{Verdict::Refused,
                                   outcome.error().message,
                                   outcome.error().detail,
                                   false,
                                   outcome.error()});
    }
    const bool ok = outcome->report.status == "ok";
    std::string why = "the build failed";
    for (const auto& diagnostic : outcome->report.diagnostics) {
        if (diagnostic.severity == "error") {
            why = fmt::format("{}:{}: {}", diagnostic.file, diagnostic.line, diagnostic.message);
            break;
        }
    }
    if (announce) {
        m_sink(protocol::BuildEvent{outcome->report});
        if (ok) {
            m_board->pass("build",
                          {},
                          outcome->report.cached
                              ? "built before, same sources and toolchain"
                              : fmt::format("built in {:.2f} s", outcome->report.seconds));
        }
    }
    if (!ok) {
        return tl::unexpected(Stop{Verdict::BuildFailed, why, {}, false, {}});
    }
    return outcome->folder;
}

tl::expected<void, Stop> EvaluationRun::prepareVariants()
{
    if (const std::string why = unjudgeable(m_request.task); !why.empty()) {
        return tl::unexpected(Stop{Verdict::Refused, why, {}, false, {}});
    }
    for (ReferenceVariant* variant : m_variants) {
        if (m_request.tier == Tier::Accept && variant->ready()) {
            variant->redraw({0, 1, ReferenceVariant::kUnseenSet});
        }
        if (!variant->ready()) {
            stage("prepare", "preparing the reference of " + variant->name());
        }
        auto done = variant->advance(true, cancelFd(), m_ledger);
        if (!done) {
            const Error error = done.error();
            if (error.code != ErrorCode::Refused) {
                return tl::unexpected(
                    Stop{Verdict::Refused, error.message, error.detail, false, error});
            }
            return tl::unexpected(Stop{Verdict::Refused, error.message, error.detail, false, {}});
        }
    }
    for (ReferenceVariant* variant : m_variants) {
        for (const InputSet& set : variant->sets()) {
            m_done.seeds.push_back(set.seed);
        }
        for (const std::string& mode : compileModes()) {
            m_task->compiled(*variant, mode, true);
        }
    }
    return {};
}

tl::expected<void, Stop> EvaluationRun::verify()
{
    std::size_t declined = 0;
    for (ReferenceVariant* variant : std::vector(m_variants)) {
        stage("verify", "checking " + variant->name());
        Verification verification(*variant, *m_candidate, *m_board, full(), cancelFd(), m_ledger);
        const auto ok = verification.run();
        if (ok) {
            continue;
        }
        const GateStop& stop = ok.error();
        if (stop.stop.declined) {
            ++declined;
            warning("variant " + variant->name() + " is declined: " + stop.stop.reason);
            std::erase(m_variants, variant);
            continue;
        }
        if (!stop.stop.error) {
            m_board->fail(
                stop.gate, variant->name(), stop.stop.reason, stop.detail, gatesAfter(stop.gate));
        }
        Stop out = stop.stop;
        if (declined + m_variants.size() > 1) {
            out.reason = variant->name() + ": " + out.reason;
        }
        return tl::unexpected(out);
    }
    if (m_variants.empty()) {
        return tl::unexpected(
            Stop{Verdict::Refused, "the candidate declines every variant", {}, false, {}});
    }
    if (const auto kept = integrity(); !kept) {
        return kept;
    }
    m_board->flush();
    return {};
}

tl::expected<void, Stop> EvaluationRun::integrity()
{
    const auto& report = m_workshop.sandbox().report();
    auto held = nlohmann::json::array();
    for (const auto& proof : report.proofs) {
        if (proof.held) {
            held.push_back(proof.name);
        }
    }
    const std::vector<std::string> open = m_candidate->openings();
    const nlohmann::json detail{
        {"rung", report.rung},
        {"provenAtStart", std::move(held)},
        {"open", open},
        {"sharedMemory", m_device->memory->name()},
        {"enforced",
         {"the candidate runs in its own process and sandbox; verdict, clock and expected values "
          "are in another process",
          "inputs are sealed, outputs are read from memory that was poisoned before",
          "seeds, expected values, other variants and baselines never enter the candidate's "
          "process"}}};
    if (report.rung == "unsandboxed") {
        m_board->warn("integrity",
                      {},
                      "the candidate ran without a sandbox, as the user chose",
                      dumpJson(detail));
    } else if (!open.empty()) {
        const Stop stop{
            Verdict::Rejected,
            fmt::format("the sandbox does not hold the candidate: {}", fmt::join(open, "; ")),
            {},
            false,
            {}};
        m_board->fail("integrity", {}, stop.reason, dumpJson(detail), {});
        return tl::unexpected(stop);
    } else {
        m_board->pass("integrity",
                      {},
                      "process, memory and file system separation held (" + report.rung + ")",
                      dumpJson(detail));
    }
    return {};
}

Result<protocol::EvaluateDone> EvaluationRun::stopped(const Stop& stop)
{
    m_board->flush();
    if (stop.error) {
        if (stop.error->code == ErrorCode::Cancelled) {
            return fail(ErrorCode::Cancelled, "cancelled");
        }
        if (m_task != nullptr && !m_task->alive()) {
            m_candidate.reset();
            m_parent.reset();
            m_workshop.closeTask(m_task);
            m_task = nullptr;
        }
        return tl::unexpected(*stop.error);
    }
    if (!stop.detail.empty()) {
        m_sink(protocol::LogEvent{stop.verdict == Verdict::Refused ? "worker" : "candidate",
                                  stop.detail});
    }
    return finish(stop.verdict, stop.reason);
}

/// What a decision about this tier would have to rest on and does not.
std::vector<std::string> EvaluationRun::untimed() const
{
    const bool timing = m_request.until == Until::Bench || m_request.until == Until::Profile;
    std::vector<std::string> names;
    if (!timing || !m_request.candidate) {
        return names;
    }
    protocol::EvaluateRequest whole;
    whole.task.variants = m_request.task.variants;
    whole.device = m_request.device;
    whole.tier = m_request.tier;
    for (const Variant& variant : chosenVariants(whole)) {
        if (std::find(m_timed.begin(), m_timed.end(), variant.name) == m_timed.end()) {
            names.push_back(variant.name);
        }
    }
    return names;
}

Result<protocol::EvaluateDone> EvaluationRun::finish(Verdict verdict, std::string reason)
{
    if (verdict == Verdict::Correct) {
        m_done.untimed = untimed();
    }
    m_board->flush();
    m_done.verdict = verdict;
    m_done.reason = std::move(reason);
    m_done.target = m_workshop.targetInfo(*m_device, m_task != nullptr ? m_task->torchText() : "");
    m_done.conditions = currentConditions(m_device->arm);
    if (m_device->cuda) {
        m_done.conditions.allocator = "torch caching allocator";
        m_done.conditions.clocks = m_device->cuda->clocks();
        m_done.conditions.throttle = m_device->cuda->throttle();
    }
    m_done.evidenceJson = dumpJson(m_evidence);
    m_done.limitJson = dumpJson(m_limit);
    m_done.attestedJson = dumpJson(m_attested);
    if (m_candidate && verdict == Verdict::Correct) {
        // The next candidate's parent, most likely: its processes are loaded already.
        m_workshop.keep(std::move(m_candidate));
    }
    if (m_parent) {
        m_workshop.keep(std::move(m_parent));
    }
    if (m_device->cuda) {
        m_candidate.reset(); // gone before the device is asked whether it is well
    }
    m_workshop.retire(std::move(m_candidate));
    checkDevice(verdict);
    m_done.compilerSeconds = m_ledger.compilerSeconds;
    m_done.armSeconds = m_ledger.armSeconds;
    m_done.samplingSeconds = m_ledger.samplingSeconds;
    m_done.workerSeconds = static_cast<double>(monotonicNs() - m_startedNs) / 1e9;
    return std::move(m_done);
}

void EvaluationRun::checkDevice(Verdict verdict)
{
    constexpr double kCanarySeconds = 20; // a killed process's kernels may take seconds to go
    if (!m_device->cuda || (verdict != Verdict::Crashed && verdict != Verdict::Timeout)) {
        return;
    }
    // The candidate's processes are gone by now; the device must answer before anybody measures.
    if (auto alive = m_device->cuda->canary(kCanarySeconds); !alive) {
        m_device->quarantine = "the GPU is set aside since a candidate "
                               + std::string(toString(verdict)) + ": " + alive.error().message;
        warning(m_device->quarantine);
    }
}

Result<EvaluationRun::ToolInput> EvaluationRun::prepareForTool()
{
    if (auto opened = open(); !opened) {
        return tl::unexpected(opened.error());
    }
    m_variants.resize(1);
    ToolInput out;
    const auto built = build(*m_request.candidate, true);
    auto ready = built ? prepareVariants() : tl::unexpected(built.error());
    if (!ready) {
        auto done = stopped(ready.error());
        if (!done) {
            return tl::unexpected(done.error());
        }
        out.done = std::move(*done);
        return out;
    }
    m_board->flush();
    out.folder = *built;
    out.variant = m_variants.front();
    out.arm = m_device->arm;
    return out;
}

Result<protocol::EvaluateDone> EvaluationRun::evaluate()
{
    if (!m_request.candidate) {
        return fail(ErrorCode::InvalidArgument, "an evaluation needs a candidate");
    }
    if (auto opened = open(); !opened) {
        return tl::unexpected(opened.error());
    }
    m_workshop.endRetired();
    m_workshop.ensureWaiting(*m_device);
    stage("build", "building");
    const auto built = build(*m_request.candidate, true);
    if (!built) {
        if (!built.error().error) {
            m_board->fail("build", {}, built.error().reason, "{}", gatesAfter("build"));
        }
        return stopped(built.error());
    }
    if (m_request.until == Until::Build) {
        m_board->skip("load", "only the build was asked for");
        auto done = finish(Verdict::Correct, "built; nothing else was asked for");
        if (done) {
            done->verdict.reset();
        }
        return done;
    }
    if (auto ready = prepareVariants(); !ready) {
        if (!ready.error().error) {
            m_board->fail("load", {}, ready.error().reason, "{}", gatesAfter("load"));
        }
        return stopped(ready.error());
    }
    auto sandbox = m_workshop.takeWaiting(*m_device);
    if (!sandbox) {
        return tl::unexpected(sandbox.error());
    }
    m_candidate = std::move(*sandbox);
    if (auto populated = m_candidate->populate(*built, *m_request.candidate); !populated) {
        return tl::unexpected(populated.error());
    }
    {
        const Stopwatch watch(m_ledger.armSeconds);
        auto ready = m_task->waitForArms(120, cancelFd());
        auto warm = m_candidate->host().waitReady(120, cancelFd());
        if (!ready || !warm) {
            const Error& error = !ready ? ready.error() : warm.error();
            return stopped({Verdict::Refused, error.message, error.detail, false, error});
        }
    }
    if (auto verified = verify(); !verified) {
        return stopped(verified.error());
    }
    if (m_request.until == Until::Bench || m_request.until == Until::Profile) {
        if (auto timed = bench(); !timed) {
            return stopped(timed.error());
        }
    }
    if (m_request.until == Until::Profile) {
        profile();
    }
    if (m_cancel.cancelled()) {
        return fail(ErrorCode::Cancelled, "cancelled");
    }
    return finish(Verdict::Correct,
                  m_variants.size() == 1
                      ? "right on " + m_variants.front()->name()
                      : fmt::format("right on all {} variants", m_variants.size()));
}

} // namespace lathe::worker
