// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// Nearest key of every query. |q - k|^2 is smallest where q.k - |k|^2 / 2 is largest; that is
// computed as a matrix product in registers, queries in the lanes, and only its maximum over a
// group of keys is looked at: per lane the best value so far and the number of its group. The key
// inside the winning group, and its distance, are found afterwards by subtracting, which loses
// nothing to cancellation. Where rows are long, noting the key itself costs less than that search.
// Threads share the keys.
#include <lathe/kernel.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif
#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512F__) && defined(__linux__)
#define PAIRWISE_TILES 1
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kGroup = 12; // keys whose sums are in registers together, with two vectors of queries
#else
constexpr int kLanes = 8;
constexpr int kGroup = 6;
#endif
constexpr int kPanel = 2 * kLanes; // queries
typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef std::int32_t Ints __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef std::uint16_t Halves __attribute__((vector_size(kLanes * 2)));

// Keys that every panel of queries passes before the next ones: they stay in the second-level
// cache.
constexpr std::int64_t kBlockBytes = 512 << 10;
// The same for tile registers, which empty the first-level cache faster than the second refills it.
constexpr std::int64_t kTileBlockBytes = 24 << 10;
// Below this many multiply-adds waking another thread costs more than it saves.
constexpr std::int64_t kParallelWork = 1 << 19;
// From this width on, every key's own number is noted.
constexpr std::int64_t kWideRow = 256;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

struct Float
{
    using Element = float;
    static float toFloat(Element value) { return value; }
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
};

struct Bfloat
{
    using Element = std::uint16_t;
    static float toFloat(Element value)
    {
        const std::uint32_t word = std::uint32_t{value} << 16;
        float out;
        std::memcpy(&out, &word, sizeof out);
        return out;
    }
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
};

/// Subtracting zero changes nothing, so that the compiler leaves it out; adding zero it may not.
Floats broadcast(float value)
{
    return value - Floats{};
}

Floats larger(Floats a, Floats b)
{
#if defined(__AVX512F__)
    return reinterpret_cast<Floats>(
        _mm512_max_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
    return reinterpret_cast<Floats>(
        _mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#else
    return a > b ? a : b;
#endif
}

float sumLanes(Floats value)
{
#if defined(__AVX512F__)
    return _mm512_reduce_add_ps(reinterpret_cast<__m512>(value));
#else
    float sum = 0;
    for (int i = 0; i < kLanes; ++i)
        sum += value[i];
    return sum;
#endif
}

/// Sum of a row's squares; of its difference to another row's, where there is one.
template <class Kind, bool kApart>
float sumSquares(const typename Kind::Element* row,
                 const typename Kind::Element* other,
                 std::int64_t width)
{
    Floats sums[2] = {};
    std::int64_t d = 0;
    for (; d + 2 * kLanes <= width; d += 2 * kLanes)
        for (int k = 0; k < 2; ++k) {
            Floats value = Kind::load(row + d + k * kLanes);
            if constexpr (kApart)
                value -= Kind::load(other + d + k * kLanes);
            sums[k] += value * value;
        }
    for (; d < width; d += kLanes) {
        const std::int64_t count = width - d;
        const bool whole = count >= kLanes;
        Floats value = whole ? Kind::load(row + d) : Kind::loadPart(row + d, count);
        if constexpr (kApart)
            value -= whole ? Kind::load(other + d) : Kind::loadPart(other + d, count);
        sums[0] += value * value;
    }
    return sumLanes(sums[0] + sums[1]);
}

/// The best so far of every lane of a panel of queries.
struct Best
{
    Floats value[2];
    Ints which[2]; ///< the group, or the key
};

void note(Best& best, int vector, Floats most, Ints which)
{
    const Ints ahead = most > best.value[vector];
    best.value[vector] = larger(most, best.value[vector]);
    best.which[vector] = ahead ? which : best.which[vector];
}

/// A group of kGroup keys, `width` elements apart, against kVectors vectors of queries. queries:
/// width times kPanel; half: -|k|^2 / 2. number: of the group, or of its first key (kEach). ahead:
/// kStep bytes for each element of a row are brought into the second-level cache meanwhile.
template <int kVectors, bool kEach, int kStep>
void visitGroup(const float* queries,
                const float* keys,
                std::int64_t width,
                const float* half,
                Best& best,
                std::int32_t number,
                const char* ahead)
{
    Floats sums[kGroup][kVectors];
#pragma GCC unroll 12
    for (int j = 0; j < kGroup; ++j)
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
            sums[j][v] = broadcast(half[j]);
    // Three rows a pointer: the addressing modes reach once and twice the width.
    const float* rows[kGroup / 3];
    for (int j = 0; j < kGroup / 3; ++j)
        rows[j] = keys + 3 * j * width;
#pragma GCC unroll 2
    for (std::int64_t d = 0; d < width; ++d) {
        Floats lanes[kVectors];
        for (int v = 0; v < kVectors; ++v)
            lanes[v] = Float::load(queries + d * kPanel + v * kLanes);
#pragma GCC unroll 12
        for (int j = 0; j < kGroup; ++j) {
            const Floats key = broadcast(rows[j / 3][j % 3 * width]);
            for (int v = 0; v < kVectors; ++v)
                sums[j][v] += key * lanes[v];
        }
        for (int j = 0; j < kGroup / 3; ++j)
            ++rows[j];
        if constexpr (kStep > 0)
            __builtin_prefetch(ahead + d * kStep, 0, 2);
    }
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
        Floats most = sums[0][v];
        Ints which = Ints{} + number;
#pragma GCC unroll 12
        for (int j = 1; j < kGroup; ++j) {
            if constexpr (kEach)
                which = sums[j][v] > most ? Ints{} + (number + j) : which;
            most = larger(most, sums[j][v]);
        }
        note(best, v, most, which);
    }
}

struct Problem
{
    const void* query;
    const void* key;
    std::int64_t queries;
    std::int64_t keys;
    std::int64_t width;
    std::int64_t panels;
};

/// Where thread number `thread` begins.
std::int64_t share(std::int64_t count, int thread, int threads)
{
    return count * thread / threads;
}

/// Float32 arithmetic on keys of either kind.
template <class Kind>
struct Plain
{
    using Element = typename Kind::Element;
    static constexpr int kKeys = kGroup;
    using Packed = float;

    static bool eachKey(const Problem& p) { return p.width >= kWideRow; }
    static std::int64_t packedSize(const Problem& p) { return p.width * kPanel; }

    static void pack(const Problem& p, std::int64_t panel, float* to)
    {
        const std::int64_t first = panel * kPanel;
        const std::int64_t count = std::min<std::int64_t>(kPanel, p.queries - first);
        const Element* from = static_cast<const Element*>(p.query) + first * p.width;
        if (count < kPanel)
            std::fill(to, to + packedSize(p), 0.0f);
        // A cache line of every row at a time.
        constexpr std::int64_t kPiece = 16;
        for (std::int64_t begin = 0; begin < p.width; begin += kPiece)
            for (std::int64_t q = 0; q < count; ++q)
                for (std::int64_t d = begin; d < std::min(p.width, begin + kPiece); ++d)
                    to[d * kPanel + q] = Kind::toFloat(from[q * p.width + d]);
    }

    static void
    search(const Problem& p, const float* packed, std::int64_t from, std::int64_t to, Best* best)
    {
        const std::int64_t width = p.width;
        const auto* key = static_cast<const Element*>(p.key);
        const std::int64_t block = std::max<std::int64_t>(
            1, kBlockBytes / (std::max<std::int64_t>(width, 1) * 4 * kGroup));
        std::vector<float> half(static_cast<std::size_t>(block * kGroup));
        std::vector<float> copy;
        for (std::int64_t begin = from; begin < to; begin += block) {
            const std::int64_t end = std::min(to, begin + block);
            const std::int64_t firstKey = begin * kGroup;
            const std::int64_t count = std::min(p.keys, end * kGroup) - firstKey;
            const std::int64_t padded = (end - begin) * kGroup;
            const Element* rows = key + firstKey * width;
            // Keys that are not float32 are widened; a group that is not full is filled up with
            // keys that never win.
            constexpr bool kWiden = sizeof(Element) != sizeof(float);
            const std::int64_t own = kWiden ? 0 : std::min(count / kGroup, end - begin);
            copy.resize(static_cast<std::size_t>((padded - own * kGroup) * width));
            for (std::int64_t k = 0; k < count; ++k)
                half[static_cast<std::size_t>(k)] =
                    -0.5f * sumSquares<Kind, false>(rows + k * width, nullptr, width);
            for (std::int64_t k = count; k < padded; ++k)
                half[static_cast<std::size_t>(k)] = kLowest;
            for (std::int64_t i = own * kGroup * width; i < padded * width; ++i)
                copy[static_cast<std::size_t>(i - own * kGroup * width)] =
                    i < count * width ? Kind::toFloat(rows[i]) : 0.0f;
            for (std::int64_t panel = 0; panel < p.panels; ++panel) {
                const float* queries = packed + panel * packedSize(p);
                // The next block comes nearer while the first panel passes this one.
                const bool nearer = panel == 0 && (end + block) * kGroup <= p.keys;
                const auto visit = visitFor(p, panel, nearer);
                for (std::int64_t g = begin; g < end; ++g) {
                    const std::int64_t at = g - begin;
                    const float* keys = nullptr;
                    if constexpr (!kWiden)
                        keys = rows + at * kGroup * width;
                    if (at >= own)
                        keys = copy.data() + (at - own) * kGroup * width;
                    const Element* ahead = nearer ? rows + (at + block) * kGroup * width : nullptr;
                    visit(queries,
                          keys,
                          width,
                          half.data() + at * kGroup,
                          best[panel],
                          static_cast<std::int32_t>(eachKey(p) ? g * kGroup : g),
                          reinterpret_cast<const char*>(ahead));
                }
            }
        }
    }

    using Visit = void (*)(
        const float*, const float*, std::int64_t, const float*, Best&, std::int32_t, const char*);

    template <bool kEach, int kStep>
    static Visit visitFor(bool narrow)
    {
        return narrow ? visitGroup<1, kEach, kStep> : visitGroup<2, kEach, kStep>;
    }

    static Visit visitFor(const Problem& p, std::int64_t panel, bool nearer)
    {
        constexpr int kStep = kGroup * sizeof(Element);
        const bool narrow = p.queries - panel * kPanel <= kLanes;
        if (eachKey(p))
            return nearer ? visitFor<true, kStep>(narrow) : visitFor<true, 0>(narrow);
        return nearer ? visitFor<false, kStep>(narrow) : visitFor<false, 0>(narrow);
    }
};

#if defined(PAIRWISE_TILES)

/// Bfloat16 products in tile registers: 32 keys times 32 queries at a time, in groups of 16 keys.
struct Tiles
{
    using Element = std::uint16_t;
    static constexpr int kKeys = 16;
    static constexpr int kDepth = 32; // elements of a row in a tile
    using Packed = std::uint16_t;

    /// The kernel has to be asked once before a process may use the registers.
    static bool usable()
    {
        constexpr long kRequestPermission = 0x1023;
        constexpr long kTileData = 18;
        static const bool allowed = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
        return allowed;
    }

    static bool eachKey(const Problem&) { return false; }
    static std::int64_t steps(const Problem& p) { return (p.width + kDepth - 1) / kDepth; }
    static std::int64_t packedSize(const Problem& p) { return steps(p) * kDepth * kPanel; }

    /// For each step two tiles of 16 queries, pairs of elements side by side.
    static void pack(const Problem& p, std::int64_t panel, Element* to)
    {
        const std::int64_t first = panel * kPanel;
        const std::int64_t count = std::min<std::int64_t>(kPanel, p.queries - first);
        std::memset(to, 0, static_cast<std::size_t>(packedSize(p)) * sizeof(Element));
        for (std::int64_t q = 0; q < count; ++q) {
            const Element* from = static_cast<const Element*>(p.query) + (first + q) * p.width;
            for (std::int64_t d = 0; d < p.width; d += 2) {
                const std::int64_t tile = d / kDepth * 2 + q / 16;
                std::memcpy(to + tile * 512 + d % kDepth * 16 + q % 16 * 2,
                            from + d,
                            d + 1 < p.width ? 2 * sizeof(Element) : sizeof(Element));
            }
        }
    }

    struct alignas(64) Sums
    {
        float value[2][2][16][16]; // keys, queries: of each two tiles
    };

    static void multiply(const Element* queries,
                         const Element* keys,
                         std::int64_t stride,
                         std::int64_t depth,
                         Sums& sums)
    {
        const std::int64_t bytes = stride * 2;
        const Element* lower = keys + 16 * stride;
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        for (std::int64_t s = 0; s < depth; ++s) {
            _tile_loadd(6, queries + s * 1024, 64);
            _tile_loadd(7, queries + s * 1024 + 512, 64);
            _tile_loadd(4, keys + s * kDepth, bytes);
            _tile_loadd(5, lower + s * kDepth, bytes);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        _tile_stored(0, sums.value[0][0], 64);
        _tile_stored(1, sums.value[0][1], 64);
        _tile_stored(2, sums.value[1][0], 64);
        _tile_stored(3, sums.value[1][1], 64);
    }

    static void look(const Sums& sums, const float* half, Best& best, std::int32_t group)
    {
        for (int t = 0; t < 2; ++t)
            for (int v = 0; v < 2; ++v) {
                Floats most[2];
                for (int j = 0; j < 16; ++j) {
                    const Floats value =
                        Float::load(sums.value[t][v][j]) + broadcast(half[t * 16 + j]);
                    most[j % 2] = j < 2 ? value : larger(most[j % 2], value);
                }
                note(best, v, larger(most[0], most[1]), Ints{} + (group + t));
            }
    }

    static void
    search(const Problem& p, const Element* packed, std::int64_t from, std::int64_t to, Best* best)
    {
        struct
        {
            std::uint8_t palette = 1, row = 0, none[14] = {};
            std::uint16_t bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
            std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
        } shape;
        _tile_loadconfig(&shape);

        const auto* key = static_cast<const Element*>(p.key);
        const std::int64_t width = p.width;
        const std::int64_t depth = steps(p);
        const std::int64_t stride = depth * kDepth;
        const std::int64_t pairs = std::max<std::int64_t>(1, kTileBlockBytes / (stride * 2 * 32));
        const bool direct = stride == width && reinterpret_cast<std::uintptr_t>(p.key) % 64 == 0;
        std::vector<float> half(static_cast<std::size_t>(pairs * 32));
        std::vector<Element> room;
        Sums sums[2];
        for (std::int64_t begin = from; begin < to; begin += 2 * pairs) {
            const std::int64_t end = std::min(to, begin + 2 * pairs);
            const std::int64_t firstKey = begin * 16;
            const std::int64_t count = std::min(p.keys, end * 16) - firstKey;
            const std::int64_t blocks = (end - begin + 1) / 2;
            const Element* rows = key + firstKey * width;
            for (std::int64_t k = 0; k < blocks * 32; ++k)
                half[static_cast<std::size_t>(k)] =
                    k < count ? -0.5f * sumSquares<Bfloat, false>(rows + k * width, nullptr, width)
                              : kLowest;
            // Whole blocks of whole rows are read where they are, the rest from a padded copy.
            const std::int64_t own = direct ? count / 32 : 0;
            room.resize(static_cast<std::size_t>((blocks - own) * 32 * stride + 32));
            Element* copy = room.data();
            copy += (64 - reinterpret_cast<std::uintptr_t>(copy) % 64) % 64 / 2;
            for (std::int64_t k = own * 32; k < blocks * 32; ++k) {
                Element* row = copy + (k - own * 32) * stride;
                const std::int64_t length = k < count ? width : 0;
                std::memcpy(row,
                            rows + (k < count ? k : 0) * width,
                            static_cast<std::size_t>(length) * sizeof(Element));
                std::fill(row + length, row + stride, Element{0});
            }
            // Tile loads do not tell the compiler that they read memory.
            __asm__ volatile("" ::: "memory");
            // One block's sums are looked at while the next block is multiplied.
            for (std::int64_t panel = 0; panel < p.panels; ++panel)
                for (std::int64_t b = 0; b <= blocks; ++b) {
                    if (b < blocks)
                        multiply(packed + panel * packedSize(p),
                                 b < own ? rows + b * 32 * width : copy + (b - own) * 32 * stride,
                                 stride,
                                 depth,
                                 sums[b % 2]);
                    if (b > 0)
                        look(sums[(b - 1) % 2],
                             half.data() + (b - 1) * 32,
                             best[panel],
                             static_cast<std::int32_t>(begin + 2 * (b - 1)));
                }
        }
        _tile_release();
    }
};

#endif

template <class Kind, class Way>
void find(const Problem& p, float* distance, std::int64_t* index)
{
    using Element = typename Kind::Element;
    using Packed = typename Way::Packed;
    const std::int64_t groups = (p.keys + Way::kKeys - 1) / Way::kKeys;
    const bool parallel = p.queries * p.keys * std::max<std::int64_t>(p.width, 1) > kParallelWork;
#if defined(_OPENMP)
    const int most = parallel ? omp_get_max_threads() : 1;
#else
    const int most = 1;
#endif
    std::vector<Packed> room(static_cast<std::size_t>(p.panels * Way::packedSize(p))
                             + 64 / sizeof(Packed));
    Packed* packed = room.data();
    packed += (64 - reinterpret_cast<std::uintptr_t>(packed) % 64) % 64 / sizeof(Packed);
    Best start;
    for (int v = 0; v < 2; ++v) {
        start.value[v] = broadcast(kLowest);
        start.which[v] = Ints{};
    }
    std::vector<Best> bests(static_cast<std::size_t>(p.panels * most), start);
    int threads = 1;

#pragma omp parallel num_threads(most) if (most > 1)
    {
#if defined(_OPENMP)
        const int thread = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
#else
        const int thread = 0;
#endif
#pragma omp for schedule(static)
        for (std::int64_t panel = 0; panel < p.panels; ++panel)
            Way::pack(p, panel, packed + panel * Way::packedSize(p));
        Way::search(p,
                    packed,
                    share(groups, thread, threads),
                    share(groups, thread + 1, threads),
                    bests.data() + p.panels * thread);
#pragma omp barrier
#pragma omp for schedule(static)
        for (std::int64_t q = 0; q < p.queries; ++q) {
            const std::int64_t panel = q / kPanel;
            const int vector = static_cast<int>(q % kPanel / kLanes);
            const int lane = static_cast<int>(q % kLanes);
            float value = kLowest;
            std::int64_t which = 0;
            for (int t = 0; t < threads; ++t) {
                const Best& best = bests[static_cast<std::size_t>(p.panels * t + panel)];
                if (best.value[vector][lane] > value) {
                    value = best.value[vector][lane];
                    which = best.which[vector][lane];
                }
            }
            const Element* query = static_cast<const Element*>(p.query) + q * p.width;
            const auto* key = static_cast<const Element*>(p.key);
            const bool each = Way::eachKey(p);
            const std::int64_t first = each ? which : which * Way::kKeys;
            const std::int64_t last = each ? first + 1 : std::min(p.keys, first + Way::kKeys);
            float least = sumSquares<Kind, true>(query, key + first * p.width, p.width);
            std::int64_t nearest = first;
            for (std::int64_t k = first + 1; k < last; ++k) {
                const float other = sumSquares<Kind, true>(query, key + k * p.width, p.width);
                if (other < least) {
                    least = other;
                    nearest = k;
                }
            }
            distance[q] = least;
            index[q] = nearest;
        }
    }
}

void pairwiseTop1(const lathe::Tensor& query,
                  const lathe::Tensor& key,
                  const lathe::Tensor& distance,
                  const lathe::Tensor& index)
{
    lathe::check(query.ndim() == 2 && key.ndim() == 2 && query.size(1) == key.size(1),
                 "pairwise_top1: query and key must be matrices of the same width");
    lathe::check(distance.ndim() == 1 && distance.size(0) == query.size(0) && index.ndim() == 1
                     && index.size(0) == query.size(0),
                 "pairwise_top1: distance and index must have one element a query");
    for (const lathe::Tensor* tensor : {&query, &key, &distance, &index})
        lathe::check(tensor->isCpu() && tensor->isContiguous(),
                     "pairwise_top1: every tensor must be contiguous and on the CPU");
    lathe::check(
        query.dtype() == key.dtype()
            && (query.dtype() == lathe::DType::Float32 || query.dtype() == lathe::DType::BFloat16),
        "pairwise_top1: query and key must both be float32 or both be bfloat16");
    lathe::check(key.size(0) > 0 && key.size(0) < INT32_MAX - 16,
                 "pairwise_top1: there must be a key, and fewer than 2^31 - 16 of them");
    const Problem problem{query.data<void>(),
                          key.data<void>(),
                          query.size(0),
                          key.size(0),
                          query.size(1),
                          (query.size(0) + kPanel - 1) / kPanel};
    if (problem.queries == 0)
        return;
    auto* const distances = distance.data<float>();
    auto* const indices = index.data<std::int64_t>();
    if (query.dtype() == lathe::DType::Float32) {
        find<Float, Plain<Float>>(problem, distances, indices);
        return;
    }
#if defined(PAIRWISE_TILES)
    if (problem.width > 0 && Tiles::usable()) {
        find<Bfloat, Tiles>(problem, distances, indices);
        return;
    }
#endif
    find<Bfloat, Plain<Bfloat>>(problem, distances, indices);
}

} // namespace

LATHE_EXPORT(pairwise_top1, pairwiseTop1)
