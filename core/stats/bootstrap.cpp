// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/stats/stats.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace lathe::stats {
namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): the same draws on every machine, which <random>'s
/// distributions do not promise.
class SplitMix
{
public:
    explicit SplitMix(std::uint64_t seed)
        : m_state(seed)
    {}
    std::uint64_t next()
    {
        m_state += 0x9e3779b97f4a7c15ull;
        std::uint64_t z = m_state;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    /// Uniform in [0, bound) by the high half of a 64x64 product; the bias is below bound / 2^64.
    std::size_t below(std::size_t bound)
    {
        __extension__ using Wide = unsigned __int128;
        return static_cast<std::size_t>((static_cast<Wide>(next()) * bound) >> 64);
    }

private:
    std::uint64_t m_state;
};

Interval bootstrapMedian(const std::vector<double>& values, std::uint64_t seed, int resamples)
{
    const double estimate = median(values);
    const std::size_t n = values.size();
    if (n < 2 || resamples < 1) {
        return {estimate, estimate, estimate};
    }
    const auto block =
        static_cast<std::size_t>(std::max(1.0, std::round(std::cbrt(static_cast<double>(n)))));
    SplitMix random(seed);
    std::vector<double> medians;
    medians.reserve(static_cast<std::size_t>(resamples));
    std::vector<double> draw(n);
    for (int r = 0; r < resamples; ++r) {
        for (std::size_t at = 0; at < n; at += block) {
            const std::size_t start = random.below(n - block + 1);
            for (std::size_t i = 0; i < block && at + i < n; ++i) {
                draw[at + i] = values[start + i];
            }
        }
        medians.push_back(median(draw));
    }
    return {estimate, quantile(medians, 0.025), quantile(medians, 0.975)};
}

} // namespace

Interval medianInterval(const std::vector<double>& values, std::uint64_t seed, int resamples)
{
    return bootstrapMedian(values, seed, resamples);
}

Interval pairedRatio(const std::vector<double>& arm,
                     const std::vector<double>& against,
                     std::uint64_t seed,
                     int resamples)
{
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (arm.empty() || arm.size() != against.size()) {
        return {kNan, kNan, kNan};
    }
    std::vector<double> logs;
    logs.reserve(arm.size());
    for (std::size_t i = 0; i < arm.size(); ++i) {
        if (!(arm[i] > 0) || !(against[i] > 0)) {
            return {kNan, kNan, kNan};
        }
        logs.push_back(std::log(against[i] / arm[i]));
    }
    const Interval interval = bootstrapMedian(logs, seed, resamples);
    return {std::exp(interval.estimate), std::exp(interval.low), std::exp(interval.high)};
}

Interval combineRatios(const std::vector<Interval>& ratios)
{
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if (ratios.empty()) {
        return {kNan, kNan, kNan};
    }
    double logs = 0;
    double below = 0;
    double above = 0;
    for (const Interval& ratio : ratios) {
        if (!(ratio.estimate > 0) || !(ratio.low > 0) || !(ratio.high > 0)) {
            return {kNan, kNan, kNan};
        }
        logs += std::log(ratio.estimate);
        below += std::pow(std::log(ratio.estimate / ratio.low), 2);
        above += std::pow(std::log(ratio.high / ratio.estimate), 2);
    }
    const auto n = static_cast<double>(ratios.size());
    const double centre = logs / n;
    return {std::exp(centre),
            std::exp(centre - std::sqrt(below) / n),
            std::exp(centre + std::sqrt(above) / n)};
}

} // namespace lathe::stats
