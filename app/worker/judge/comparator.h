// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace lathe::worker {

/// How far one output is from its golden values. All elements count. An element's error is measured
/// as |got - expected| / (|expected| + scale), scale being the root mean square of the expected
/// output: relative where the value is large, absolute where it is close to zero.
struct Deviation
{
    std::int64_t elements = 0;
    double maxAbs = 0;
    double maxRel = 0;  ///< the largest element error as defined above
    double relRmse = 0; ///< |got - expected| / |expected|, Euclidean norms
    std::int64_t mismatches =
        0; ///< NaN or Inf in other places or of other sign; for integers: any difference
    std::int64_t nearMisses = 0;  ///< quantised codes one step away, which are no mismatch
    std::int64_t worstIndex = -1; ///< flat index of the largest error, a mismatch first
    double expected = 0;
    double got = 0;
};

/// Root mean square of the finite elements of a golden tensor.
double rootMeanSquare(protocol::DType dtype, std::span<const std::byte> values);

/// True for dtypes that are compared exactly (bool and integers).
bool comparedExactly(protocol::DType dtype);

/// Compares got (in the output's dtype) with golden (float64, complex128 for complex outputs, or
/// the output's own dtype). Both hold the same number of elements, dense; else an Internal error.
Result<Deviation> compareWithGolden(protocol::DType dtype,
                                    std::span<const std::byte> got,
                                    protocol::DType goldenDtype,
                                    std::span<const std::byte> golden,
                                    double scale);

} // namespace lathe::worker
