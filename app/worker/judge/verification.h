// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "candidate_arm.h"
#include "gates.h"

#include <cstdint>
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

    /// load, contract, numerics, call_order, inputs.
    tl::expected<void, GateStop> run();
    /// timed_outputs: what the last timed call left behind and a set the process has not seen yet.
    tl::expected<void, GateStop> checkTimed(std::int64_t lastSet);

private:
    /// One forward on a set; its outputs are copied into poisoned buffers and compared. The detail
    /// of the worst output, empty when it is to the bit what was right before. A failing forward
    /// belongs to `gate`, a wrong value to `compareGate`.
    tl::expected<std::string, GateStop> forward(const InputSet& set,
                                                const std::string& gate,
                                                const std::string& compareGate,
                                                const std::string& when,
                                                std::uint32_t poison);
    /// withBuffers: the call began with the buffers as loaded, so that they can be compared.
    tl::expected<std::string, GateStop> collect(const InputSet& set,
                                                const std::string& gate,
                                                const std::string& when,
                                                std::uint32_t poison,
                                                bool withBuffers);
    tl::expected<void, GateStop> contract(const OutputShape& shape);
    /// The first output outside its limits stops; else the detail of the worst one.
    tl::expected<std::string, GateStop> within(const std::vector<Deviation>& deviations,
                                               const std::string& gate,
                                               const std::string& when);
    tl::expected<void, GateStop> numerics();
    tl::expected<void, GateStop> callOrder();
    tl::expected<void, GateStop> inputsUnchanged();

    ReferenceVariant& m_variant;
    CandidateArm& m_candidate;
    GateBoard& m_board;
    bool m_thorough;
    int m_cancelFd;
    Ledger& m_ledger;
    CandidateArm::Loaded* m_loaded = nullptr;
};

} // namespace lathe::worker
