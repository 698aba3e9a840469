// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/protocol/types.h>

#include <cstddef>
#include <span>

namespace lathe::worker {

/// Real numbers that one element of the dtype holds: 2 for complex, else 1.
std::size_t partsPerElement(protocol::DType dtype);

/// Decodes parts [first, first + out.size()) to doubles. The caller has checked that the bytes hold
/// them.
void decode(protocol::DType dtype,
            std::span<const std::byte> bytes,
            std::size_t first,
            std::span<double> out);

/// Largest finite magnitude and unit roundoff of a floating dtype (of its parts, when complex);
/// zeros for others.
struct FloatFacts
{
    double largest = 0;
    double roundoff = 0;
};
FloatFacts floatFacts(protocol::DType dtype);

} // namespace lathe::worker
