// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lathe::arm {

/// What differs between two floating-point modes of the calling thread, as bits.
enum FloatModeChange : std::int64_t {
    kFlushChanged = 1,    ///< subnormal results or operands become zero, or no longer do
    kRoundingChanged = 2, ///< rounds in another direction
};

/// The calling thread's floating-point mode. Constructed before foreign code runs; restore() after
/// it says what that code left behind and puts it right.
class FloatMode
{
public:
    FloatMode();
    std::int64_t restore() const;

private:
    std::uint64_t m_control;
    int m_rounding;
};

} // namespace lathe::arm
