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
#include <numeric>
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
/// Of a chain, whose calls follow one another: the best of several trials.
constexpr double kChainSlackUs = 100;
constexpr double kMemoRatio = 1.5;
constexpr double kLateShare = 0.3;
/// Of the differences of two copies, of which a busy machine makes as many negative as positive.
constexpr double kLateQuantile = 0.2;
/// Of the chains that must be slower than as many timed calls beside them: on a machine so busy
/// that threads wait for cores, about a half are by chance.
constexpr double kConsistent = 0.9;
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
                Verification& verification,
                int cancelFd,
                Ledger& ledger)
        : m_variant(variant)
        , m_candidate(candidate)
        , m_moving(moving)
        , m_verification(verification)
        , m_cancelFd(cancelFd)
        , m_ledger(ledger)
        , m_random(secretSeed())
    {}

    /// Single calls, `trials` of each kind in random order. While what they say speaks against the
    /// candidate, more follow, with longer pauses: other load on the machine only ever adds time,
    /// so the fastest calls are compared, and one slow moment accuses nobody.
    tl::expected<AttestedTime, GateStop> run(int trials)
    {
        for (const Kind warmUp : {Kind::Varied, Kind::Repeat}) {
            if (auto trial = once(warmUp); !trial) {
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
            out.freshMedianUs = stats::median(m_fresh);
            out.repeatMedianUs = stats::median(m_repeat);
            out.lateUs = std::max(0.0, stats::quantile(m_late, kLateQuantile));
            out.timeUs = out.freshUs + out.lateUs;
            out.givenUp = m_givenUp;
            if (out.against().empty() || round == kPauses.size()) {
                return out;
            }
            std::this_thread::sleep_for(kPauses[round]);
        }
    }

    /// Chains of calls, each call on contents that were never there before, the last one's drawn
    /// for this trial alone and its outputs compared. Length and order of the memory are drawn as
    /// well: no call can know that it is not the compared one. `time` takes the trial that says
    /// most for the candidate, because what else happens on the machine only ever adds. Trials go
    /// on while all speak against it, with longer pauses.
    tl::expected<void, GateStop> chain(AttestedTime& time)
    {
        double best = std::numeric_limits<double>::infinity();
        for (std::size_t round = 0; round <= kPauses.size(); ++round) {
            for (const std::size_t length : chainLengths(m_candidate.chain.size())) {
                const auto took = chainOnce(length);
                if (!took) {
                    return tl::unexpected(took.error());
                }
                if (!m_givenUp.empty()) {
                    time.givenUp = m_givenUp;
                    return {};
                }
                const auto calls = static_cast<double>(length);
                if (2 * length <= m_candidate.chain.size()) {
                    continue;
                }
                const auto warm = warmOnce(length);
                if (!warm) {
                    return tl::unexpected(warm.error());
                }
                ++time.chainPairs;
                const double most =
                    kMemoRatio * *warm / calls + kColdCopies * time.coldUs + kChainSlackUs / calls;
                time.chainPairsAgainst += *took / calls > most ? 1 : 0;
                if ((*took - kChainSlackUs) / calls < best) {
                    best = (*took - kChainSlackUs) / calls;
                    time.chainUs = *took / calls;
                    time.chainCalls = static_cast<int>(length);
                }
            }
            if (time.chainUs <= time.chainMostUs() || round == kPauses.size()) {
                break;
            }
            std::this_thread::sleep_for(kPauses[round]);
        }
        return {};
    }

private:
    enum class Kind {
        Repeat,      ///< the contents of earlier calls
        RepeatRight, ///< the same, and the outputs are compared
        Varied,      ///< of one element of every tensor nobody knows
        Unseen       ///< drawn for this call, and the outputs are compared
    };

    static ArmWriter timeRequest(const std::vector<std::int64_t>& ids, std::int64_t calls)
    {
        return std::move(ArmWriter(ArmMessage::Time)
                             .integers(FieldTag::Ints, ids)
                             .integer(FieldTag::Int, calls));
    }

    /// Long ones (over half of `most`) are timed, short ones are only compared.
    std::vector<std::size_t> chainLengths(std::size_t most)
    {
        constexpr int kLong = 3;
        constexpr int kShort = 2;
        const std::size_t half = most / 2;
        std::vector<std::size_t> lengths;
        for (int i = 0; i < kLong; ++i) {
            lengths.push_back(std::uniform_int_distribution(half + 1, most)(m_random));
        }
        for (int i = 0; i < kShort && half > 0; ++i) {
            lengths.push_back(std::uniform_int_distribution(std::size_t{1}, half)(m_random));
        }
        std::shuffle(lengths.begin(), lengths.end(), m_random);
        return lengths;
    }

    /// A set that no process has had; null when there is none to be had, which ends what needs it.
    tl::expected<const InputSet*, GateStop> unseen()
    {
        if (!m_givenUp.empty()) {
            return nullptr;
        }
        // The reference stands still while candidates are timed.
        ArmHost& host = *m_variant.context().host;
        host.pause(false);
        const auto drawn = m_variant.drawFresh(
            std::uniform_int_distribution(std::int64_t{0}, std::int64_t{1})(m_random),
            m_cancelFd,
            m_ledger);
        host.pause(true);
        if (!drawn && drawn.error().code == ErrorCode::Cancelled) {
            return tl::unexpected(machineError(kGate, drawn.error()));
        }
        if (!drawn) {
            m_givenUp = "no further inputs could be drawn: " + drawn.error().message;
            return nullptr;
        }
        return *drawn;
    }

    /// Microseconds of all calls together.
    tl::expected<double, GateStop> chainOnce(std::size_t length)
    {
        const auto last = unseen();
        if (!last) {
            return tl::unexpected(last.error());
        }
        if (*last == nullptr) {
            return 0;
        }
        const Stopwatch watch(m_ledger.samplingSeconds);
        const auto ids = showChain(length, **last);
        if (!ids) {
            return tl::unexpected(ids.error());
        }
        // Led in as a sample is: threads are awake, and nothing paused between.
        const auto led = ask(timeRequest({MovingInputs::kId}, 1), {}, ArmMessage::Timed);
        const auto took =
            led ? ask(timeRequest(*ids, static_cast<std::int64_t>(length)), {}, ArmMessage::Timed)
                : led;
        if (!took) {
            return took;
        }
        if (auto right = m_verification.checkHeld(
                **last, kGate, " of the last of several calls on fresh inputs");
            !right) {
            return tl::unexpected(right.error());
        }
        return took;
    }

    /// As many calls as they were timed: what a busy machine does to a chain, it does to these too.
    tl::expected<double, GateStop> warmOnce(std::size_t length)
    {
        const Stopwatch watch(m_ledger.samplingSeconds);
        std::vector<std::int64_t> ids;
        for (const auto& inputs : m_candidate.timed) {
            ids.push_back(inputs->id());
        }
        if (ids.empty()) {
            ids.push_back(MovingInputs::kId);
        }
        const auto led = ask(timeRequest({MovingInputs::kId}, 1), {}, ArmMessage::Timed);
        return led ? ask(timeRequest(ids, static_cast<std::int64_t>(length)), {}, ArmMessage::Timed)
                   : led;
    }

    /// The sets to call in turn, with fresh contents everywhere; those of the last are `last`.
    tl::expected<std::vector<std::int64_t>, GateStop> showChain(std::size_t length,
                                                                const InputSet& last)
    {
        const auto& sets = m_variant.sets();
        std::vector<std::size_t> order(m_candidate.chain.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::shuffle(order.begin(), order.end(), m_random);
        std::vector<std::int64_t> ids;
        for (std::size_t i = 0; i < length; ++i) {
            MovingInputs& inputs = *m_candidate.chain[order[i]];
            const std::size_t base = m_random() % 2;
            const auto shown = i + 1 == length
                                   ? inputs.show(last)
                                   : inputs.showVaried(sets[base], sets[1 - base], m_random);
            if (!shown) {
                return tl::unexpected(machineError(kGate, shown.error()));
            }
            ids.push_back(inputs.id());
        }
        return ids;
    }

    tl::expected<void, GateStop> someCalls(int trials)
    {
        const auto drawn = unseen();
        if (!drawn) {
            return tl::unexpected(drawn.error());
        }
        m_unseen = *drawn;
        std::vector<Kind> order(static_cast<std::size_t>(2 * trials), Kind::Repeat);
        std::fill(order.begin(), order.begin() + trials, Kind::Varied);
        order.front() = m_unseen != nullptr ? Kind::Unseen : Kind::Varied;
        order.back() = Kind::RepeatRight;
        std::shuffle(order.begin(), order.end(), m_random);
        for (const Kind kind : order) {
            if (auto trial = once(kind); !trial) {
                return trial;
            }
        }
        return {};
    }

    /// The judge writes all of the memory in every kind, so that caches are as cold in all.
    Result<void> show(Kind kind)
    {
        const auto& sets = m_variant.sets();
        switch (kind) {
        case Kind::Varied:
            return m_moving.showVaried(sets[0], sets[1], m_random);
        case Kind::Unseen:
            return m_moving.show(*m_unseen);
        default:
            return m_moving.show(sets[0]);
        }
    }

    tl::expected<void, GateStop> once(Kind kind)
    {
        const Stopwatch watch(m_ledger.samplingSeconds);
        if (auto shown = show(kind); !shown) {
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
        const bool fresh = kind == Kind::Varied || kind == Kind::Unseen;
        (fresh ? m_fresh : m_repeat).push_back(*called);
        if (fresh) {
            m_late.push_back(*first - *second);
        }
        if (kind == Kind::Unseen) {
            return m_verification.checkHeld(*m_unseen, kGate, " of a call on fresh inputs");
        }
        if (kind == Kind::RepeatRight) {
            return m_verification.checkHeld(
                m_variant.sets().front(), kGate, " of a call on earlier inputs");
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
    Verification& m_verification;
    int m_cancelFd;
    Ledger& m_ledger;
    std::mt19937_64 m_random;
    const InputSet* m_unseen = nullptr;
    std::string m_givenUp;
    std::vector<double> m_fresh;
    std::vector<double> m_repeat;
    std::vector<double> m_late;
};

} // namespace

double AttestedTime::chainMostUs() const
{
    return kMemoRatio * headlineUs + kColdCopies * coldUs + kChainSlackUs / std::max(chainCalls, 1);
}

std::string AttestedTime::against() const
{
    const bool slower = freshUs > kMemoRatio * repeatUs && freshUs > repeatUs + kSlackUs;
    // The fastest of few calls can be luck on a busy machine; luck does not move the median.
    if (slower && freshMedianUs > kMemoRatio * repeatMedianUs) {
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
    const bool consistent = chainPairsAgainst >= kConsistent * chainPairs;
    if (chainCalls > 0 && coldUs > 0 && chainUs > most && consistent) {
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

/// As many inputs as make the slack small beside what is measured, and as fit; 0: too few.
std::size_t chainLength(std::uint64_t inputBytes, double headlineUs)
{
    constexpr double kMostCalls = 32; // each input of each is a mapping and two descriptors
    constexpr double kLeastCalls = 3; // with fewer, a call could know that it is not the last
    constexpr double kMostBytes = 256.0 * (1 << 20);
    constexpr double kMostBytesOfLeast = 1024.0 * (1 << 20);
    constexpr double kSlackShare = 0.02;
    const auto bytes = static_cast<double>(inputBytes);
    if (kLeastCalls * bytes > kMostBytesOfLeast) {
        return 0;
    }
    const double wanted = kChainSlackUs / (kSlackShare * std::max(headlineUs, 1.0));
    const double fit = kMostBytes / std::max(bytes, 1.0);
    return static_cast<std::size_t>(std::clamp(std::min(wanted, fit), kLeastCalls, kMostCalls));
}

/// Takes back what the attestation made, however it ends.
struct Temporary
{
    ReferenceVariant& variant;
    CandidateArm::Loaded& candidate;
    int cancelFd;
    Ledger& ledger;
    ~Temporary()
    {
        candidate.endChain(cancelFd, ledger);
        variant.endFresh();
    }
};

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
    const Temporary temporary{variant, candidate, cancelFd, ledger};
    const double affordable = kCapUs / std::max(2 * headline.us, 1.0);
    const int trials = static_cast<int>(std::clamp(affordable, kLeastTrials, kMostTrials));
    Attestation attestation(variant, candidate, **moving, verification, cancelFd, ledger);
    auto time = attestation.run(trials);
    if (!time) {
        return tl::unexpected(time.error());
    }
    time->headlineUs = headline.us;
    time->coldUs = headline.coldUs;
    // Inputs that a call changes would have to be restored between the calls of a chain.
    const protocol::TaskSpec& task = variant.context().task;
    const bool chained = task.mutates.empty() && !carriesState(task) && time->givenUp.empty();
    std::uint64_t inputBytes = 0;
    for (const auto& info : variant.sets()[0].infos) {
        inputBytes += info.bytes();
    }
    const std::size_t calls = chained ? chainLength(inputBytes, headline.us) : 0;
    if (calls > 0) {
        const auto bound = candidate.chainInputs(variant, calls, cancelFd, ledger);
        if (!bound && !outOfMemory(bound.error())) {
            return tl::unexpected(GateStop{kGate, bound.error(), "{}"});
        }
        if (!bound) {
            time->givenUp = "no chain of calls on fresh inputs: " + bound.error().reason;
        } else if (auto done = attestation.chain(*time); !done) {
            return tl::unexpected(done.error());
        }
    }
    return std::optional<AttestedTime>(*time);
}

} // namespace lathe::worker
