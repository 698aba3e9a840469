// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "candidate_arm.h"
#include "gates.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe::worker {

/// The gates after build, in order.
std::vector<std::string> gatesAfter(const std::string& gate);

/// A stop with the gate it belongs to.
struct GateStop
{
    std::string gate;
    Stop stop;
    std::string detail = "{}";
};

// What outputs hold before an arm writes them: NaN in every IEEE type and -1 in integers; and a
// pattern that is finite everywhere.
constexpr std::uint32_t kPoisonNan = 0xffffffffu;
constexpr std::uint32_t kPoisonFinite = 0x5a5a5a5au;

/// Calls change what later ones find: a sample begins with what was loaded, so that of several
/// calls only the first one's outputs are known.
bool carriesState(const protocol::TaskSpec& task);
GateStop wrong(const std::string& gate, std::string reason, std::string detail = "{}");
/// Evidence speaks against the result.
GateStop rejected(const std::string& gate, std::string reason);
GateStop machineError(const std::string& gate, const Error& error);

/// What a timing was, as far as checking it needs that.
struct TimedCalls
{
    std::int64_t lastSet = 0; ///< of the last timed call
    int calls = 1;            ///< of a warm sample
    double us = 0;            ///< warm median of a call
};

/// Runs one loaded candidate through the correctness gates of one variant.
class Verification
{
public:
    Verification(ReferenceVariant& variant,
                 CandidateArm& candidate,
                 GateBoard& board,
                 bool thorough,
                 int cancelFd,
                 Ledger& ledger);

    /// load, contract, numerics, call_order, fresh_contents, inputs; thorough also fresh_process,
    /// weights, own_kernels, idle.
    tl::expected<void, GateStop> run();
    /// timed_outputs: a timed call whose outputs are read at once; where the inputs were bound for
    /// it, for each of them a whole sample of calls after its contents were exchanged; and a set
    /// that nobody has seen.
    tl::expected<void, GateStop> checkTimed(const TimedCalls& timed);
    /// Compares what the timed process holds since its last call with the golden values of `set`;
    /// buffers, which timed calls carry on, are left out.
    tl::expected<void, GateStop>
    checkHeld(const InputSet& set, const std::string& gate, const std::string& when);

private:
    /// One forward on a set; its outputs are copied into poisoned buffers and compared. The detail
    /// of the worst output, empty when it is to the bit what was right before. A failing forward
    /// belongs to `gate`, a wrong value to `compareGate`.
    /// runAs: the set that the process is asked for, when it is not the one with these golden
    /// values.
    tl::expected<std::string, GateStop> forward(const InputSet& set,
                                                const std::string& gate,
                                                const std::string& compareGate,
                                                const std::string& when,
                                                std::uint32_t poison,
                                                std::int64_t runAs = -1);
    /// A set shown in the memory where another one was before.
    tl::expected<std::string, GateStop> forwardMoved(MovingInputs& moving,
                                                     const InputSet& set,
                                                     const std::string& gate,
                                                     const std::string& when);
    /// withBuffers: the call began with the buffers as loaded, so that they can be compared.
    tl::expected<std::string, GateStop> collect(const InputSet& set,
                                                const std::string& gate,
                                                const std::string& when,
                                                std::uint32_t poison,
                                                bool withBuffers);
    tl::expected<OutputShape, GateStop>
    run(std::int64_t set, std::int64_t flags, const std::string& gate);
    tl::expected<void, GateStop> contract(const OutputShape& shape);
    tl::expected<void, GateStop> floatMode(const OutputShape& shape, const std::string& gate);
    tl::expected<void, GateStop> checkExchanged(int calls, const std::string& gate);
    /// Exchanges the contents of one timed input while a long sample of short calls runs over all
    /// of them: who trusts an address for the length of a sample gives the old result. The CPU
    /// only.
    tl::expected<void, GateStop>
    checkExchangedMeanwhile(std::size_t at, double callUs, const std::string& gate);
    /// One such sample; false: the exchange came too late for anything to follow from it.
    tl::expected<bool, GateStop> exchangeMeanwhile(std::size_t at,
                                                   const InputSet& fresh,
                                                   double callUs,
                                                   const std::string& gate);
    /// The contents for a timed input: a fresh set like it, or the unseen one for want of memory.
    tl::expected<const InputSet*, GateStop> contentsFor(std::size_t at, const std::string& gate);
    /// The timed sets in an order that ends `calls` calls on number `at`.
    [[nodiscard]] std::vector<std::int64_t> endingOn(std::size_t at, int calls) const;
    /// As in the timing: `calls` calls over `ids`; the last one's outputs are compared with the
    /// golden values of `set`.
    tl::expected<void, GateStop> timedCalls(const std::vector<std::int64_t>& ids,
                                            int calls,
                                            const InputSet& set,
                                            const std::string& gate,
                                            const std::string& when);
    /// The first output outside its limits stops; else the detail of the worst one.
    tl::expected<std::string, GateStop> within(const std::vector<Deviation>& deviations,
                                               const std::string& gate,
                                               const std::string& when);
    tl::expected<void, GateStop> numerics();
    tl::expected<void, GateStop> callOrder();
    tl::expected<void, GateStop> freshContents();
    tl::expected<void, GateStop> inputsUnchanged();
    tl::expected<void, GateStop> freshProcess();
    tl::expected<void, GateStop> otherWeights();
    tl::expected<void, GateStop> ownKernels();
    tl::expected<void, GateStop> libraries();
    tl::expected<void, GateStop> idle();
    [[nodiscard]] bool librariesForbidden() const;

    ReferenceVariant& m_variant;
    CandidateArm& m_candidate;
    GateBoard& m_board;
    bool m_thorough;
    int m_cancelFd;
    Ledger& m_ledger;
    CandidateArm::Loaded* m_loaded = nullptr;
};

} // namespace lathe::worker
