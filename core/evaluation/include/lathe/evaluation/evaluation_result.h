// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/id.h>
#include <lathe/base/result.h>
#include <lathe/protocol/messages.h>

#include <nlohmann/json_fwd.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::evaluation {

/// A captured trace of one arm, as the worker sent it (Chrome trace JSON; core/profile parses it).
struct TraceRecord
{
    std::string arm;
    std::string variant;
    int calls = 1;
    std::string chromeJson;
};

/// One candidate's speed against one arm: geometric mean over the variants.
struct Speedup
{
    std::string against; ///< "parent", "eager", "compile:default"
    double ratio = 1;
    double low = 1;
    double high = 1;
    std::string verdict;  ///< "faster", "same", "slower", "undecided"
    int variants = 1;     ///< that the mean is over
    bool complete = true; ///< over every variant that was timed, so that it ranks beside others
};

/// What is known of one candidate's evaluation so far. Value type; grows by apply(), is final once
/// finished.
struct EvaluationResult
{
    EvaluationId id;
    std::string task; ///< task key
    CandidateId candidate;
    std::string candidateFormat;
    std::string parent;
    protocol::Tier tier = protocol::Tier::Full;
    bool finished = false;
    bool replayed = false;                    ///< ran with --replay-seed: not kept
    std::optional<protocol::Verdict> verdict; ///< absent until finished
    std::string reason;
    protocol::BuildReport build;
    std::vector<protocol::GateResult> gates;
    std::vector<protocol::TimingRow> timings;
    std::vector<protocol::Comparison> comparisons;
    std::vector<TraceRecord> traces;
    std::vector<std::string> warnings;
    std::string log; ///< build and candidate output
    protocol::EvaluateDone done;
    std::string startedAt; ///< RFC 3339
    std::string rerun;     ///< the command line
    std::string stage;     ///< what is going on, for a person

    void apply(const protocol::Event& event);
    void finish(const protocol::EvaluateDone& summary);
    void fail(const Error& error); ///< ended without a verdict: warnings hold why
    /// Geometric means over the variants of the headline comparisons, one per arm, best baseline
    /// (lowest ratio) first; arms that fell out of some variants come last.
    [[nodiscard]] std::vector<Speedup> speedups() const;
    /// The smallest of the baselines' speedups (not the parent): "against the fastest of them".
    [[nodiscard]] std::optional<Speedup> againstBestBaseline() const;
    /// Not what is kept as final: another tier than accept, or a variant without a timing.
    [[nodiscard]] bool provisional() const;
    /// Why it is provisional and what makes it final, a clause for a person; empty when it is not.
    [[nodiscard]] std::string provisionalBecause() const;
    [[nodiscard]] int reward() const;
};

/// The result document, schema "lathe.eval/1" (docs: 07 of the design, schema in
/// tasks/schema/eval.schema.json).
nlohmann::ordered_json toDocument(const EvaluationResult& result);
/// Reads a kept document back (traces and logs are blobs beside it).
Result<EvaluationResult> fromDocument(const nlohmann::json& document);

} // namespace lathe::evaluation
