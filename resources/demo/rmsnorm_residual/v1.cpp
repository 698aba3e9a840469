// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/kernel.h>

#include <cmath>
#include <initializer_list>

// One row: add, keep the sum in h, take the sum of squares on the way, then scale.
template <class T>
static void normaliseRow(
    const T* x, const T* residual, const T* weight, T* y, T* h, std::int64_t width, float eps)
{
    // Partial sums side by side, so that the compiler can use whole vectors.
    constexpr std::int64_t kBlock = 32;
    float sums[kBlock] = {};
    for (std::int64_t i = 0; i + kBlock <= width; i += kBlock) {
        for (std::int64_t k = 0; k < kBlock; ++k) {
            h[i + k] = T(float(x[i + k]) + float(residual[i + k]));
            const float value = float(h[i + k]);
            sums[k] += value * value;
        }
    }
    float sum = 0;
    for (const float s : sums)
        sum += s;
    const float scale = 1.0f / std::sqrt(sum / float(width) + eps);
    for (std::int64_t i = 0; i < width; ++i)
        y[i] = T(float(h[i]) * scale * float(weight[i]));
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
    const std::int64_t rows = x.numel() / width;
    for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = r * width;
        normaliseRow(x.data<T>() + at,
                     residual.data<T>() + at,
                     weight.data<T>(),
                     y.data<T>() + at,
                     h.data<T>() + at,
                     width,
                     float(eps));
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
        lathe::check(t->contiguous() && t->numel() == x.numel() && t->dtype() == x.dtype(),
                     "tensors must be contiguous and alike");
    lathe::check(weight.dtype() == x.dtype() && x.size(-1) == weight.size(0),
                 "weight must match the rows");
    if (x.dtype() == lathe::DType::BFloat16)
        normalise<lathe::BFloat16>(x, residual, weight, y, h, eps);
    else
        normalise<float>(x, residual, weight, y, h, eps);
}

LATHE_EXPORT(rmsnorm_residual, rmsnormResidual)
