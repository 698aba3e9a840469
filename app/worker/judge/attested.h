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
    double freshUs = 0;  ///< median of a call on fresh contents
    double repeatUs = 0; ///< median of a call on contents of earlier calls
    double lateUs = 0;   ///< median of what copying the outputs out took longer than a second copy
    double timeUs = 0;   ///< freshUs + lateUs: from the question to the outputs
    /// Why this speaks against the headline; empty when it does not.
    [[nodiscard]] std::string against() const;
};

/// Measures one loaded candidate. headlineUs decides how many trials are affordable. Nothing where
/// the inputs cannot be exchanged in place.
tl::expected<std::optional<AttestedTime>, GateStop> attest(ReferenceVariant& variant,
                                                           CandidateArm::Loaded& candidate,
                                                           double headlineUs,
                                                           int cancelFd,
                                                           Ledger& ledger);

} // namespace lathe::worker
