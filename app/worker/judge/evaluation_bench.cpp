// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "attested.h"
#include "bench.h"
#include "evaluation_run.h"
#include "evidence.h"

#include <lathe/base/clock.h>
#include <lathe/base/json.h>
#include <lathe/worker/conditions.h>
#include <lathe/worker/device_lock.h>
#include <lathe/worker/one_at_a_time.h>

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace lathe::worker {

using protocol::Tier;
using protocol::Verdict;

namespace {

constexpr std::uint64_t kMostFlushBytes = 256ull << 20;

Stop errorStop(const Error& error)
{
    return {Verdict::Refused, error.message, error.detail, false, error};
}

/// Everything in the background stands still while this lives, and all of the given sandboxes but
/// the processes that the timing itself lets run.
class Quiet
{
public:
    explicit Quiet(Workshop& workshop, std::vector<CandidateArm*> sandboxes = {})
        : m_workshop(workshop)
        , m_sandboxes(std::move(sandboxes))
    {
        std::erase(m_sandboxes, nullptr);
        pause(true);
    }
    ~Quiet() { pause(false); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

private:
    void pause(bool stopped)
    {
        m_workshop.pauseBackground(stopped);
        for (CandidateArm* sandbox : m_sandboxes) {
            sandbox->host().pause(stopped);
        }
    }

    Workshop& m_workshop;
    std::vector<CandidateArm*> m_sandboxes;
};

/// Ends when nobody waits for it.
struct Retiring
{
    Workshop& workshop;
    std::unique_ptr<CandidateArm::Loaded> loaded;
    ~Retiring() { workshop.retire(std::move(loaded)); }
};

} // namespace

std::vector<std::string> EvaluationRun::compileModes()
{
    std::vector<std::string> modes;
    const std::string prefix = "compile:";
    if (m_request.against.empty()) {
        modes.push_back("default");
    }
    for (const std::string& arm : m_request.against) {
        if (arm.starts_with(prefix)) {
            modes.push_back(arm.substr(prefix.size()));
        }
    }
    return modes;
}

void EvaluationRun::waitForCompiled(ReferenceVariant& variant)
{
    // A cancel shows at the next wait; nothing is lost by going on to it.
    (void)m_task->waitForCompilers(
        {&variant},
        [&](const CompiledVariant& arm) {
            stage("prepare", arm.name() + " is being compiled for " + variant.name());
        },
        cancelFd(),
        m_ledger);
}

std::vector<CompiledVariant*> EvaluationRun::readyCompiled(ReferenceVariant& variant, bool announce)
{
    std::vector<CompiledVariant*> out;
    const auto note = [&](const std::string& text) {
        if (announce) {
            warning(text);
        }
    };
    for (const std::string& mode : compileModes()) {
        CompiledVariant* arm = m_task->compiled(variant, mode, false);
        if (arm == nullptr) {
            continue;
        }
        if (!arm->failure().empty()) {
            note("compile:" + mode + " takes no part in " + variant.name() + ": " + arm->failure());
        } else if (!arm->ready() || !m_task->compilersQuiet()) {
            // Others of its sandbox are still compiling: it will be stopped with them.
            note("compile:" + mode + " is not compiled yet and takes no part in this timing of "
                 + variant.name());
        } else if (arm->bindAll(cancelFd(), m_ledger)) {
            out.push_back(arm);
        } else {
            arm->restart();
        }
    }
    return out;
}

ArmProcess* EvaluationRun::parentProcess(ReferenceVariant& variant)
{
    if (!m_request.parent || !m_candidate
        || CandidateArm::keyOf(*m_request.parent) == m_candidate->key()) {
        return nullptr;
    }
    if (!m_parentTried) {
        m_parentTried = true;
        m_parent = m_workshop.takeKept(CandidateArm::keyOf(*m_request.parent));
        if (!m_parent) {
            auto built = build(*m_request.parent, false);
            auto sandbox = built ? m_workshop.takeWaiting(*m_device)
                                 : Result<std::unique_ptr<CandidateArm>>(
                                     fail(ErrorCode::NotFound, built.error().reason));
            if (!sandbox || !(*sandbox)->populate(*built, *m_request.parent)) {
                warning("the parent takes no part in the timing: "
                        + (sandbox ? std::string("it cannot be handed to a sandbox")
                                   : sandbox.error().message));
                return nullptr;
            }
            m_parent = std::move(*sandbox);
        }
    }
    if (!m_parent) {
        return nullptr;
    }
    auto loaded = m_parent->main(variant, cancelFd(), m_ledger);
    if (!loaded) {
        warning("the parent takes no part in the timing of " + variant.name() + ": "
                + loaded.error().reason);
        return nullptr;
    }
    return (*loaded)->process.get();
}

tl::expected<void, Stop> EvaluationRun::bench()
{
    for (ReferenceVariant* variant : m_variants) {
        if (outOfTime()) {
            warning("no time left to time " + variant->name());
            continue;
        }
        if (auto timed = benchOne(*variant); !timed) {
            return timed;
        }
    }
    return {};
}

BenchPlan EvaluationRun::benchPlan() const
{
    BenchPlan plan;
    plan.tier = m_request.tier;
    plan.minSeconds = m_request.minSeconds;
    plan.maxNoisePercent = m_request.maxNoisePercent;
    plan.forwardTimeoutSeconds = m_request.task.forwardTimeoutSeconds;
    plan.deviceEvents = m_device->cuda != nullptr;
    plan.privateCopies = !m_request.task.mutates.empty();
    return plan;
}

Result<DeviceLock> EvaluationRun::lockDevice(const std::string& stageName, double seconds)
{
    const Stopwatch watch(m_ledger.samplingSeconds);
    return DeviceLock::acquire(
        m_workshop.settings().lockFolder,
        m_device->arm.device,
        seconds,
        cancelFd(),
        [&](const std::string& holder) { stage(stageName, "waiting for the device: " + holder); });
}

tl::expected<void, Stop> EvaluationRun::failedWhileTimed(const ReferenceVariant& variant,
                                                         const Stop& stop)
{
    if (!stop.error) {
        m_board->fail("timed_outputs", variant.name(), stop.reason, "{}", {});
    }
    return tl::unexpected(stop);
}

tl::expected<void, Stop> EvaluationRun::benchOne(ReferenceVariant& variant)
{
    if (full()) {
        waitForCompiled(variant);
    }
    stage("bench", "timing " + variant.name());
    BenchArms arms;
    arms.reference = &variant;
    arms.compiled = readyCompiled(variant, true);
    arms.parent = parentProcess(variant);
    auto main = m_candidate->main(variant, cancelFd(), m_ledger);
    auto loaded = m_candidate->load(variant, "aa", cancelFd(), m_ledger);
    Retiring twin{m_workshop, loaded ? std::move(*loaded) : nullptr};
    if (!main || !loaded) {
        return failedWhileTimed(variant, !main ? main.error() : loaded.error());
    }
    arms.candidate = (*main)->process.get();
    arms.twin = twin.loaded->process.get();
    if (full()) {
        for (CandidateArm::Loaded* timed : {*main, twin.loaded.get()}) {
            if (auto bound = timed->timedInputs(variant, cancelFd(), m_ledger); !bound) {
                return failedWhileTimed(variant, bound.error());
            }
        }
        if (!(*main)->timed.empty()) {
            arms.candidateSets = {MovingInputs::kTimed, MovingInputs::kTimed + 1};
        }
    }
    BenchPlan plan = benchPlan();
    plan.flushBytes = m_device->cuda ? 2 * m_device->cuda->facts().l2Bytes
                                     : std::min(2 * lastLevelCacheBytes(), kMostFlushBytes);
    Verification verification(variant, *m_candidate, *m_board, full(), cancelFd(), m_ledger);
    tl::expected<BenchOutcome, BenchFailure> outcome;
    tl::expected<std::optional<AttestedTime>, GateStop> attested;
    {
        const auto lock = lockDevice("bench");
        if (!lock) {
            return tl::unexpected(errorStop(lock.error()));
        }
        const Quiet quiet(m_workshop, {m_candidate.get(), m_parent.get()});
        outcome = benchVariant(arms, plan, m_sink, cancelFd(), m_ledger);
        if (outcome && full() && !m_device->cuda) {
            const double coldUs = coldAllowance(variant, addLimit(variant, outcome->candidateUs));
            attested = attest(variant,
                              **main,
                              verification,
                              {outcome->candidateUs, coldUs},
                              cancelFd(),
                              m_ledger);
        }
    }
    if (!outcome) {
        const Error& error = outcome.error().error;
        return failedWhileTimed(
            variant,
            error.code == ErrorCode::Refused
                ? Stop{Verdict::Crashed,
                       "forward failed while it was timed: " + error.message,
                       error.detail,
                       false,
                       {}}
                : stopFor(error, arms.candidate, "being timed", plan.forwardTimeoutSeconds));
    }
    m_timed.push_back(variant.name());
    m_candidateUs = m_candidateUs == 0 ? outcome->candidateUs : m_candidateUs;
    if (outcome->aaFloorPercent) {
        m_done.aaFloorPercent =
            std::max(m_done.aaFloorPercent.value_or(0), *outcome->aaFloorPercent);
    }
    return judgeTimed(variant, verification, *outcome, attested);
}

tl::expected<void, Stop>
EvaluationRun::judgeTimed(const ReferenceVariant& variant,
                          Verification& verification,
                          const BenchOutcome& outcome,
                          const tl::expected<std::optional<AttestedTime>, GateStop>& attested)
{
    tl::expected<void, GateStop> right;
    if (outcome.started > 0) {
        right = tl::unexpected(rejected(
            "timed_outputs",
            fmt::format("the candidate started {} further process{} while it was timed: they run "
                        "while the others are measured",
                        outcome.started,
                        outcome.started == 1 ? "" : "es")));
    } else {
        right = verification.checkTimed({outcome.lastSet, outcome.calls, outcome.candidateUs});
    }
    if (right) {
        m_done.seeds.push_back(
            variant.sets()[static_cast<std::size_t>(ReferenceVariant::kUnseenSet)].seed);
        right = judgeAttested(variant, attested);
    }
    if (!right) {
        const GateStop& stop = right.error();
        if (!stop.stop.error) {
            m_board->fail(stop.gate, variant.name(), stop.stop.reason, stop.detail, {});
        }
        return tl::unexpected(stop.stop);
    }
    return {};
}

tl::expected<void, GateStop>
EvaluationRun::judgeAttested(const ReferenceVariant& variant,
                             const tl::expected<std::optional<AttestedTime>, GateStop>& attested)
{
    const std::string gate = "attested";
    if (!attested) {
        return tl::unexpected(attested.error());
    }
    if (!*attested) {
        if (full()) {
            m_board->skip(gate,
                          m_device->cuda ? "only measured on the CPU"
                                         : "the inputs cannot be exchanged in place");
        }
        return {};
    }
    const AttestedTime& time = **attested;
    if (!time.givenUp.empty()) {
        warning("attested, " + variant.name() + ": " + time.givenUp);
    }
    const nlohmann::json row{{"variant", variant.name()},
                             {"protocol", "warm"},
                             {"trials", time.trials},
                             {"us", time.timeUs},
                             {"freshUs", time.freshUs},
                             {"repeatUs", time.repeatUs},
                             {"lateUs", time.lateUs},
                             {"headlineUs", time.headlineUs},
                             {"chainCalls", time.chainCalls},
                             {"chainUs", time.chainUs},
                             {"chainPairs", time.chainPairs},
                             {"chainPairsAgainst", time.chainPairsAgainst},
                             {"coldUs", time.coldUs}};
    m_attested.push_back(row);
    if (const std::string why = time.against(); !why.empty()) {
        GateStop stop = rejected(gate, why);
        stop.detail = dumpJson(row);
        return tl::unexpected(stop);
    }
    m_board->pass(
        gate,
        variant.name(),
        "calls on fresh inputs take as long as the timed ones, and their outputs are there "
        "when they are answered",
        dumpJson(row));
    return {};
}

double EvaluationRun::coldAllowance(const ReferenceVariant& variant, double copyUs)
{
    const std::uint64_t bytes = variant.leastBytes();
    if (bytes > lastLevelCacheBytes()) {
        return copyUs; // the timed calls did not find it in a cache either
    }
    const Stopwatch watch(m_ledger.samplingSeconds);
    const double rate = m_workshop.bandwidth().memoryBytesPerSecondOfOneThread();
    return rate > 0 ? std::max(copyUs, static_cast<double>(bytes) / rate * 1e6) : copyUs;
}

double EvaluationRun::addLimit(const ReferenceVariant& variant, double candidateUs)
{
    const std::uint64_t bytes = variant.leastBytes();
    const double rate = [&] {
        const Stopwatch watch(m_ledger.samplingSeconds);
        return m_workshop.bandwidth().bytesPerSecond(bytes);
    }();
    if (!(rate > 0)) {
        return 0;
    }
    const double us = static_cast<double>(bytes) / rate * 1e6;
    nlohmann::json row{
        {"variant", variant.name()},
        {"bytes", bytes},
        {"bytesPerSecond", rate},
        {"us", us},
        {"source", "measured copy of a working set of this size, same threads and cores"}};
    if (candidateUs > 0) {
        row["reached"] = us / candidateUs;
    }
    if (m_limit.empty()) {
        m_limit = row;
        m_limit["variants"] = nlohmann::json::array();
    }
    m_limit["variants"].push_back(std::move(row));
    return us;
}

void EvaluationRun::profile()
{
    constexpr int kCalls = 3;
    constexpr double kCheapUs = 20'000; // of one call in the quick tier
    ReferenceVariant& variant = *m_variants.front();
    if (!full() && m_candidateUs > kCheapUs) {
        return;
    }
    stage("profile", "tracing " + variant.name());
    std::vector<std::pair<std::string, ArmProcess*>> arms;
    if (m_candidate) {
        auto main = m_candidate->main(variant, cancelFd(), m_ledger);
        if (main) {
            arms.emplace_back("candidate", (*main)->process.get());
        }
    }
    if (full() && variant.eager() != nullptr) {
        arms.emplace_back("eager", variant.eager());
    }
    for (CompiledVariant* compiled :
         full() ? readyCompiled(variant, false) : std::vector<CompiledVariant*>()) {
        arms.emplace_back(compiled->name(), compiled->process());
    }
    // The verdict waits for it.
    constexpr double kLockSeconds = 60;
    constexpr double kQuickLockSeconds = 2;
    const auto lock = lockDevice("profile", full() ? kLockSeconds : kQuickLockSeconds);
    if (!lock) {
        warning("no timeline: " + lock.error().message);
        return;
    }
    const Quiet quiet(m_workshop, {m_candidate.get(), m_parent.get()});
    std::vector<ArmProcess*> processes;
    for (const auto& [name, process] : arms) {
        processes.push_back(process);
    }
    const OneAtATime turns(processes);
    for (std::size_t i = 0; i < arms.size() && !m_cancel.cancelled(); ++i) {
        const auto& [name, process] = arms[i];
        turns.run(i);
        auto found = traceArm(*process,
                              name,
                              variant.name(),
                              kCalls,
                              m_request.task.forwardTimeoutSeconds,
                              m_sink,
                              cancelFd(),
                              m_ledger);
        turns.stop(i);
        if (!found) {
            warning("no timeline of " + name + ": " + found.error().message);
            continue;
        }
        if (name == "candidate") {
            m_evidence.update(*found);
        }
        m_evidence["arms"][name] = std::move(*found);
    }
}

} // namespace lathe::worker
