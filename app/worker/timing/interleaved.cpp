// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/stats/stats.h>
#include <lathe/worker/interleaved.h>
#include <lathe/worker/one_at_a_time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>

namespace lathe::worker {
namespace {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

constexpr int kNullCalls = 15;
constexpr int kMaxCallsPerSample = 10'000;
constexpr int kCheckEvery = 4; ///< rounds between looks at the interval
constexpr double kNs = 1e9;
constexpr int kMostStarved = 3; ///< samples in a row; each makes the next delay longer
/// Waking up costs a call about a millisecond; longer calls are not led in by another one.
constexpr double kLongCallSeconds = 0.05;

std::vector<ArmProcess*> processesOf(const std::vector<TimedArm>& arms)
{
    std::vector<ArmProcess*> processes;
    for (const TimedArm& arm : arms) {
        processes.push_back(arm.process);
    }
    return processes;
}

class Interleaved
{
public:
    Interleaved(const std::vector<TimedArm>& arms, const TimingPlan& plan, int cancelFd)
        : m_arms(arms)
        , m_plan(plan)
        , m_cancelFd(cancelFd)
        , m_random(plan.seed)
        , m_turns(processesOf(arms))
        , m_nullNs(arms.size(), 0.0)
        , m_calls(arms.size(), 1)
        , m_leadSingle(arms.size(), 0)
        , m_rotation(arms.size(), 0)
    {
        m_out.samplesUs.resize(arms.size());
        m_out.discarded.assign(arms.size(), 0);
        m_out.started.assign(arms.size(), 0);
        m_out.lastSet.assign(arms.size(), 0);
    }

    Result<void> warmUp(std::size_t arm)
    {
        std::vector<double> nulls;
        m_turns.run(arm);
        for (int i = 0; i < kNullCalls; ++i) {
            const auto reply = call(arm, ArmWriter(ArmMessage::Null), ArmMessage::Ok, 10);
            if (!reply) {
                return tl::unexpected(reply.error());
            }
            nulls.push_back(static_cast<double>(reply->roundTripNs));
        }
        m_nullNs[arm] = stats::median(nulls);
        // The first samples pay for page faults and code that is touched for the first time. How
        // many calls a sample needs follows from the best of them, and once more from a sample of
        // that many: single calls of a short kernel mostly show how long its threads take to wake
        // up.
        double best = 1e9;
        const int warmUps = std::max(m_arms[arm].warmUpSamples, 1);
        for (int i = 0; i <= warmUps; ++i) {
            const auto us = sample(arm);
            if (!us) {
                return tl::unexpected(us.error());
            }
            ++m_out.discarded[arm];
            best = std::min(best, *us / 1e6);
            if (i + 1 >= warmUps && !m_plan.cold) {
                const double wanted = std::ceil(m_plan.sampleSeconds / std::max(best, 1e-7));
                m_calls[arm] = static_cast<int>(
                    std::clamp(wanted, 1.0, static_cast<double>(kMaxCallsPerSample)));
                m_leadSingle[arm] = m_plan.leadSeconds > 0 && best < kLongCallSeconds;
            }
        }
        return {};
    }

    tl::expected<TimingSamples, TimingFailure> run()
    {
        const std::int64_t started = monotonicNs();
        for (std::size_t arm = 0; arm < m_arms.size(); ++arm) {
            if (auto warm = warmUp(arm); !warm) {
                return tl::unexpected(TimingFailure{arm, warm.error(), m_out.started});
            }
        }
        for (std::size_t arm = 0; arm < m_arms.size(); ++arm) {
            // Twins are only alike when their samples are.
            if (const int twin = m_arms[arm].twinOf; twin >= 0) {
                int& other = m_calls[static_cast<std::size_t>(twin)];
                m_calls[arm] = other = std::max(m_calls[arm], other);
            }
        }
        std::vector<std::size_t> order(m_arms.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        const std::int64_t samplingStarted = monotonicNs();
        for (int round = 0; round < m_plan.maxRounds; ++round) {
            const double seconds = static_cast<double>(monotonicNs() - samplingStarted) / kNs;
            if (round >= m_plan.minRounds && seconds >= m_plan.minSeconds
                && (seconds >= m_plan.capSeconds || (round % kCheckEvery == 0 && quietEnough()))) {
                break;
            }
            std::shuffle(order.begin(), order.end(), m_random);
            for (const std::size_t arm : order) {
                const auto us = sample(arm);
                if (!us) {
                    return tl::unexpected(TimingFailure{arm, us.error(), m_out.started});
                }
                m_out.samplesUs[arm].push_back(*us);
            }
        }
        m_out.calls = m_calls;
        m_out.samplingSeconds = static_cast<double>(monotonicNs() - started) / kNs;
        return std::move(m_out);
    }

private:
    Result<ArmReply>
    call(std::size_t arm, const ArmWriter& request, ArmMessage expected, double timeout)
    {
        auto reply = m_arms[arm].process->call(request, {}, timeout, m_cancelFd);
        if (reply && reply->message.type() == ArmMessage::Failed) {
            return fail(ErrorCode::Refused,
                        reply->message.text(FieldTag::Text2),
                        reply->message.text(FieldTag::Text3));
        }
        if (reply && reply->message.type() != expected) {
            return fail(ErrorCode::Protocol, "an arm answered out of turn");
        }
        return reply;
    }

    /// Microseconds per call of one sample.
    Result<double> sample(std::size_t arm)
    {
        m_turns.run(arm);
        auto us = measure(arm);
        for (int again = 0; us && m_starved && again < kMostStarved; ++again) {
            ++m_out.discarded[arm];
            us = measure(arm);
        }
        m_turns.stop(arm);
        if (m_arms[arm].watched) {
            m_out.started[arm] += m_turns.refresh(arm);
        }
        return us;
    }

    Result<double> measure(std::size_t arm)
    {
        const int calls = m_calls[arm];
        if (calls > 1 || m_leadSingle[arm]) {
            const int lead =
                std::max(1, static_cast<int>(calls * m_plan.leadSeconds / m_plan.sampleSeconds));
            const auto led = call(arm,
                                  ArmWriter(ArmMessage::Time)
                                      .integers(FieldTag::Ints, m_arms[arm].setIds)
                                      .integer(FieldTag::Int, lead),
                                  ArmMessage::Timed,
                                  m_plan.callTimeoutSeconds * lead);
            if (!led) {
                return tl::unexpected(led.error());
            }
        }
        // The rotation goes on from sample to sample, so that single-call samples see every set.
        const auto& sets = m_arms[arm].setIds;
        std::vector<std::int64_t> rotated(sets.size());
        for (std::size_t i = 0; i < sets.size(); ++i) {
            rotated[i] = sets[(m_rotation[arm] + i) % sets.size()];
        }
        m_rotation[arm] += static_cast<std::size_t>(calls);
        m_out.lastSet[arm] = rotated[static_cast<std::size_t>(calls - 1) % rotated.size()];
        if (m_plan.privateCopies || (m_plan.cold && m_plan.flushBytes > 0)) {
            ArmWriter request(ArmMessage::Flush);
            request.integer(FieldTag::Int,
                            m_plan.cold ? static_cast<std::int64_t>(m_plan.flushBytes) : 0);
            if (m_plan.privateCopies) {
                request.integers(FieldTag::Ints, rotated).integer(FieldTag::Int2, calls);
            }
            if (const auto flushed = call(arm, request, ArmMessage::Ok, 60); !flushed) {
                return tl::unexpected(flushed.error());
            }
        }
        const auto reply = call(arm,
                                ArmWriter(ArmMessage::Time)
                                    .integers(FieldTag::Ints, rotated)
                                    .integer(FieldTag::Int, calls),
                                ArmMessage::Timed,
                                m_plan.callTimeoutSeconds * calls);
        if (!reply) {
            return tl::unexpected(reply.error());
        }
        double seconds = (static_cast<double>(reply->roundTripNs) - m_nullNs[arm]) / kNs;
        if (m_plan.deviceEvents) {
            const auto floats = reply->message.floats(FieldTag::Floats);
            if (!floats || floats->size() < 2 || !((*floats)[1] > 0)) {
                return fail(ErrorCode::Protocol, "the arm sent no event time");
            }
            seconds = (*floats)[1];
            m_starved = floats->size() > 2 && (*floats)[2] != 0;
        }
        // A call shorter than the round trip's own jitter can come out below zero; a nanosecond
        // keeps logarithms finite and shows as the noise it is.
        return std::max(seconds / calls * 1e6, 1e-3);
    }

    [[nodiscard]] bool quietEnough() const
    {
        const auto& focus = m_out.samplesUs[m_plan.focus];
        for (std::size_t arm = 0; arm < m_arms.size(); ++arm) {
            if (arm == m_plan.focus) {
                continue;
            }
            const auto ratio = stats::pairedRatio(focus, m_out.samplesUs[arm], m_plan.seed, 200);
            if (!(50.0 * std::log(ratio.high / ratio.low) < m_plan.maxNoisePercent)) {
                return false;
            }
        }
        return m_arms.size() > 1;
    }

    const std::vector<TimedArm>& m_arms;
    const TimingPlan& m_plan;
    int m_cancelFd;
    std::mt19937_64 m_random;
    OneAtATime m_turns;
    bool m_starved = false; ///< the device waited for the host in the last sample
    std::vector<double> m_nullNs;
    std::vector<int> m_calls;
    std::vector<char> m_leadSingle; ///< a sample of one call is led in as well
    std::vector<std::size_t> m_rotation;
    TimingSamples m_out;
};

} // namespace

tl::expected<TimingSamples, TimingFailure>
timeInterleaved(const std::vector<TimedArm>& arms, const TimingPlan& plan, int cancelFd)
{
    return Interleaved(arms, plan, cancelFd).run();
}

protocol::TimingRow timingRow(const std::string& arm,
                              const std::string& variant,
                              const TimingPlan& plan,
                              std::vector<double> samplesUs,
                              int discarded)
{
    protocol::TimingRow row;
    row.arm = arm;
    row.variant = variant;
    row.protocol = plan.cold ? "cold" : "warm";
    row.samples = static_cast<int>(samplesUs.size());
    row.discarded = discarded;
    const auto interval = stats::medianInterval(samplesUs, plan.seed);
    row.medianUs = interval.estimate;
    row.lowUs = interval.low;
    row.highUs = interval.high;
    row.p10Us = stats::quantile(samplesUs, 0.1);
    row.p90Us = stats::quantile(samplesUs, 0.9);
    row.cvPercent = stats::cvPercent(samplesUs);
    row.samplesUs = std::move(samplesUs);
    return row;
}

} // namespace lathe::worker
