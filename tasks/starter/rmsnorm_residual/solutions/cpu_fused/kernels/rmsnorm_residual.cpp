// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// h = x + residual; y = rmsnorm(h) * weight, one visit per row: the sum of squares is taken while
// the row is added up and kept as float32 in a buffer that stays in the first-level cache; the
// second loop reads that buffer only.
#include <lathe/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8; // one AVX2 register; split by the compiler where there is none
#endif
typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef std::uint16_t Halves __attribute__((vector_size(kLanes * 2)));

// Above this many bytes of operands the results are written past the cache, which saves reading the
// lines they overwrite.
constexpr std::int64_t kStreamBytes = 32ll << 20;
// Below this, waking another thread costs more than it saves.
constexpr std::int64_t kParallelBytes = 128ll << 10;

struct Bfloat
{
    using Element = std::uint16_t;
    using Packed = Halves;
    static Floats load(const Element* from)
    {
        Halves halves;
        std::memcpy(&halves, from, sizeof halves);
        return widen(halves);
    }
    static Floats widen(Halves halves)
    {
#if defined(__AVX512F__)
        const auto words =
            reinterpret_cast<Words>(_mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(halves)));
#elif defined(__AVX2__)
        const auto words =
            reinterpret_cast<Words>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(halves)));
#else
        const auto words = __builtin_convertvector(halves, Words);
#endif
        return reinterpret_cast<Floats>(words << 16);
    }
    /// Round to nearest, ties to even.
    static Packed pack(Floats value)
    {
        const Words bits = reinterpret_cast<Words>(value);
        const Words high = bits >> 16;
        const Words rounded = (bits + ((high & 1u) + 0x7fffu)) >> 16;
        // Rounding could carry a NaN's payload away; keep it a NaN.
        const Words words = value == value ? rounded : (high | 0x40u);
#if defined(__AVX512F__)
        return reinterpret_cast<Packed>(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(words)));
#elif defined(__AVX2__)
        const auto wide =
            reinterpret_cast<__m256i>(words); // every word is below 65536: nothing saturates
        return reinterpret_cast<Packed>(
            _mm_packus_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1)));
#else
        return __builtin_convertvector(words, Halves);
#endif
    }
};

struct Float
{
    using Element = float;
    using Packed = Floats;
    static Floats load(const Element* from)
    {
        Floats value;
        std::memcpy(&value, from, sizeof value);
        return value;
    }
    static Floats widen(Floats value) { return value; }
    static Packed pack(Floats value) { return value; }
};

template <class Vector>
void storePlain(void* to, Vector value)
{
    std::memcpy(to, &value, sizeof value);
}

template <class Vector>
void storePast(void* to, Vector value)
{
#if defined(__AVX512F__)
    if constexpr (sizeof value == 64) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), reinterpret_cast<__m512i>(value));
        return;
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof value == 32) {
        _mm256_stream_si256(reinterpret_cast<__m256i*>(to), reinterpret_cast<__m256i>(value));
        return;
    }
#endif
#if defined(__SSE2__)
    if constexpr (sizeof value == 16) {
        _mm_stream_si128(reinterpret_cast<__m128i*>(to), reinterpret_cast<__m128i>(value));
        return;
    }
#endif
    storePlain(to, value);
}

float sumLanes(Floats value)
{
    float sum = 0;
    for (int i = 0; i < kLanes; ++i)
        sum += value[i];
    return sum;
}

template <class Kind, bool kStream>
void normaliseRow(const typename Kind::Element* x,
                  const typename Kind::Element* residual,
                  const float* weight,
                  typename Kind::Element* y,
                  typename Kind::Element* h,
                  float* row,
                  std::int64_t width,
                  double eps)
{
    using Element = typename Kind::Element;
    const auto store = [](Element* to, typename Kind::Packed packed) {
        if constexpr (kStream)
            storePast(to, packed);
        else
            storePlain(to, packed);
    };
    Floats sums[4] =
        {}; // independent chains: one would be bound by the latency of the multiply-add
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= width; i += 4 * kLanes) {
        for (int k = 0; k < 4; ++k) {
            const std::int64_t at = i + k * kLanes;
            const auto packed = Kind::pack(Kind::load(x + at) + Kind::load(residual + at));
            const Floats value = Kind::widen(packed); // the reference normalises the rounded sum
            sums[k] += value * value;
            std::memcpy(row + at, &value, sizeof value);
            store(h + at, packed);
        }
    }
    for (; i < width; i += kLanes) { // the rest, the last vector padded with zeros
        const auto bytes =
            static_cast<std::size_t>(std::min<std::int64_t>(kLanes, width - i)) * sizeof(Element);
        Element left[kLanes] = {}, right[kLanes] = {};
        std::memcpy(left, x + i, bytes);
        std::memcpy(right, residual + i, bytes);
        const auto packed = Kind::pack(Kind::load(left) + Kind::load(right));
        const Floats value = Kind::widen(packed);
        sums[0] += value * value;
        std::memcpy(row + i, &value, sizeof value);
        std::memcpy(h + i, &packed, bytes);
    }
    const double square = sumLanes((sums[0] + sums[1]) + (sums[2] + sums[3]));
    const Floats scale =
        Floats{} + static_cast<float>(1.0 / std::sqrt(square / static_cast<double>(width) + eps));
    for (i = 0; i + kLanes <= width; i += kLanes)
        store(y + i, Kind::pack(Float::load(row + i) * scale * Float::load(weight + i)));
    if (i < width) {
        const auto packed = Kind::pack(Float::load(row + i) * scale * Float::load(weight + i));
        std::memcpy(y + i, &packed, static_cast<std::size_t>(width - i) * sizeof(Element));
    }
}

template <class Kind>
void normalise(const void* xData,
               const void* residualData,
               const void* weightData,
               void* yData,
               void* hData,
               std::int64_t rows,
               std::int64_t width,
               double eps)
{
    using Element = typename Kind::Element;
    const auto* x = static_cast<const Element*>(xData);
    const auto* residual = static_cast<const Element*>(residualData);
    auto* y = static_cast<Element*>(yData);
    auto* h = static_cast<Element*>(hData);

    const std::int64_t padded = (width + kLanes - 1) / kLanes * kLanes;
    std::vector<float> weight(static_cast<std::size_t>(padded), 0.0f);
    for (std::int64_t i = 0; i < width; ++i) {
        if constexpr (sizeof(Element) == 2) {
            const std::uint32_t bits =
                std::uint32_t{static_cast<const std::uint16_t*>(weightData)[i]} << 16;
            std::memcpy(&weight[static_cast<std::size_t>(i)], &bits, sizeof bits);
        } else {
            weight[static_cast<std::size_t>(i)] = static_cast<const float*>(weightData)[i];
        }
    }
    const std::int64_t bytes = 4 * rows * width * static_cast<std::int64_t>(sizeof(Element));
    // Streaming stores need every vector aligned: aligned bases and rows of whole vectors.
    const auto aligned = [](const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % (kLanes * sizeof(Element)) == 0;
    };
    const bool stream = bytes > kStreamBytes && width % kLanes == 0 && aligned(y) && aligned(h);

#pragma omp parallel if (bytes > kParallelBytes && rows > 1)
    {
        std::vector<float> row(static_cast<std::size_t>(padded));
#pragma omp for schedule(static)
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t at = r * width;
            if (stream)
                normaliseRow<Kind, true>(
                    x + at, residual + at, weight.data(), y + at, h + at, row.data(), width, eps);
            else
                normaliseRow<Kind, false>(
                    x + at, residual + at, weight.data(), y + at, h + at, row.data(), width, eps);
        }
#if defined(__SSE2__)
        if (stream)
            _mm_sfence(); // streaming stores are weakly ordered
#endif
    }
}

void rmsnormResidual(const lathe::Tensor& x,
                     const lathe::Tensor& residual,
                     const lathe::Tensor& weight,
                     const lathe::Tensor& y,
                     const lathe::Tensor& h,
                     double eps)
{
    lathe::check(x.ndim() >= 1 && weight.ndim() == 1 && x.size(x.ndim() - 1) == weight.size(0),
                 "rmsnorm_residual: the weight must be as long as the last dimension of x");
    for (const lathe::Tensor* other : {&residual, &y, &h})
        lathe::check(other->numel() == x.numel(),
                     "rmsnorm_residual: x, residual, y and h must have the same shape");
    for (const lathe::Tensor* tensor : {&x, &residual, &weight, &y, &h})
        lathe::check(tensor->isContiguous() && tensor->dtype() == x.dtype(),
                     "rmsnorm_residual: every tensor must be contiguous and of the dtype of x");
    const std::int64_t width = weight.size(0);
    const std::int64_t rows = width == 0 ? 0 : x.numel() / width;
    const auto run = x.dtype() == lathe::DType::BFloat16 ? normalise<Bfloat> : normalise<Float>;
    lathe::check(x.dtype() == lathe::DType::BFloat16 || x.dtype() == lathe::DType::Float32,
                 "rmsnorm_residual: only bfloat16 and float32 are supported");
    run(x.data<void>(),
        residual.data<void>(),
        weight.data<void>(),
        y.data<void>(),
        h.data<void>(),
        rows,
        width,
        eps);
}

} // namespace

LATHE_EXPORT(rmsnorm_residual, rmsnormResidual)
