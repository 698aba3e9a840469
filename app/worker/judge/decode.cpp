// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "decode.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace lathe::worker {
namespace {

using protocol::DType;

/// The value of a small float with the given fields. E4M3FN has no infinities: only all ones is
/// NaN.
double smallFloat(std::uint32_t bits, int exponentBits, int mantissaBits, bool finiteOnly)
{
    const auto mantissaMask = (1u << mantissaBits) - 1;
    const auto exponentMask = (1u << exponentBits) - 1;
    const std::uint32_t mantissa = bits & mantissaMask;
    const std::uint32_t exponent = (bits >> mantissaBits) & exponentMask;
    const double sign = ((bits >> (exponentBits + mantissaBits)) & 1) != 0 ? -1.0 : 1.0;
    const int bias = (1 << (exponentBits - 1)) - 1;
    if (exponent == exponentMask) {
        if (finiteOnly ? mantissa == mantissaMask : mantissa != 0) {
            return std::numeric_limits<double>::quiet_NaN();
        }
        if (!finiteOnly) {
            return sign * std::numeric_limits<double>::infinity();
        }
    }
    const double fraction = std::ldexp(static_cast<double>(mantissa), -mantissaBits);
    return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias)
                         : sign * std::ldexp(1.0 + fraction, static_cast<int>(exponent) - bias);
}

std::vector<double> table(int bits, int exponentBits, bool finiteOnly)
{
    std::vector<double> values(std::size_t{1} << bits);
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = smallFloat(
            static_cast<std::uint32_t>(i), exponentBits, bits - 1 - exponentBits, finiteOnly);
    }
    return values;
}

template <class T, class Convert>
void each(std::span<const std::byte> bytes,
          std::size_t first,
          std::span<double> out,
          Convert convert)
{
    const std::byte* source = bytes.data() + first * sizeof(T);
    for (std::size_t i = 0; i < out.size(); ++i) {
        T value;
        std::memcpy(&value, source + i * sizeof(T), sizeof(T));
        out[i] = convert(value);
    }
}

template <class T>
void eachNumber(std::span<const std::byte> bytes, std::size_t first, std::span<double> out)
{
    each<T>(bytes, first, out, [](T value) { return static_cast<double>(value); });
}

} // namespace

std::size_t partsPerElement(DType dtype)
{
    return dtype == DType::Complex64 || dtype == DType::Complex128 ? 2 : 1;
}

void decode(DType dtype, std::span<const std::byte> bytes, std::size_t first, std::span<double> out)
{
    static const std::vector<double> kHalf = table(16, 5, false);
    static const std::vector<double> kE4m3 = table(8, 4, true);
    static const std::vector<double> kE5m2 = table(8, 5, false);
    switch (dtype) {
    case DType::Bool:
        return each<std::uint8_t>(
            bytes, first, out, [](std::uint8_t v) { return v != 0 ? 1.0 : 0.0; });
    case DType::UInt8:
        return eachNumber<std::uint8_t>(bytes, first, out);
    case DType::Int8:
        return eachNumber<std::int8_t>(bytes, first, out);
    case DType::Int16:
        return eachNumber<std::int16_t>(bytes, first, out);
    case DType::Int32:
        return eachNumber<std::int32_t>(bytes, first, out);
    case DType::Int64:
        return eachNumber<std::int64_t>(bytes, first, out);
    case DType::BFloat16:
        return each<std::uint16_t>(bytes, first, out, [](std::uint16_t v) {
            return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(v) << 16));
        });
    case DType::Float16:
        return each<std::uint16_t>(bytes, first, out, [](std::uint16_t v) { return kHalf[v]; });
    case DType::Float8E4M3:
        return each<std::uint8_t>(bytes, first, out, [](std::uint8_t v) { return kE4m3[v]; });
    case DType::Float8E5M2:
        return each<std::uint8_t>(bytes, first, out, [](std::uint8_t v) { return kE5m2[v]; });
    case DType::Float32:
    case DType::Complex64:
        return eachNumber<float>(bytes, first, out);
    case DType::Float64:
    case DType::Complex128:
        return eachNumber<double>(bytes, first, out);
    }
}

FloatFacts floatFacts(DType dtype)
{
    switch (dtype) {
    case DType::Float16:
        return {65504.0, 0x1p-11};
    case DType::BFloat16:
        return {0x1.fep127, 0x1p-8};
    case DType::Float32:
    case DType::Complex64:
        return {std::numeric_limits<float>::max(), 0x1p-24};
    case DType::Float64:
    case DType::Complex128:
        return {std::numeric_limits<double>::max(), 0x1p-53};
    case DType::Float8E4M3:
        return {448.0, 0x1p-4};
    case DType::Float8E5M2:
        return {57344.0, 0x1p-3};
    default:
        return {};
    }
}

} // namespace lathe::worker
