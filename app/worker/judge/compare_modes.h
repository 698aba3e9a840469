// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comparator.h"

#include <lathe/protocol/types.h>

#include <cstddef>
#include <span>
#include <vector>

namespace lathe::worker {

/// A tensor's bytes with what they mean.
struct TensorView
{
    protocol::TensorInfo info;
    std::span<const std::byte> bytes;
};

/// Indices along an axis of `source`: one is right when the value it points at is the value that
/// the expected one points at, to within tolerance * (|value| + scale), and when no row names the
/// same element twice. Unsupported when the shapes do not fit each other.
Result<Deviation> compareTies(const TensorView& got,
                              const TensorView& golden,
                              const TensorView& source,
                              int axis,
                              double tolerance,
                              double scale);

/// Values whose order along the last axis does not count.
Result<Deviation> compareSets(const TensorView& got, const TensorView& golden, double scale);

/// Quantised values of 8 bits: one step away is a near miss, more is a mismatch. Unsupported for
/// other dtypes.
Result<Deviation> compareCodes(const TensorView& got, const TensorView& golden);

} // namespace lathe::worker
