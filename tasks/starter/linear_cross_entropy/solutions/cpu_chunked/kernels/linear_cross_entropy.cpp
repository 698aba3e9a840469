// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// mean(logsumexp(x W^T) - (x W^T)[label]) and its gradients, without the logits as a whole.
#include "float_way.h"
#include "tile_way.h"

#include <lathe/kernel.h>

namespace {

/// Floats of kept logits in the float32 way: what is worth a piece of rows.
constexpr std::int64_t kKeptFloats = 1 << 20;
constexpr std::int64_t kPieceRows = 256;

Problem problemOf(const lathe::Tensor& x, const lathe::Tensor& weight, const lathe::Tensor& labels)
{
    lathe::check(x.ndim() == 2 && weight.ndim() == 2 && labels.ndim() == 1
                     && x.size(1) == weight.size(1) && x.size(0) == labels.size(0),
                 "linear_cross_entropy: x is rows by hidden, the weight vocabulary by hidden, "
                 "labels one a row");
    lathe::check(x.dtype() == weight.dtype()
                     && (x.dtype() == lathe::DType::BFloat16 || x.dtype() == lathe::DType::Float32),
                 "linear_cross_entropy: only bfloat16 and float32 are supported");
    lathe::check(labels.dtype() == lathe::DType::Int64, "linear_cross_entropy: labels are int64");
    for (const lathe::Tensor* tensor : {&x, &weight, &labels})
        lathe::check(tensor->isContiguous() && tensor->isCpu(),
                     "linear_cross_entropy: every tensor must be contiguous and on the CPU");
    Problem problem{x.data<void>(),
                    weight.data<void>(),
                    labels.data<std::int64_t>(),
                    x.size(0),
                    x.size(1),
                    weight.size(0),
                    x.dtype() == lathe::DType::BFloat16};
    lathe::check(problem.rows > 0 && problem.hidden > 0 && problem.vocabulary > 0,
                 "linear_cross_entropy: nothing to average over");
    for (std::int64_t r = 0; r < problem.rows; ++r)
        lathe::check(problem.labels[r] >= 0 && problem.labels[r] < problem.vocabulary,
                     "linear_cross_entropy: a label lies outside the vocabulary");
    return problem;
}

float* floatsOf(const lathe::Tensor& tensor, std::int64_t count)
{
    lathe::check(tensor.isContiguous() && tensor.isCpu() && tensor.numel() == count,
                 "linear_cross_entropy: a result has another shape than it must have");
    return tensor.data<float>();
}

void checkGradients(const lathe::Tensor& x,
                    const lathe::Tensor& weight,
                    const lathe::Tensor& dx,
                    const lathe::Tensor& dw)
{
    lathe::check(dx.sameShape(x) && dw.sameShape(weight) && dx.dtype() == x.dtype()
                     && dw.dtype() == x.dtype() && dx.isContiguous() && dw.isContiguous()
                     && dx.isCpu() && dw.isCpu(),
                 "linear_cross_entropy: gradients must be like x and the weight");
}

std::int64_t pieceRows(const Problem& problem)
{
    const std::int64_t fit = kKeptFloats / problem.vocabulary / kStep * kStep;
    return std::clamp<std::int64_t>(fit, kStep, kPieceRows);
}

float meanLoss(const Problem& problem, const float* logSums, const std::vector<float>& labelLogits)
{
    double sum = 0;
    for (std::int64_t r = 0; r < problem.rows; ++r)
        sum += static_cast<double>(logSums[r]) - labelLogits[static_cast<std::size_t>(r)];
    return static_cast<float>(sum / static_cast<double>(problem.rows));
}

bool tilesFor(const Problem& problem)
{
#if USE_AMX
    return problem.halves && tile_way::allowed();
#else
    (void)problem;
    return false;
#endif
}

void loss(const lathe::Tensor& x,
          const lathe::Tensor& weight,
          const lathe::Tensor& labels,
          const lathe::Tensor& logSums,
          const lathe::Tensor& result)
{
    const Problem problem = problemOf(x, weight, labels);
    float* sums = floatsOf(logSums, problem.rows);
    float* out = floatsOf(result, 1);
    std::vector<float> labelLogits(static_cast<std::size_t>(problem.rows));
#if USE_AMX
    if (tilesFor(problem))
        tile_way::Way(problem, false).statistics(sums, labelLogits.data());
#endif
    if (!tilesFor(problem))
        float_way::Way(problem, kPieceRows, false).statistics(sums, labelLogits.data());
    *out = meanLoss(problem, sums, labelLogits);
}

void gradients(const lathe::Tensor& x,
               const lathe::Tensor& weight,
               const lathe::Tensor& labels,
               const lathe::Tensor& logSums,
               const lathe::Tensor& gradient,
               const lathe::Tensor& dx,
               const lathe::Tensor& dw)
{
    const Problem problem = problemOf(x, weight, labels);
    checkGradients(x, weight, dx, dw);
    const float* sums = floatsOf(logSums, problem.rows);
    const float scale = *floatsOf(gradient, 1) / static_cast<float>(problem.rows);
#if USE_AMX
    if (tilesFor(problem))
        tile_way::Way(problem, true)
            .gradients(sums,
                       scale,
                       static_cast<std::uint16_t*>(dx.data<void>()),
                       static_cast<std::uint16_t*>(dw.data<void>()));
#endif
    if (!tilesFor(problem))
        float_way::Way(problem, kPieceRows, true)
            .gradients(sums, scale, dx.data<void>(), dw.data<void>());
}

void lossAndGradients(const lathe::Tensor& x,
                      const lathe::Tensor& weight,
                      const lathe::Tensor& labels,
                      const lathe::Tensor& logSums,
                      const lathe::Tensor& result,
                      const lathe::Tensor& dx,
                      const lathe::Tensor& dw)
{
    const Problem problem = problemOf(x, weight, labels);
    lathe::check(!problem.halves, "loss_and_gradients: only float32 is supported");
    checkGradients(x, weight, dx, dw);
    float* sums = floatsOf(logSums, problem.rows);
    float* out = floatsOf(result, 1);
    std::vector<float> labelLogits(static_cast<std::size_t>(problem.rows));
    float_way::Way(problem, pieceRows(problem), true)
        .everything(sums,
                    labelLogits.data(),
                    1.0f / static_cast<float>(problem.rows),
                    dx.data<void>(),
                    dw.data<void>());
    *out = meanLoss(problem, sums, labelLogits);
}

/// The gradients, made for a gradient of 1 of the loss, times the real one.
void scale(const lathe::Tensor& gradient, const lathe::Tensor& dx, const lathe::Tensor& dw)
{
    const float factor = *floatsOf(gradient, 1);
    for (const lathe::Tensor* tensor : {&dx, &dw}) {
        const std::int64_t count = tensor->numel();
        float* values = floatsOf(*tensor, count);
#pragma omp parallel for simd schedule(static) if (count > 1 << 16)
        for (std::int64_t i = 0; i < count; ++i)
            values[i] *= factor;
    }
}

} // namespace

LATHE_EXPORT(loss, loss)
LATHE_EXPORT(gradients, gradients)
LATHE_EXPORT(loss_and_gradients, lossAndGradients)
LATHE_EXPORT(scale, scale)
