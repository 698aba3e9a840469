// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/float_mode.h"

#include <cfenv>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace lathe::arm {
namespace {

#if defined(__x86_64__)
constexpr std::uint64_t kFlushBits = 0x8040; // flush to zero, denormals are zero
constexpr std::uint64_t kStatusBits = 0x3f; // sticky exception flags: every inexact result sets one

std::uint64_t readControl()
{
    return _mm_getcsr() & ~kStatusBits;
}

void writeControl(std::uint64_t control)
{
    _mm_setcsr(static_cast<unsigned>(control));
}
#elif defined(__aarch64__)
constexpr std::uint64_t kFlushBits = (1u << 24) | (1u << 19); // FZ, FZ16

std::uint64_t readControl()
{
    std::uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    return control;
}

void writeControl(std::uint64_t control)
{
    asm volatile("msr fpcr, %0" : : "r"(control));
}
#else
constexpr std::uint64_t kFlushBits = 0;

std::uint64_t readControl()
{
    return 0;
}

void writeControl(std::uint64_t) {}
#endif

} // namespace

FloatMode::FloatMode()
    : m_control(readControl())
    , m_rounding(std::fegetround())
{}

std::int64_t FloatMode::restore() const
{
    const std::uint64_t now = readControl();
    std::int64_t changes = 0;
    if (((now ^ m_control) & kFlushBits) != 0)
        changes |= kFlushChanged;
    // x87 has a rounding mode of its own, which fegetround() looks at.
    if (std::fegetround() != m_rounding || ((now ^ m_control) & ~kFlushBits) != 0) {
        changes |= kRoundingChanged;
        std::fesetround(m_rounding);
    }
    if (now != m_control)
        writeControl(m_control);
    return changes;
}

} // namespace lathe::arm
