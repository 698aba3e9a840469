// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/kernel.h>

#include <cmath>
#include <cstring>
#include <initializer_list>
#include <vector>

// bfloat16 by its bits, without branches, so that the loops below become whole vectors. Rounds to
// nearest even as torch does; a NaN keeps its upper bits and a set quiet bit.
struct Bfloat
{
    using Bits = std::uint16_t;
    static float load(Bits bits)
    {
        const std::uint32_t word = std::uint32_t{bits} << 16;
        float value;
        std::memcpy(&value, &word, sizeof value);
        return value;
    }
    static Bits store(float value)
    {
        std::uint32_t word;
        std::memcpy(&word, &value, sizeof word);
        const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
        const std::uint32_t nan = (word >> 16) | 0x40u;
        return static_cast<Bits>((word & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
    }
};

struct Float
{
    using Bits = float;
    static float load(float value) { return value; }
    static float store(float value) { return value; }
};

// h = x + residual; y = rmsnorm(h) * weight. A row is read from memory once: its sum is kept as
// float in a buffer that stays in the first-level cache, and the second loop reads only that.
template <class Kind, class Bits = typename Kind::Bits>
static void normaliseRow(const Bits* __restrict x,
                         const Bits* __restrict residual,
                         const float* __restrict weight,
                         Bits* __restrict y,
                         Bits* __restrict h,
                         float* __restrict row,
                         std::int64_t width,
                         double eps)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < width; ++i) { // the compiler makes the tail
        const Bits rounded = Kind::store(Kind::load(x[i]) + Kind::load(residual[i]));
        const float value = Kind::load(rounded); // the reference normalises the rounded sum
        h[i] = rounded;
        row[i] = value;
        sum += value * value;
    }
    const float scale =
        static_cast<float>(1.0 / std::sqrt(double{sum} / static_cast<double>(width) + eps));
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i)
        y[i] = Kind::store(row[i] * scale * weight[i]);
}

template <class Kind, class Bits = typename Kind::Bits>
static void normalise(const lathe::Tensor& x,
                      const lathe::Tensor& residual,
                      const lathe::Tensor& weight,
                      const lathe::Tensor& y,
                      const lathe::Tensor& h,
                      double eps)
{
    const std::int64_t width = weight.size(0);
    const std::int64_t rows = width == 0 ? 0 : x.numel() / width;
    const auto bits = [](const lathe::Tensor& t) { return static_cast<Bits*>(t.data<void>()); };
    const Bits* const from = bits(x);
    const Bits* const other = bits(residual);
    Bits* const scaled = bits(y);
    Bits* const added = bits(h);
    std::vector<float> wide(static_cast<std::size_t>(width)); // converted once, not once a row
    for (std::int64_t i = 0; i < width; ++i)
        wide[static_cast<std::size_t>(i)] = Kind::load(bits(weight)[i]);
        // A team costs several microseconds: not for a few rows.
#pragma omp parallel if (rows > 1 && x.numel() > (1 << 14))
    {
        std::vector<float> row(static_cast<std::size_t>(width));
#pragma omp for schedule(static)
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t at = r * width;
            normaliseRow<Kind>(from + at,
                               other + at,
                               wide.data(),
                               scaled + at,
                               added + at,
                               row.data(),
                               width,
                               eps);
        }
    }
}

static void rmsnormResidual(lathe::Tensor x,
                            lathe::Tensor residual,
                            lathe::Tensor weight,
                            lathe::Tensor y,
                            lathe::Tensor h,
                            double eps)
{
    lathe::check(x.dtype() == lathe::DType::BFloat16 || x.dtype() == lathe::DType::Float32,
                 "bfloat16 or float32 only");
    for (const lathe::Tensor* t : {&x, &residual, &y, &h})
        lathe::check(t->isContiguous() && t->numel() == x.numel() && t->dtype() == x.dtype(),
                     "tensors must be contiguous and alike");
    lathe::check(weight.isContiguous() && weight.dtype() == x.dtype()
                     && x.size(-1) == weight.size(0),
                 "weight must match the rows");
    if (x.dtype() == lathe::DType::BFloat16)
        normalise<Bfloat>(x, residual, weight, y, h, eps);
    else
        normalise<Float>(x, residual, weight, y, h, eps);
}

LATHE_EXPORT(rmsnorm_residual, rmsnormResidual)
