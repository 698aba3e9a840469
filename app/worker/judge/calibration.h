// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comparator.h"

#include <lathe/protocol/types.h>

#include <string>

namespace lathe::worker {

/// How far honest arithmetic is from the golden values of one output: the largest deviation over
/// all trials (eager and torch.compile, over seeds).
class Calibration
{
public:
    explicit Calibration(protocol::DType dtype = protocol::DType::Float32)
        : m_dtype(dtype)
    {}
    void addHonest(const Deviation& deviation, double scale);
    [[nodiscard]] int trials() const { return m_trials; }
    [[nodiscard]] protocol::DType dtype() const { return m_dtype; }

    /// What a candidate has to stay below. Both hold at once.
    struct Limits
    {
        double norm = 0;    ///< of relRmse
        double element = 0; ///< of maxRel
        double mismatchShare = 0;
        double nearShare = 0;   ///< of codes that may be one step away
        double floor = 0;       ///< the dtype's own floor of the norm test
        std::string voidReason; ///< not empty: nothing can be concluded from this output
    };
    [[nodiscard]] Limits limits(const protocol::Tolerance& tolerance) const;

private:
    protocol::DType m_dtype;
    int m_trials = 0;
    double m_norm = 0;
    double m_element = 0;
    double m_mismatchShare = 0;
    double m_nearShare = 0;
    double m_largestScale = 0;
    bool m_hasElements = false;
};

/// Empty when the deviation is within the limits, else one sentence saying how it is not.
std::string
whyOutside(const Deviation& deviation, const Calibration::Limits& limits, protocol::DType dtype);

} // namespace lathe::worker
