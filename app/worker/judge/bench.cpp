// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "bench.h"

#include "secret.h"

#include <lathe/stats/stats.h>

#include <algorithm>
#include <cmath>

namespace lathe::worker {
namespace {

using protocol::Tier;

constexpr double kQuickCapSeconds = 0.4;
constexpr double kFullCapSeconds = 4.0;
constexpr double kColdCapSeconds = 1.5;
constexpr double kMargin = 0.01;

class Bench
{
public:
    Bench(const BenchArms& arms,
          const BenchPlan& plan,
          const EventSink& sink,
          int cancelFd,
          Ledger& ledger)
        : m_given(arms)
        , m_plan(plan)
        , m_sink(sink)
        , m_cancelFd(cancelFd)
        , m_ledger(ledger)
    {
        constexpr int kFreshWarmUp = 6; // its heap and its pages grow over the first calls
        const auto add = [this](std::string name,
                                ArmProcess* process,
                                int warmUp = 2,
                                std::vector<std::int64_t> sets = {0, 1}) {
            if (process != nullptr) {
                m_arms.push_back({std::move(name), process, std::move(sets), warmUp});
                m_arms.back().watched =
                    process == m_given.candidate || process == m_given.parent
                    || (process == m_given.twin && m_given.candidate != nullptr);
            }
        };
        add("candidate", arms.candidate, 2, arms.candidateSets);
        add("eager", arms.reference->eager());
        add("aa", arms.twin, kFreshWarmUp, arms.candidateSets);
        if (arms.twin != nullptr && m_arms.size() > 1) {
            m_arms.back().twinOf = 0;
        }
        add("parent", arms.parent, kFreshWarmUp);
        for (CompiledVariant* compiled : arms.compiled) {
            add(compiled->name(), compiled->process());
        }
    }

    tl::expected<BenchOutcome, BenchFailure> run()
    {
        if (auto warm = measure(false); !warm) {
            return tl::unexpected(warm.error());
        }
        if (m_plan.tier != Tier::Quick && m_plan.flushBytes > 0) {
            if (auto cold = measure(true); !cold) {
                return tl::unexpected(cold.error());
            }
        }
        return m_out;
    }

private:
    [[nodiscard]] TimingPlan timingPlan(bool cold) const
    {
        TimingPlan plan;
        plan.cold = cold;
        plan.flushBytes = cold ? m_plan.flushBytes : 0;
        plan.capSeconds = std::max(cold                         ? kColdCapSeconds
                                   : m_plan.tier == Tier::Quick ? kQuickCapSeconds
                                                                : kFullCapSeconds,
                                   m_plan.minSeconds * static_cast<double>(m_arms.size()));
        plan.minSeconds = m_plan.minSeconds * static_cast<double>(m_arms.size());
        plan.maxNoisePercent = m_plan.maxNoisePercent;
        plan.callTimeoutSeconds = m_plan.forwardTimeoutSeconds;
        plan.seed = secretSeed();
        plan.deviceEvents = m_plan.deviceEvents;
        if (plan.deviceEvents) {
            // A whole sample is queued before the first call starts: short enough for the delay to
            // cover what the host needs for that, at tens of microseconds a call. Events resolve
            // half a microsecond, and a GPU has no threads to wake.
            plan.sampleSeconds = 0.0005;
            plan.leadSeconds = 0;
        }
        plan.privateCopies = m_plan.privateCopies;
        return plan;
    }

    tl::expected<void, BenchFailure> measure(bool cold)
    {
        const TimingPlan plan = timingPlan(cold);
        while (true) {
            auto samples = [&] {
                const Stopwatch watch(m_ledger.samplingSeconds);
                return timeInterleaved(m_arms, plan, m_cancelFd);
            }();
            if (samples) {
                report(plan, *samples);
                return {};
            }
            const TimingFailure& failure = samples.error();
            m_out.started += startedBy(failure.started);
            if (failure.error.code == ErrorCode::Cancelled) {
                drain(m_arms[failure.arm]);
            }
            if (failure.arm == 0 || failure.error.code == ErrorCode::Cancelled) {
                return tl::unexpected(BenchFailure{failure.error});
            }
            leaveOut(failure);
        }
    }

    /// Takes the answer that is still under way out of an arm that outlives the request; one that
    /// does not come soon is not waited for.
    void drain(const TimedArm& arm)
    {
        constexpr double kPatienceSeconds = 0.05;
        const bool isEager = arm.process == m_given.reference->eager();
        const auto compiled =
            std::find_if(m_given.compiled.begin(),
                         m_given.compiled.end(),
                         [&](CompiledVariant* one) { return one->process() == arm.process; });
        if (!isEager && compiled == m_given.compiled.end()) {
            return;
        }
        if (arm.process->receive(kPatienceSeconds, -1)) {
            return;
        }
        if (isEager) {
            m_given.reference->loseEager();
        } else {
            (*compiled)->restart();
        }
    }

    void leaveOut(const TimingFailure& failure)
    {
        const std::string name = m_arms[failure.arm].name;
        m_sink(protocol::WarningEvent{"arm " + name + " is left out of the timing of "
                                      + m_given.reference->name() + ": " + failure.error.message});
        if (name == "eager") {
            m_given.reference->loseEager();
        }
        for (CompiledVariant* compiled : m_given.compiled) {
            if (compiled->name() == name) {
                compiled->lose("it failed while it was timed: " + failure.error.message);
            }
        }
        m_arms.erase(
            m_arms.begin()
            + static_cast<std::ptrdiff_t>(failure.arm)); // never the first: twinOf stays right
    }

    /// Processes that the candidate's code has started: its own and its twin's.
    [[nodiscard]] std::size_t startedBy(const std::vector<std::size_t>& started) const
    {
        std::size_t sum = 0;
        for (std::size_t arm = 0; arm < started.size(); ++arm) {
            const bool candidates =
                m_arms[arm].process == m_given.candidate || m_arms[arm].process == m_given.twin;
            sum += m_given.candidate != nullptr && candidates ? started[arm] : 0;
        }
        return sum;
    }

    void report(const TimingPlan& plan, TimingSamples& samples)
    {
        const std::string& variant = m_given.reference->name();
        const std::string protocol = plan.cold ? "cold" : "warm";
        m_out.lastSet = samples.lastSet[0];
        if (!plan.cold) {
            m_out.calls = samples.calls[0]; // a cold sample is one call
        }
        m_out.started += startedBy(samples.started);
        double margin = kMargin;
        for (std::size_t arm = 0; arm < m_arms.size(); ++arm) {
            const auto row = timingRow(
                m_arms[arm].name, variant, plan, samples.samplesUs[arm], samples.discarded[arm]);
            if (arm == 0 && !plan.cold) {
                m_out.candidateUs = row.medianUs;
            }
            m_sink(protocol::TimingEvent{row});
        }
        // The twin first: what two processes of the same code differ by is not a difference between
        // two codes.
        for (std::size_t arm = 1; arm < m_arms.size(); ++arm) {
            if (m_arms[arm].name != "aa") {
                continue;
            }
            const auto ratio =
                stats::pairedRatio(samples.samplesUs[arm], samples.samplesUs[0], plan.seed);
            const double floor =
                std::max(std::abs(std::log(ratio.low)), std::abs(std::log(ratio.high)));
            if (!plan.cold) {
                m_out.aaFloorPercent = 100 * floor;
            }
            margin = std::max(margin, floor);
            send("aa", m_arms[0].name, variant, protocol, ratio, kMargin);
        }
        for (std::size_t arm = 1; arm < m_arms.size(); ++arm) {
            if (m_arms[arm].name == "aa") {
                continue;
            }
            // With a candidate it is "candidate against X", among baselines "compile:default
            // against eager".
            if (m_given.candidate != nullptr) {
                send(m_arms[0].name,
                     m_arms[arm].name,
                     variant,
                     protocol,
                     stats::pairedRatio(samples.samplesUs[0], samples.samplesUs[arm], plan.seed),
                     margin);
            } else {
                send(m_arms[arm].name,
                     m_arms[0].name,
                     variant,
                     protocol,
                     stats::pairedRatio(samples.samplesUs[arm], samples.samplesUs[0], plan.seed),
                     margin);
            }
        }
    }

    void send(const std::string& arm,
              const std::string& against,
              const std::string& variant,
              const std::string& protocol,
              const stats::Interval& ratio,
              double margin)
    {
        m_sink(protocol::ComparisonEvent{{arm,
                                          against,
                                          variant,
                                          protocol,
                                          ratio.estimate,
                                          ratio.low,
                                          ratio.high,
                                          stats::verdict(ratio, margin)}});
    }

    const BenchArms& m_given;
    const BenchPlan& m_plan;
    const EventSink& m_sink;
    int m_cancelFd;
    Ledger& m_ledger;
    std::vector<TimedArm> m_arms;
    BenchOutcome m_out;
};

} // namespace

tl::expected<BenchOutcome, BenchFailure> benchVariant(const BenchArms& arms,
                                                      const BenchPlan& plan,
                                                      const EventSink& sink,
                                                      int cancelFd,
                                                      Ledger& ledger)
{
    return Bench(arms, plan, sink, cancelFd, ledger).run();
}

} // namespace lathe::worker
