// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/stats/stats.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace lathe::stats {
namespace {
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
}

double quantile(std::vector<double> values, double q)
{
    if (values.empty()) {
        return kNan;
    }
    const double position = std::clamp(q, 0.0, 1.0) * static_cast<double>(values.size() - 1);
    const auto lower = static_cast<std::size_t>(position);
    const auto nth = values.begin() + static_cast<std::ptrdiff_t>(lower);
    std::nth_element(values.begin(), nth, values.end());
    const double low = *nth;
    if (lower + 1 >= values.size()) {
        return low;
    }
    const double high = *std::min_element(nth + 1, values.end());
    return low + (position - static_cast<double>(lower)) * (high - low);
}

double median(std::vector<double> values)
{
    return quantile(std::move(values), 0.5);
}

double mean(const std::vector<double>& values)
{
    if (values.empty()) {
        return kNan;
    }
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double cvPercent(const std::vector<double>& values)
{
    if (values.size() < 2) {
        return 0;
    }
    const double centre = mean(values);
    double squares = 0;
    for (const double value : values) {
        squares += (value - centre) * (value - centre);
    }
    return 100.0 * std::sqrt(squares / static_cast<double>(values.size() - 1)) / centre;
}

double geometricMean(const std::vector<double>& values)
{
    if (values.empty()) {
        return kNan;
    }
    double logs = 0;
    for (const double value : values) {
        if (!(value > 0)) {
            return kNan;
        }
        logs += std::log(value);
    }
    return std::exp(logs / static_cast<double>(values.size()));
}

} // namespace lathe::stats
