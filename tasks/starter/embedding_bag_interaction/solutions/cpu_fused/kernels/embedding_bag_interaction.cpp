// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// One visit per sample: its bags are summed into a small matrix in the first-level cache, whose
// rows are then multiplied with each other in blocks of pairs; only the result leaves. The rows of
// a later bag are prefetched while one is summed.
#include <lathe/kernel.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kMostVectors = 8; // of a row, summed in registers
#else
constexpr int kLanes = 8;
constexpr int kMostVectors = 4;
#endif
// A block of pairs: as many as there are lanes, so that their sums are one vector.
constexpr int kBlockColumns = 4;
constexpr int kBlockRows = kLanes / kBlockColumns;
typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef std::int32_t Ints __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef std::uint16_t Halves __attribute__((vector_size(kLanes * 2)));

// Rows that should be on their way while one is added.
constexpr std::int64_t kRowsAhead = 16;
constexpr std::int64_t kLine = 64;
// Below this, waking another thread costs more than it saves.
constexpr std::int64_t kParallelBytes = 256ll << 10;

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
    /// The first elements only, count below kLanes; zeros behind them.
    static Floats loadPart(const Element* from, std::int64_t count)
    {
#if defined(__AVX512F__)
        const auto mask = static_cast<__mmask16>((1u << count) - 1u);
        return reinterpret_cast<Floats>(_mm512_maskz_loadu_ps(mask, from));
#else
        Element room[kLanes] = {};
        std::memcpy(room, from, static_cast<std::size_t>(count) * sizeof(Element));
        return load(room);
#endif
    }
    static Packed pack(Floats value)
    {
        return value;
    }
};

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
    static Floats loadPart(const Element* from, std::int64_t count)
    {
#if defined(__AVX512BW__) && defined(__AVX512VL__)
        const auto mask = static_cast<__mmask16>((1u << count) - 1u);
        return widen(reinterpret_cast<Halves>(_mm256_maskz_loadu_epi16(mask, from)));
#else
        Element room[kLanes] = {};
        std::memcpy(room, from, static_cast<std::size_t>(count) * sizeof(Element));
        return load(room);
#endif
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
#else
        return __builtin_convertvector(words, Halves);
#endif
    }
};

struct Problem
{
    const void* weight;
    const void* dense;
    const std::int64_t* indices;
    const std::int64_t* offsets;
    void* out;
    std::int64_t tables, rows, width, batch, lookups;
};

/// A bag: where its lookups begin, and how many they are.
struct Bag
{
    const char* table;
    const std::int64_t* indices;
    std::int64_t count;
};

template <class Element>
Bag bagOf(const Problem& p, std::int64_t table, std::int64_t sample)
{
    const std::int64_t* offsets = p.offsets + table * (p.batch + 1) + sample;
    // Offsets outside, or that fall, end as empty bags.
    const std::int64_t begin = std::clamp<std::int64_t>(offsets[0], 0, p.lookups);
    const std::int64_t end = std::clamp<std::int64_t>(offsets[1], begin, p.lookups);
    return {static_cast<const char*>(p.weight)
                + table * p.rows * p.width * static_cast<std::int64_t>(sizeof(Element)),
            p.indices + table * p.lookups + begin,
            end - begin};
}

struct Pooling
{
    std::int64_t rows;
    std::int64_t width;
    std::int64_t column; ///< the first one that is summed
    std::int64_t tail;   ///< elements in the last vector
    float* to;
    Bag bag;
    Bag ahead;
};

void prefetchRow(const char* row, std::int64_t bytes)
{
    for (std::int64_t i = 0; i < bytes; i += kLine)
        __builtin_prefetch(row + i, 0, 3);
    if (bytes % kLine != 0)
        __builtin_prefetch(row + bytes - 1, 0, 3);
}

/// Sums kVectors vectors of each row of the bag. False: an index is outside, and its row left out.
template <class Kind, int kVectors, bool kWhole>
bool pool(const Pooling& p)
{
    using Element = typename Kind::Element;
    const auto bytes = p.width * static_cast<std::int64_t>(sizeof(Element));
    const auto rows = static_cast<std::uint64_t>(p.rows);
    Floats sums[kVectors] = {};
    bool inside = true;
    for (std::int64_t i = 0; i < p.bag.count; ++i) {
        if (i < p.ahead.count && static_cast<std::uint64_t>(p.ahead.indices[i]) < rows)
            prefetchRow(p.ahead.table + p.ahead.indices[i] * bytes, bytes);
        const std::int64_t index = p.bag.indices[i];
        if (static_cast<std::uint64_t>(index) >= rows) {
            inside = false;
            continue;
        }
        const auto* row = reinterpret_cast<const Element*>(p.bag.table + index * bytes) + p.column;
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v)
            sums[v] += kWhole || v + 1 < kVectors ? Kind::load(row + v * kLanes)
                                                  : Kind::loadPart(row + v * kLanes, p.tail);
    }
    for (std::int64_t i = p.bag.count; i < p.ahead.count; ++i)
        if (static_cast<std::uint64_t>(p.ahead.indices[i]) < rows)
            prefetchRow(p.ahead.table + p.ahead.indices[i] * bytes, bytes);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
        std::memcpy(p.to + p.column + v * kLanes, &sums[v], sizeof sums[v]);
    return inside;
}

using Pool = bool (*)(const Pooling&);

template <class Kind, int kVectors>
Pool poolOf(std::int64_t vectors, bool whole)
{
    if constexpr (kVectors > 1)
        if (vectors < kVectors)
            return poolOf<Kind, kVectors - 1>(vectors, whole);
    return whole ? pool<Kind, kVectors, true> : pool<Kind, kVectors, false>;
}

/// The sums over the lanes of as many vectors as there are lanes.
Floats sumEach(const Floats (&values)[kLanes])
{
#if defined(__AVX512F__)
    const auto at = [&](int i) { return reinterpret_cast<__m512>(values[i]); };
    __m512 eight[8], four[4], two[2];
    // Halves of two vectors side by side, then quarters of four, and so on.
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
        const __m512 a = at(i < 4 ? i : i + 4), b = at(i < 4 ? i + 4 : i + 8);
        eight[i] =
            _mm512_add_ps(_mm512_mask_blend_ps(0xff00, a, b), _mm512_shuffle_f32x4(a, b, 0x4e));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
        four[i] = _mm512_add_ps(_mm512_shuffle_f32x4(eight[i], eight[i + 4], 0x88),
                                _mm512_shuffle_f32x4(eight[i], eight[i + 4], 0xdd));
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i)
        two[i] = _mm512_add_ps(_mm512_unpacklo_ps(four[i], four[i + 2]),
                               _mm512_unpackhi_ps(four[i], four[i + 2]));
    return reinterpret_cast<Floats>(
        _mm512_add_ps(_mm512_unpacklo_ps(two[0], two[1]), _mm512_unpackhi_ps(two[0], two[1])));
#else
    Floats out = {};
    for (int i = 0; i < kLanes; ++i) {
        float sum = 0;
        for (int lane = 0; lane < kLanes; ++lane)
            sum += values[i][lane];
        out[i] = sum;
    }
    return out;
#endif
}

/// The dot products of all pairs of rows, row by row, each with the rows behind it.
void interact(const float* vectors, std::int64_t count, std::int64_t padded, float* to)
{
    const auto place = [&](std::int64_t i, std::int64_t j) {
        return i * (2 * count - i - 1) / 2 + j - i - 1;
    };
    for (std::int64_t top = 0; top < count; top += kBlockRows) {
        for (std::int64_t left = top / kBlockColumns * kBlockColumns; left < count;
             left += kBlockColumns) {
            Floats products[kLanes] = {};
            const float* above = vectors + top * padded;
            const float* beside = vectors + left * padded;
            for (std::int64_t d = 0; d < padded; d += kLanes) {
                Floats columns[kBlockColumns];
#pragma GCC unroll 4
                for (int c = 0; c < kBlockColumns; ++c)
                    columns[c] = Float::load(beside + c * padded + d);
#pragma GCC unroll 4
                for (int r = 0; r < kBlockRows; ++r) {
                    const Floats row = Float::load(above + r * padded + d);
#pragma GCC unroll 4
                    for (int c = 0; c < kBlockColumns; ++c)
                        products[r * kBlockColumns + c] += row * columns[c];
                }
            }
            const Floats sums = sumEach(products);
            for (int r = 0; r < kBlockRows; ++r) {
                const std::int64_t i = top + r;
                const float* own = reinterpret_cast<const float*>(&sums) + r * kBlockColumns;
                if (i < left && left + kBlockColumns <= count) {
                    std::memcpy(to + place(i, left), own, kBlockColumns * sizeof(float));
                    continue;
                }
                for (int c = 0; c < kBlockColumns; ++c)
                    if (left + c > i && left + c < count)
                        to[place(i, left + c)] = own[c];
            }
        }
    }
}

template <class Kind>
void store(typename Kind::Element* to, const float* from, std::int64_t count)
{
    std::int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        const auto packed = Kind::pack(Float::load(from + i));
        std::memcpy(to + i, &packed, sizeof packed);
    }
    if (i < count) { // `from` has room for a whole vector
        const auto packed = Kind::pack(Float::load(from + i));
        std::memcpy(
            to + i, &packed, static_cast<std::size_t>(count - i) * sizeof(typename Kind::Element));
    }
}

/// Samples from `first` to before `last`. False: some index is outside its table.
template <class Kind>
bool visit(const Problem& p, std::int64_t first, std::int64_t last)
{
    using Element = typename Kind::Element;
    const std::int64_t vectors = p.tables + 1;
    const std::int64_t pairs = vectors * p.tables / 2;
    const std::int64_t padded = (p.width + kLanes - 1) / kLanes * kLanes;
    const std::int64_t paddedVectors =
        (vectors + kBlockColumns - 1) / kBlockColumns * kBlockColumns;
    std::vector<float> room(static_cast<std::size_t>(paddedVectors * padded + pairs + 2 * kLanes),
                            0.0f);
    float* matrix = room.data();
    matrix += (kLine - reinterpret_cast<std::uintptr_t>(matrix) % kLine) % kLine / sizeof(float);
    float* const products = matrix + paddedVectors * padded;

    // Which bag is prefetched: counted in bags of one sample after the other.
    const std::int64_t bagsAhead = std::clamp<std::int64_t>(
        kRowsAhead * p.batch / std::max<std::int64_t>(p.lookups, 1), 1, kRowsAhead);
    std::int64_t tableAhead = bagsAhead % std::max<std::int64_t>(p.tables, 1);
    std::int64_t sampleAhead = first + bagsAhead / std::max<std::int64_t>(p.tables, 1);

    bool inside = true;
    for (std::int64_t sample = first; sample < last; ++sample) {
        const auto* dense = static_cast<const Element*>(p.dense) + sample * p.width;
        auto* out = static_cast<Element*>(p.out) + sample * (p.width + pairs);
        for (std::int64_t d = 0; d < p.width; d += kLanes) {
            const std::int64_t count = std::min<std::int64_t>(kLanes, p.width - d);
            const Floats value =
                count == kLanes ? Kind::load(dense + d) : Kind::loadPart(dense + d, count);
            std::memcpy(matrix + d, &value, sizeof value);
        }
        std::memcpy(out, dense, static_cast<std::size_t>(p.width) * sizeof(Element));
        for (std::int64_t table = 0; table < p.tables; ++table) {
            Pooling pooling{};
            pooling.rows = p.rows;
            pooling.width = p.width;
            pooling.to = matrix + (table + 1) * padded;
            pooling.bag = bagOf<Element>(p, table, sample);
            if (sampleAhead < last)
                pooling.ahead = bagOf<Element>(p, tableAhead, sampleAhead);
            if (++tableAhead == p.tables) {
                tableAhead = 0;
                ++sampleAhead;
            }
            while (pooling.column < p.width) {
                const std::int64_t left = p.width - pooling.column;
                const std::int64_t count =
                    std::min<std::int64_t>(kMostVectors, (left + kLanes - 1) / kLanes);
                pooling.tail = std::min<std::int64_t>(kLanes, left - (count - 1) * kLanes);
                inside &= poolOf<Kind, kMostVectors>(count, pooling.tail == kLanes)(pooling);
                pooling.column += count * kLanes;
                pooling.ahead.count = 0;
            }
        }
        interact(matrix, vectors, padded, products);
        store<Kind>(out + p.width, products, pairs);
    }
    return inside;
}

template <class Kind>
bool run(const Problem& p)
{
    const auto bytes =
        p.tables * p.lookups * p.width * static_cast<std::int64_t>(sizeof(typename Kind::Element));
    if (bytes <= kParallelBytes)
        return visit<Kind>(p, 0, p.batch);
    std::atomic<bool> inside{true};
#pragma omp parallel
    {
#if defined(_OPENMP)
        const std::int64_t thread = omp_get_thread_num();
        const std::int64_t threads = omp_get_num_threads();
#else
        const std::int64_t thread = 0;
        const std::int64_t threads = 1;
#endif
        if (!visit<Kind>(p, p.batch * thread / threads, p.batch * (thread + 1) / threads))
            inside = false;
    }
    return inside;
}

void embeddingBagInteraction(const lathe::Tensor& weight,
                             const lathe::Tensor& dense,
                             const lathe::Tensor& indices,
                             const lathe::Tensor& offsets,
                             const lathe::Tensor& out)
{
    lathe::check(weight.ndim() == 2 && dense.ndim() == 2 && indices.ndim() == 2
                     && offsets.ndim() == 2 && out.ndim() == 2,
                 "embedding_bag_interaction: every tensor must have two dimensions");
    for (const lathe::Tensor* tensor : {&weight, &dense, &indices, &offsets, &out})
        lathe::check(tensor->isCpu() && tensor->isContiguous(),
                     "embedding_bag_interaction: every tensor must be contiguous and on the CPU");
    const std::int64_t tables = indices.size(0);
    lathe::check(
        tables > 0 && weight.size(0) % tables == 0 && weight.size(1) == dense.size(1),
        "embedding_bag_interaction: weight must be tables of equal length, as wide as dense");
    lathe::check(offsets.size(0) == tables && offsets.size(1) == dense.size(0) + 1,
                 "embedding_bag_interaction: offsets must be tables by batch + 1");
    lathe::check(out.size(0) == dense.size(0)
                     && out.size(1) == dense.size(1) + tables * (tables + 1) / 2,
                 "embedding_bag_interaction: out must hold dense and one product a pair");
    lathe::check(
        weight.dtype() == dense.dtype() && weight.dtype() == out.dtype()
            && (weight.dtype() == lathe::DType::Float32
                || weight.dtype() == lathe::DType::BFloat16),
        "embedding_bag_interaction: weight, dense and out must all be float32 or bfloat16");
    const Problem problem{weight.data<void>(),
                          dense.data<void>(),
                          indices.data<std::int64_t>(),
                          offsets.data<std::int64_t>(),
                          out.data<void>(),
                          tables,
                          weight.size(0) / tables,
                          dense.size(1),
                          dense.size(0),
                          indices.size(1)};
    const bool inside =
        weight.dtype() == lathe::DType::Float32 ? run<Float>(problem) : run<Bfloat>(problem);
    lathe::check(inside, "embedding_bag_interaction: an index is outside its table");
}

} // namespace

LATHE_EXPORT(embedding_bag_interaction, embeddingBagInteraction)
