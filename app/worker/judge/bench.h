// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "candidate_arm.h"
#include "compiled_variant.h"
#include "reference_variant.h"

#include <lathe/protocol/messages.h>
#include <lathe/worker/interleaved.h>
#include <lathe/worker/judge.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lathe::worker {

/// The arms of one variant's timing, all loaded and bound. Null: takes no part.
struct BenchArms
{
    ArmProcess* candidate = nullptr; ///< null: baselines only
    ArmProcess* parent = nullptr;
    ReferenceVariant* reference = nullptr;
    std::vector<CompiledVariant*> compiled;
    /// The sets that candidate and twin are timed on; the others always take 0 and 1. The unseen
    /// set stays out of it: it is what the timed process is tested with afterwards.
    std::vector<std::int64_t> candidateSets{0, 1};
    ArmProcess* twin = nullptr; ///< of the candidate, or of eager when there is none
};

struct BenchPlan
{
    protocol::Tier tier = protocol::Tier::Quick;
    double minSeconds = 0;
    double maxNoisePercent = 1;
    double forwardTimeoutSeconds = 60;
    std::uint64_t flushBytes = 0;
    bool deviceEvents = false;
    bool privateCopies = false;
};

struct BenchOutcome
{
    std::optional<double> aaFloorPercent;
    std::int64_t lastSet = 0; ///< of the candidate's last timed call
    std::size_t started = 0;  ///< processes that candidate and twin started while they were timed
    int calls = 1;            ///< of the candidate in its warm samples
    double candidateUs = 0;   ///< warm median; eager's when there is no candidate
};

/// The focus arm failed: the candidate, or eager when there is none.
struct BenchFailure
{
    Error error;
};

/// Times the arms of one variant, warm and (full and accept tiers) cold, and sends rows and
/// comparisons. Arms other than the focus that fail are left out with a warning.
tl::expected<BenchOutcome, BenchFailure> benchVariant(const BenchArms& arms,
                                                      const BenchPlan& plan,
                                                      const EventSink& sink,
                                                      int cancelFd,
                                                      Ledger& ledger);

} // namespace lathe::worker
