// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "calibration.h"

#include "decode.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace lathe::worker {
namespace {

// Head room over the honest spread. The norm is a very steady figure, so it gets little; the worst
// of millions of elements is an extreme value and gets more.
constexpr double kNormHeadRoom = 2.5;
constexpr double kElementHeadRoom = 4.0;
// Floors in units of roundoff. A wide type accumulates in itself: 64 is the random walk of 4096
// sequential additions.
constexpr double kNormFloorWide = 64;
constexpr double kElementFloorWide = 256;
// A narrow type is expected to accumulate in float32 and to round once or twice.
constexpr double kNormFloorNarrow = 1;
constexpr double kElementFloorNarrow = 4;
// Zeros have a relative norm error of exactly 1; a limit close to that says nothing.
constexpr double kNormCap = 0.5;
constexpr double kMismatchHeadRoom = 2.0;
constexpr double kMismatchCap = 0.01;
// Codes that honest rounding leaves one step away, where no trial happened to show one.
constexpr double kNearFloor = 0.002;

bool isWide(protocol::DType dtype)
{
    return protocol::elementBytes(dtype) / partsPerElement(dtype) >= 4;
}

} // namespace

void Calibration::addHonest(const Deviation& deviation, double scale)
{
    ++m_trials;
    m_norm = std::max(m_norm, std::isfinite(deviation.relRmse) ? deviation.relRmse : 1.0);
    m_element = std::max(m_element, std::isfinite(deviation.maxRel) ? deviation.maxRel : 1.0);
    if (deviation.elements > 0) {
        m_hasElements = true;
        m_mismatchShare = std::max(m_mismatchShare,
                                   static_cast<double>(deviation.mismatches)
                                       / static_cast<double>(deviation.elements));
    }
    if (deviation.elements > 0) {
        m_nearShare = std::max(m_nearShare,
                               static_cast<double>(deviation.nearMisses)
                                   / static_cast<double>(deviation.elements));
    }
    m_largestScale = std::max(m_largestScale, scale);
}

Calibration::Limits Calibration::limits(const protocol::Tolerance& tolerance) const
{
    Limits out;
    out.mismatchShare = m_mismatchShare * kMismatchHeadRoom;
    out.nearShare = std::max(kNearFloor, m_nearShare * kMismatchHeadRoom);
    if (m_trials == 0) {
        out.voidReason = "no honest run to calibrate with";
    } else if (m_mismatchShare > kMismatchCap) {
        out.voidReason = fmt::format("honest arithmetic itself differs from the golden values in "
                                     "{:.2g} % of the elements",
                                     100 * m_mismatchShare);
    }
    if (comparedExactly(m_dtype)) {
        return out;
    }
    const double roundoff = floatFacts(m_dtype).roundoff;
    const bool wide = isWide(m_dtype);
    out.floor = roundoff * (wide ? kNormFloorWide : kNormFloorNarrow);
    out.norm = std::max(out.floor, m_norm * kNormHeadRoom);
    out.element = std::max(roundoff * (wide ? kElementFloorWide : kElementFloorNarrow),
                           m_element * kElementHeadRoom);
    if (tolerance.relative) {
        out.norm = std::max(out.norm, *tolerance.relative);
        out.element = std::max(out.element, *tolerance.relative);
    }
    if (tolerance.absolute && m_largestScale > 0) {
        out.norm = std::max(out.norm, *tolerance.absolute / m_largestScale);
        out.element = std::max(out.element, *tolerance.absolute / m_largestScale);
    }
    if (out.voidReason.empty() && m_hasElements && !(m_largestScale > 0)) {
        out.voidReason = "the expected output is zero everywhere, so zeros would pass";
    } else if (out.voidReason.empty() && out.norm >= kNormCap) {
        out.voidReason = fmt::format("honest arithmetic spreads by {:.2g} of the output's norm, so "
                                     "that zeros could pass",
                                     m_norm);
    }
    return out;
}

std::string
whyOutside(const Deviation& deviation, const Calibration::Limits& limits, protocol::DType dtype)
{
    const double share = deviation.elements == 0 ? 0
                                                 : static_cast<double>(deviation.mismatches)
                                                       / static_cast<double>(deviation.elements);
    if (share > limits.mismatchShare) {
        return comparedExactly(dtype)
                   ? fmt::format(
                       "{} of {} elements differ", deviation.mismatches, deviation.elements)
                   : fmt::format(
                       "{} of {} elements are NaN or infinite where the reference is not, or "
                       "the other way round",
                       deviation.mismatches,
                       deviation.elements);
    }
    const double nearShare =
        deviation.elements == 0
            ? 0
            : static_cast<double>(deviation.nearMisses) / static_cast<double>(deviation.elements);
    if (nearShare > limits.nearShare && deviation.nearMisses > 1) {
        return fmt::format("{} of {} codes are one step off; honest arithmetic leaves {:.2g} % so",
                           deviation.nearMisses,
                           deviation.elements,
                           100 * limits.nearShare);
    }
    if (comparedExactly(dtype)) {
        return {};
    }
    if (!(deviation.relRmse <= limits.norm)) {
        return fmt::format("the error of the whole output is {:.3g} of its norm; honest arithmetic "
                           "stays below {:.3g}",
                           deviation.relRmse,
                           limits.norm);
    }
    if (!(deviation.maxRel <= limits.element)) {
        return fmt::format(
            "the worst element is off by {:.3g} of its size; honest arithmetic stays "
            "below {:.3g}",
            deviation.maxRel,
            limits.element);
    }
    return {};
}

} // namespace lathe::worker
