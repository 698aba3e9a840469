// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "compare_modes.h"

#include "decode.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>

namespace lathe::worker {
namespace {

using protocol::DType;

std::vector<double> decoded(const TensorView& view)
{
    std::vector<double> out(static_cast<std::size_t>(view.info.elements())
                            * partsPerElement(view.info.dtype));
    decode(view.info.dtype, view.bytes, 0, out);
    return out;
}

void mismatch(Deviation& out, std::size_t at, double expected, double got)
{
    if (out.mismatches++ == 0) {
        out.worstIndex = static_cast<std::int64_t>(at);
        out.expected = expected;
        out.got = got;
    }
}

std::int64_t product(const std::vector<std::int64_t>& shape, std::size_t from, std::size_t to)
{
    std::int64_t out = 1;
    for (std::size_t i = from; i < to; ++i) {
        out *= shape[i];
    }
    return out;
}

bool same(double a, double b, double tolerance, double scale)
{
    return a == b || (std::isnan(a) && std::isnan(b))
           || std::abs(a - b) <= tolerance * (std::abs(b) + scale);
}

/// NaN last, so that the order is one whatever is in the row.
bool before(double a, double b)
{
    return std::isnan(b) ? !std::isnan(a) : a < b;
}

/// The place of an 8-bit code among all its neighbours.
int ordinal(DType dtype, std::byte code)
{
    const int bits = std::to_integer<int>(code);
    switch (dtype) {
    case DType::Int8:
        return bits < 128 ? bits : bits - 256;
    case DType::Float8E4M3:
    case DType::Float8E5M2:
        return (bits & 0x80) != 0 ? -(bits & 0x7f) : bits;
    default:
        return bits;
    }
}

} // namespace

Result<Deviation> compareTies(const TensorView& got,
                              const TensorView& golden,
                              const TensorView& source,
                              int axis,
                              double tolerance,
                              double scale)
{
    const auto& from = source.info.shape;
    const auto& shape = got.info.shape;
    const auto dimensions = static_cast<int>(from.size());
    const int at = axis < 0 ? axis + dimensions : axis;
    if (at < 0 || at >= dimensions || partsPerElement(source.info.dtype) != 1
        || !comparedExactly(got.info.dtype)) {
        return fail(ErrorCode::Unsupported,
                    "ties are compared of integer indices into real values");
    }
    const auto position = static_cast<std::size_t>(at);
    // Either the axis is gone (argmax) or as long as the number of indices (topk).
    const bool kept = shape.size() == from.size();
    if (!kept && shape.size() + 1 != from.size()) {
        return fail(ErrorCode::Unsupported,
                    "the indices' shape does not fit the values they point into");
    }
    const std::int64_t count = kept ? shape[position] : 1;
    const std::int64_t extent = from[position];
    const std::int64_t inner = product(from, position + 1, from.size());
    const std::int64_t outer = product(from, 0, position);
    if (got.info.elements() != outer * count * inner
        || golden.info.elements() != got.info.elements()) {
        return fail(ErrorCode::Unsupported,
                    "the indices' shape does not fit the values they point into");
    }
    const auto values = decoded(source);
    const auto mine = decoded(got);
    const auto expected = decoded(golden);
    Deviation out;
    out.elements = got.info.elements();
    for (std::int64_t row = 0; row < outer * inner; ++row) {
        const std::int64_t o = row / inner;
        const std::int64_t i = row % inner;
        std::set<std::int64_t> named;
        for (std::int64_t k = 0; k < count; ++k) {
            const auto flat = static_cast<std::size_t>((o * count + k) * inner + i);
            const auto index = static_cast<std::int64_t>(mine[flat]);
            const auto right = static_cast<std::int64_t>(expected[flat]);
            const auto valueAt = [&](std::int64_t p) {
                return values[static_cast<std::size_t>((o * extent + p) * inner + i)];
            };
            if (index < 0 || index >= extent || right < 0 || right >= extent
                || !named.insert(index).second
                || !same(valueAt(index), valueAt(right), tolerance, scale)) {
                mismatch(out, flat, expected[flat], mine[flat]);
            }
        }
    }
    return out;
}

Result<Deviation> compareSets(const TensorView& got, const TensorView& golden, double scale)
{
    if (partsPerElement(got.info.dtype) != 1 || got.info.elements() != golden.info.elements()) {
        return fail(ErrorCode::Unsupported, "sets are compared of real values");
    }
    auto mine = decoded(got);
    auto expected = decoded(golden);
    const std::size_t row =
        got.info.shape.empty() ? 1 : static_cast<std::size_t>(got.info.shape.back());
    for (std::size_t at = 0; row > 0 && at + row <= mine.size(); at += row) {
        const auto first = static_cast<std::ptrdiff_t>(at);
        const auto last = static_cast<std::ptrdiff_t>(at + row);
        std::sort(mine.begin() + first, mine.begin() + last, before);
        std::sort(expected.begin() + first, expected.begin() + last, before);
    }
    if (!comparedExactly(got.info.dtype)) {
        return compareWithGolden(DType::Float64,
                                 std::as_bytes(std::span<const double>(mine)),
                                 DType::Float64,
                                 std::as_bytes(std::span<const double>(expected)),
                                 scale);
    }
    Deviation out;
    out.elements = got.info.elements();
    for (std::size_t i = 0; i < mine.size(); ++i) {
        if (mine[i] != expected[i]) {
            mismatch(out, i, expected[i], mine[i]);
        }
    }
    return out;
}

Result<Deviation> compareCodes(const TensorView& got, const TensorView& golden)
{
    const DType dtype = got.info.dtype;
    const bool known = dtype == DType::Int8 || dtype == DType::UInt8 || dtype == DType::Float8E4M3
                       || dtype == DType::Float8E5M2;
    if (!known || golden.info.dtype != dtype || got.bytes.size() != golden.bytes.size()) {
        return fail(ErrorCode::Unsupported, "codes are compared of 8-bit integers and float8");
    }
    const auto mine = decoded(got);
    const auto expected = decoded(golden);
    Deviation out;
    out.elements = got.info.elements();
    for (std::size_t i = 0; i < mine.size(); ++i) {
        const int steps = std::abs(ordinal(dtype, got.bytes[i]) - ordinal(dtype, golden.bytes[i]));
        const bool odd = std::isnan(mine[i]) != std::isnan(expected[i])
                         || std::isinf(mine[i]) != std::isinf(expected[i]);
        if (steps > 1 || odd) {
            mismatch(out, i, expected[i], mine[i]);
        } else if (steps == 1) {
            ++out.nearMisses;
            out.maxAbs = std::max(out.maxAbs, std::abs(mine[i] - expected[i]));
        }
    }
    return out;
}

} // namespace lathe::worker
