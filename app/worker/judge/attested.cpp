// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "attested.h"

#include "secret.h"

#include <lathe/stats/stats.h>

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <random>
#include <vector>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

namespace {

const std::string kGate = "attested";
// Single calls with the judge's copies between them jitter by tens of microseconds, and the first
// call after a pause also wakes threads up. Less than this is not told from that.
constexpr double kSlackUs = 300;
constexpr double kMemoRatio = 1.5;
constexpr double kLateShare = 0.3;

class Attestation
{
public:
    Attestation(ReferenceVariant& variant,
                CandidateArm::Loaded& candidate,
                MovingInputs& moving,
                int cancelFd,
                Ledger& ledger)
        : m_variant(variant)
        , m_candidate(candidate)
        , m_moving(moving)
        , m_cancelFd(cancelFd)
        , m_ledger(ledger)
        , m_random(secretSeed())
    {}

    tl::expected<AttestedTime, GateStop> run(int trials)
    {
        std::vector<bool> order(static_cast<std::size_t>(2 * trials), false);
        std::fill(order.begin(), order.begin() + trials, true);
        std::shuffle(order.begin(), order.end(), m_random);
        for (int warmUp = 0; warmUp < 2; ++warmUp) {
            if (auto trial = once(warmUp == 0); !trial) {
                return tl::unexpected(trial.error());
            }
        }
        m_fresh.clear();
        m_repeat.clear();
        m_late.clear();
        for (const bool fresh : order) {
            if (auto trial = once(fresh); !trial) {
                return tl::unexpected(trial.error());
            }
        }
        AttestedTime out;
        out.trials = trials;
        out.freshUs = stats::median(m_fresh);
        out.repeatUs = stats::median(m_repeat);
        out.lateUs = std::max(0.0, stats::median(m_late));
        out.timeUs = out.freshUs + out.lateUs;
        return out;
    }

private:
    tl::expected<void, GateStop> once(bool fresh)
    {
        const Stopwatch watch(m_ledger.samplingSeconds);
        const auto& sets = m_variant.sets();
        // The judge writes all of the memory either way, so that caches are as cold in both.
        const auto shown =
            fresh ? m_moving.showVaried(sets[0], sets[1], m_random) : m_moving.show(sets[0]);
        if (!shown) {
            return tl::unexpected(machineError(kGate, shown.error()));
        }
        const auto called = ask(ArmWriter(ArmMessage::Time)
                                    .integers(FieldTag::Ints, {MovingInputs::kId})
                                    .integer(FieldTag::Int, 1),
                                {},
                                ArmMessage::Timed);
        auto call = fillCall(*m_candidate.process,
                             TensorGroup::Outputs,
                             0,
                             m_variant.outputs(),
                             m_variant.contract().tensors.size(),
                             60);
        if (!called || !call) {
            return tl::unexpected(!called ? called.error() : machineError(kGate, call.error()));
        }
        const auto first = ask(call->request, call->fds, ArmMessage::Ok);
        const auto second = first ? ask(call->request, call->fds, ArmMessage::Ok) : first;
        if (!second) {
            return tl::unexpected(second.error());
        }
        (fresh ? m_fresh : m_repeat).push_back(*called);
        if (fresh) {
            m_late.push_back(*first - *second);
        }
        return {};
    }

    /// Microseconds until the answer.
    tl::expected<double, GateStop>
    ask(const ArmWriter& request, const std::vector<int>& fds, ArmMessage expected)
    {
        const double timeout = m_variant.context().task.forwardTimeoutSeconds;
        const auto reply = m_candidate.process->call(request, fds, timeout, m_cancelFd);
        if (!reply) {
            return tl::unexpected(GateStop{
                kGate, stopFor(reply.error(), m_candidate.process.get(), "being timed", timeout)});
        }
        if (reply->message.type() == ArmMessage::Failed) {
            return tl::unexpected(GateStop{kGate, stopForFailed(reply->message)});
        }
        if (reply->message.type() != expected) {
            return tl::unexpected(
                GateStop{kGate,
                         {protocol::Verdict::Crashed,
                          "the candidate's process answered out of turn while being timed",
                          {},
                          false,
                          {}}});
        }
        return static_cast<double>(reply->roundTripNs) / 1e3;
    }

    ReferenceVariant& m_variant;
    CandidateArm::Loaded& m_candidate;
    MovingInputs& m_moving;
    int m_cancelFd;
    Ledger& m_ledger;
    std::mt19937_64 m_random;
    std::vector<double> m_fresh;
    std::vector<double> m_repeat;
    std::vector<double> m_late;
};

} // namespace

std::string AttestedTime::against() const
{
    if (freshUs > kMemoRatio * repeatUs && freshUs > repeatUs + kSlackUs) {
        return fmt::format(
            "a call on inputs that were never there before takes {:.0f} us, on earlier "
            "ones {:.0f} us: results are remembered",
            freshUs,
            repeatUs);
    }
    if (lateUs > kLateShare * timeUs && lateUs > kSlackUs) {
        return fmt::format("the outputs are there {:.0f} us after the call was answered: it is "
                           "answered before the work is done",
                           lateUs);
    }
    return {};
}

tl::expected<std::optional<AttestedTime>, GateStop> attest(ReferenceVariant& variant,
                                                           CandidateArm::Loaded& candidate,
                                                           double headlineUs,
                                                           int cancelFd,
                                                           Ledger& ledger)
{
    constexpr double kCapUs = 400'000; // of all trials together
    constexpr double kLeastTrials = 3;
    constexpr double kMostTrials = 9;
    auto moving = candidate.movingInputs(variant, cancelFd, ledger);
    if (!moving) {
        return tl::unexpected(GateStop{kGate, moving.error(), "{}"});
    }
    if (*moving == nullptr) {
        return std::optional<AttestedTime>();
    }
    const double affordable = kCapUs / std::max(2 * headlineUs, 1.0);
    const int trials = static_cast<int>(std::clamp(affordable, kLeastTrials, kMostTrials));
    auto time = Attestation(variant, candidate, **moving, cancelFd, ledger).run(trials);
    if (!time) {
        return tl::unexpected(time.error());
    }
    return std::optional<AttestedTime>(*time);
}

} // namespace lathe::worker
