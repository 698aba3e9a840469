// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Statistics of timings. Pure functions; every random step takes its seed.
namespace lathe::stats {

/// Quantile by linear interpolation between order statistics (Hyndman and Fan 1996, type 7). Empty
/// input: NaN.
double quantile(std::vector<double> values, double q);
double median(std::vector<double> values);
double mean(const std::vector<double>& values);
/// Coefficient of variation (sample standard deviation over mean) in per cent.
double cvPercent(const std::vector<double>& values);
/// exp(mean(log v)); all values must be positive, else NaN.
double geometricMean(const std::vector<double>& values);

struct Interval
{
    double estimate = 0;
    double low = 0;
    double high = 0;
};

/// 95 % percentile interval of the median by moving-block bootstrap (Kunsch 1989) with block length
/// max(1, round(n^(1/3))), resamples draws.
Interval
medianInterval(const std::vector<double>& values, std::uint64_t seed, int resamples = 1000);

/// Paired ratio against/arm per round (> 1: arm is faster): exp of the median paired log-ratio with
/// its 95 % block-bootstrap interval. Both must have the same length.
Interval pairedRatio(const std::vector<double>& arm,
                     const std::vector<double>& against,
                     std::uint64_t seed,
                     int resamples = 1000);

/// Geometric mean over variants of independent ratios; the interval adds the log half-widths in
/// quadrature.
Interval combineRatios(const std::vector<Interval>& ratios);

/// However wide the margin is: two arms that may differ by more than this are not the same.
constexpr double kMostAlike = 0.05;

/// "faster" when low > 1 + margin, "slower" when high < 1 / (1 + margin), "same" when the interval
/// lies within the margins and within kMostAlike, else "undecided".
std::string verdict(const Interval& ratio, double margin = 0.01);

/// Milestone reward of CUDA Agent (arXiv 2602.24286): -1 wrong, 1 correct, 2 more than 5 % faster
/// than eager, 3 more than 5 % faster than eager and than torch.compile.
int milestoneReward(bool correct, double ratioEager, double ratioCompile);

} // namespace lathe::stats
