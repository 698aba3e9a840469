// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>
#include <lathe/worker/arm_host.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lathe::worker {

/// One arm that takes part in a timing: a loaded phase process and the input sets it has bound. Not
/// owned.
struct TimedArm
{
    std::string name;
    ArmProcess* process = nullptr;
    std::vector<std::int64_t> setIds; ///< rotated over from call to call
    /// Discarded; a process that has run before needs fewer than a fresh one.
    int warmUpSamples = 2;
    /// Index of the arm that runs the same code: both get the same number of calls a sample.
    int twinOf = -1;
    /// Looked at after every sample for processes that it has started.
    bool watched = false;
};

struct TimingPlan
{
    bool cold = false;
    std::uint64_t flushBytes = 0; ///< cold: streamed over before every sample
    int minRounds = 8;            ///< never less, however slow
    int maxRounds = 400;
    double minSeconds = 0;        ///< sampled at least that long in all
    double capSeconds = 0.4;      ///< of sampling in all arms together, once minRounds are done
    double sampleSeconds = 0.005; ///< a sample holds as many calls as this takes
    /// Calls outside the clock before each sample, as many as this takes: after others have run, an
    /// arm's threads sleep and caches and branch predictors are theirs.
    double leadSeconds = 0.003;
    double maxNoisePercent =
        1;                 ///< half-width of every ratio to the focus arm at which sampling ends
    std::size_t focus = 0; ///< index of the arm that the others are compared with
    double callTimeoutSeconds = 60; ///< of one forward
    std::uint64_t seed = 0;         ///< of the order and of the intervals
    bool privateCopies =
        false; ///< the task mutates inputs: have their copies made before the clock starts
    bool deviceEvents =
        false; ///< take the arm's event seconds (CUDA) in place of the judge's clock
};

/// Samples of all arms from the same rounds: samples[arm][round], microseconds per call.
struct TimingSamples
{
    std::vector<int> calls; ///< a sample, by arm
    std::vector<std::vector<double>> samplesUs;
    std::vector<std::size_t> started; ///< processes that were found meanwhile, by watched arm
    std::vector<int> discarded;       ///< warm-up samples per arm
    std::vector<std::int64_t>
        lastSet; ///< per arm: the input set of the last timed call, whose outputs it still holds
    double samplingSeconds = 0;
};

/// An arm failed while it was timed.
struct TimingFailure
{
    std::size_t arm = 0;
    Error error;
    std::vector<std::size_t> started; ///< as in TimingSamples, until then
};

/// Runs the arms in randomized interleaved rounds. The clock is the judge's CLOCK_MONOTONIC around
/// each request, less the same arm's median null request; the arm's own clock is not used (except
/// deviceEvents).
tl::expected<TimingSamples, TimingFailure>
timeInterleaved(const std::vector<TimedArm>& arms, const TimingPlan& plan, int cancelFd);

/// The row of one arm.
protocol::TimingRow timingRow(const std::string& arm,
                              const std::string& variant,
                              const TimingPlan& plan,
                              std::vector<double> samplesUs,
                              int discarded);

} // namespace lathe::worker
