// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "attested.h"

#include "secret.h"

#include <lathe/stats/stats.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <fmt/format.h>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;
using namespace std::chrono_literals;

namespace {

const std::string kGate = "attested";
// Single calls with the judge's copies between them jitter by tens of microseconds, and the first
// call after a pause also wakes threads up. Less than this is not told from that.
constexpr double kSlackUs = 300;
constexpr double kMemoRatio = 1.5;
constexpr double kLateShare = 0.3;
/// Data that the judge has just written comes from memory or from another core's cache, and a
/// first touch also fills the address translation: that much of the time of one copy is allowed.
constexpr double kColdCopies = 2;

/// Between rounds of trials that speak against a candidate.
constexpr std::array kPauses = {50ms, 150ms, 400ms, 1000ms};

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

    /// Single calls, `trials` of each kind in random order. While what they say speaks against the
    /// candidate, more follow, with longer pauses: other load on the machine only ever adds time,
    /// so the fastest calls are compared, and one slow moment accuses nobody.
    tl::expected<AttestedTime, GateStop> run(int trials)
    {
        for (int warmUp = 0; warmUp < 2; ++warmUp) {
            if (auto trial = once(warmUp == 0); !trial) {
                return tl::unexpected(trial.error());
            }
        }
        m_fresh.clear();
        m_repeat.clear();
        m_late.clear();
        AttestedTime out;
        for (std::size_t round = 0;; ++round) {
            if (auto done = someCalls(trials); !done) {
                return tl::unexpected(done.error());
            }
            out.trials += trials;
            out.freshUs = *std::min_element(m_fresh.begin(), m_fresh.end());
            out.repeatUs = *std::min_element(m_repeat.begin(), m_repeat.end());
            out.lateUs = std::max(0.0, stats::median(m_late));
            out.timeUs = out.freshUs + out.lateUs;
            if (out.against().empty() || round == kPauses.size()) {
                return out;
            }
            std::this_thread::sleep_for(kPauses[round]);
        }
    }

    /// A chain of calls, each on inputs of its own that were never there before; the last one's
    /// outputs are compared in every trial. Microseconds a call: the least of the trials, because
    /// what else happens on the machine only ever adds. Trials go on while they exceed `enoughUs`,
    /// with longer pauses, so that one slow moment of the machine accuses nobody.
    tl::expected<double, GateStop>
    chain(Verification& verification, std::size_t calls, double enoughUs)
    {
        constexpr int kLeastTrials = 3;
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < calls; ++i) {
            ids.push_back(MovingInputs::kChain + static_cast<std::int64_t>(i));
        }
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t round = 0; round <= kPauses.size(); ++round) {
            for (int trial = 0; trial < kLeastTrials; ++trial) {
                const auto took = chainOnce(verification, ids);
                if (!took) {
                    return took;
                }
                least = std::min(least, *took);
            }
            if (least <= enoughUs || round == kPauses.size()) {
                break;
            }
            std::this_thread::sleep_for(kPauses[round]);
        }
        return least;
    }

private:
    static ArmWriter timeRequest(const std::vector<std::int64_t>& ids, std::int64_t calls)
    {
        return std::move(ArmWriter(ArmMessage::Time)
                             .integers(FieldTag::Ints, ids)
                             .integer(FieldTag::Int, calls));
    }

    tl::expected<double, GateStop> chainOnce(Verification& verification,
                                             const std::vector<std::int64_t>& ids)
    {
        const Stopwatch watch(m_ledger.samplingSeconds);
        if (auto shown = showChain(); !shown) {
            return tl::unexpected(shown.error());
        }
        // Led in as a sample is: threads are awake, and nothing paused between.
        const auto calls = static_cast<std::int64_t>(ids.size());
        const auto led = ask(timeRequest({MovingInputs::kId}, 1), {}, ArmMessage::Timed);
        const auto took = led ? ask(timeRequest(ids, calls), {}, ArmMessage::Timed) : led;
        if (!took) {
            return took;
        }
        if (auto right = verification.checkHeld(m_variant.sets()[ReferenceVariant::kUnseenSet],
                                                kGate,
                                                " of the last of several calls on fresh inputs");
            !right) {
            return tl::unexpected(right.error());
        }
        return *took / static_cast<double>(calls);
    }

    /// Fresh contents everywhere; those of the last call have a known result.
    tl::expected<void, GateStop> showChain()
    {
        const auto& sets = m_variant.sets();
        for (std::size_t i = 0; i < m_candidate.chain.size(); ++i) {
            const bool last = i + 1 == m_candidate.chain.size();
            const auto shown =
                last ? m_candidate.chain[i]->show(sets[ReferenceVariant::kUnseenSet])
                     : m_candidate.chain[i]->showVaried(sets[i % 2], sets[1 - i % 2], m_random);
            if (!shown) {
                return tl::unexpected(machineError(kGate, shown.error()));
            }
        }
        return {};
    }

    tl::expected<void, GateStop> someCalls(int trials)
    {
        std::vector<bool> order(static_cast<std::size_t>(2 * trials), false);
        std::fill(order.begin(), order.begin() + trials, true);
        std::shuffle(order.begin(), order.end(), m_random);
        for (const bool fresh : order) {
            if (auto trial = once(fresh); !trial) {
                return trial;
            }
        }
        return {};
    }

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
        const auto called = ask(timeRequest({MovingInputs::kId}, 1), {}, ArmMessage::Timed);
        const auto outputs = m_candidate.outputBuffers(m_variant);
        if (!outputs) {
            return tl::unexpected(machineError(kGate, outputs.error()));
        }
        auto call = fillCall(*m_candidate.process,
                             TensorGroup::Outputs,
                             0,
                             **outputs,
                             m_variant.contract().beforeBuffers(),
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

double AttestedTime::chainMostUs() const
{
    return kMemoRatio * headlineUs + kColdCopies * coldUs + kSlackUs / std::max(chainCalls, 1);
}

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
    const double most = chainMostUs();
    if (chainCalls > 0 && coldUs > 0 && chainUs > most) {
        return fmt::format(
            "the timed calls took {:.0f} us each, but in a chain of {} calls on inputs that were "
            "never there before a call takes {:.0f} us, and cold caches explain at most {:.0f} us: "
            "the timed calls did less work",
            headlineUs,
            chainCalls,
            chainUs,
            most);
    }
    return {};
}

namespace {

/// As many inputs as make the slack small beside what is measured, and as fit.
std::size_t chainLength(std::uint64_t inputBytes, double headlineUs)
{
    constexpr double kMostCalls = 16;
    constexpr double kLeastCalls = 2;
    constexpr double kMostBytes = 256.0 * (1 << 20);
    constexpr double kMostBytesOfTwo = 1024.0 * (1 << 20);
    constexpr double kSlackShare = 0.02;
    const auto bytes = static_cast<double>(inputBytes);
    if (kLeastCalls * bytes > kMostBytesOfTwo) {
        return 0;
    }
    const double wanted = kSlackUs / (kSlackShare * std::max(headlineUs, 1.0));
    const double fit = kMostBytes / std::max(bytes, 1.0);
    return static_cast<std::size_t>(std::clamp(std::min(wanted, fit), kLeastCalls, kMostCalls));
}

} // namespace

tl::expected<std::optional<AttestedTime>, GateStop> attest(ReferenceVariant& variant,
                                                           CandidateArm::Loaded& candidate,
                                                           Verification& verification,
                                                           const Headline& headline,
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
    const double affordable = kCapUs / std::max(2 * headline.us, 1.0);
    const int trials = static_cast<int>(std::clamp(affordable, kLeastTrials, kMostTrials));
    Attestation attestation(variant, candidate, **moving, cancelFd, ledger);
    auto time = attestation.run(trials);
    if (!time) {
        return tl::unexpected(time.error());
    }
    time->headlineUs = headline.us;
    time->coldUs = headline.coldUs;
    // Inputs that a call changes would have to be restored between the calls of a chain.
    const bool chained = variant.context().task.mutates.empty();
    std::uint64_t inputBytes = 0;
    for (const auto& info : variant.sets()[0].infos) {
        inputBytes += info.bytes();
    }
    const std::size_t calls = chained ? chainLength(inputBytes, headline.us) : 0;
    if (calls > 0) {
        if (auto bound = candidate.chainInputs(variant, calls, cancelFd, ledger); !bound) {
            return tl::unexpected(GateStop{kGate, bound.error(), "{}"});
        }
        time->chainCalls = static_cast<int>(calls);
        auto chain = attestation.chain(verification, candidate.chain.size(), time->chainMostUs());
        candidate.chain.clear();
        if (!chain) {
            return tl::unexpected(chain.error());
        }
        time->chainUs = *chain;
    }
    return std::optional<AttestedTime>(*time);
}

} // namespace lathe::worker
