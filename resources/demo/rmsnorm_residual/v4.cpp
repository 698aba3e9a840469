// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/kernel.h>

#include <cmath>
#include <initializer_list>
#include <vector>

// h = x + residual; y = rmsnorm(h) * weight. A row is read from memory once: its sum is kept as
// float in a buffer that stays in the first-level cache, and the second loop reads only that.
template <class T>
static void normaliseRow(const T* __restrict x,
                         const T* __restrict residual,
                         const float* __restrict weight,
                         T* __restrict y,
                         T* __restrict h,
                         float* __restrict row,
                         std::int64_t width,
                         float eps)
{
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < width; ++i) { // the compiler makes the tail
        const T rounded = T(float(x[i]) + float(residual[i]));
        const float value = float(rounded); // the reference normalises the rounded sum
        h[i] = rounded;
        row[i] = value;
        sum += value * value;
    }
    const float scale = 1.0f / std::sqrt(sum / float(width) + eps);
#pragma omp simd
    for (std::int64_t i = 0; i < width; ++i)
        y[i] = T(row[i] * scale * weight[i]);
}

template <class T>
static void normalise(const lathe::Tensor& x,
                      const lathe::Tensor& residual,
                      const lathe::Tensor& weight,
                      const lathe::Tensor& y,
                      const lathe::Tensor& h,
                      double eps)
{
    const std::int64_t width = weight.size(0);
    const std::int64_t rows = width == 0 ? 0 : x.numel() / width;
    const T* const from = x.data<T>();
    const T* const other = residual.data<T>();
    T* const scaled = y.data<T>();
    T* const added = h.data<T>();
    const std::vector<float> wide(weight.data<T>(),
                                  weight.data<T>() + width); // converted once, not once a row
    // A team costs several microseconds: not for a few rows.
#pragma omp parallel if (rows > 1 && x.numel() > (1 << 14))
    {
        std::vector<float> row(static_cast<std::size_t>(width));
#pragma omp for schedule(static)
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t at = r * width;
            normaliseRow(from + at,
                         other + at,
                         wide.data(),
                         scaled + at,
                         added + at,
                         row.data(),
                         width,
                         float(eps));
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
    for (const lathe::Tensor* t : {&x, &residual, &y, &h})
        lathe::check(t->isContiguous() && t->numel() == x.numel() && t->dtype() == x.dtype(),
                     "tensors must be contiguous and alike");
    lathe::check(weight.isContiguous() && weight.dtype() == x.dtype()
                     && x.size(-1) == weight.size(0),
                 "weight must match the rows");
    if (x.dtype() == lathe::DType::BFloat16)
        normalise<lathe::BFloat16>(x, residual, weight, y, h, eps);
    else
        normalise<float>(x, residual, weight, y, h, eps);
}

LATHE_EXPORT(rmsnorm_residual, rmsnormResidual)
