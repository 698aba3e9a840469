// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "verification.h"

#include <optional>
#include <string>

namespace lathe::worker {

/// Calls on inputs that were never there before, timed by the judge until their outputs are in its
/// own memory; and the same on inputs that were there before.
struct AttestedTime
{
    int trials = 0;
    double freshUs = 0;  ///< the fastest call on fresh contents
    double repeatUs = 0; ///< the fastest call on contents of earlier calls
    double freshMedianUs = 0;
    double repeatMedianUs = 0;
    /// What copying the outputs out took longer than a second copy: the first fifth of the trials.
    double lateUs = 0;
    double timeUs = 0;  ///< freshUs + lateUs: from the question to the outputs
    int chainCalls = 0; ///< of the trial that chainUs is from; 0: no chain
    /// A call of a chain, each of them on fresh contents, in the trial that says most for the
    /// candidate.
    double chainUs = 0;
    int chainPairs = 0;        ///< chains with as many timed calls beside them
    int chainPairsAgainst = 0; ///< those that took longer than these allow
    double headlineUs = 0;
    double coldUs = 0;   ///< what a call may take longer because its data comes from memory
    std::string givenUp; ///< why a part was not measured; empty when all was
    /// What a call of the chain may take when the timed calls did all of their work.
    [[nodiscard]] double chainMostUs() const;
    /// Why this speaks against the headline; empty when it does not.
    [[nodiscard]] std::string against() const;
};

/// What an attestation is held against: the warm median of the timing, and what reading and writing
/// everything once from memory takes (0: unknown, no comparison).
struct Headline
{
    double us = 0;
    double coldUs = 0;
};

/// Measures one loaded candidate whose arm alone runs: the reference's sandbox is stopped, and is
/// again when this returns; `verification` compares the outputs of
/// calls on contents that are drawn for them, alone and at the end of chains. Nothing where the
/// inputs cannot be exchanged in place.
tl::expected<std::optional<AttestedTime>, GateStop> attest(ReferenceVariant& variant,
                                                           CandidateArm::Loaded& candidate,
                                                           Verification& verification,
                                                           const Headline& headline,
                                                           int cancelFd,
                                                           Ledger& ledger);

} // namespace lathe::worker
