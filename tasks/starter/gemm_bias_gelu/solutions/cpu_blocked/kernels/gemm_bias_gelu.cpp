// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// y = gelu_tanh(x W^T + b). W is packed once into panels of columns; x is packed in each call, a
// chunk of rows at a time that stays in the second-level cache. GELU works on the float32 tile that
// was just finished, in bf16 with AMX while the tile unit computes the next one.
#include <lathe/kernel.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <omp.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__AMX_BF16__) && defined(__AMX_TILE__) && defined(__AVX512F__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#define USE_AMX 1
#else
#define USE_AMX 0
#endif

namespace {

#if defined(__AVX512F__)
constexpr int kLanes = 16;
constexpr int kTileRows = 12; // 24 sums, 2 vectors of W, 1 of x: 27 of 32 registers
#else
constexpr int kLanes = 8;
constexpr int kTileRows = 6; // 12 sums, 2 of W, 1 of x: 15 of 16 registers
#endif
typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef std::int32_t Ints __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef std::uint16_t Halves __attribute__((vector_size(kLanes * 2)));

constexpr int kPanel = 2 * kLanes; // columns of W in a panel of float32
constexpr int kPairPanel = 16;     // columns of W in a panel of bf16: one tile is 16 columns
constexpr int kPairStep = 32;      // inner elements in a tile of bf16
constexpr std::int64_t kChunkBytes = 1 << 20; // packed x of one chunk: half a second-level cache
// Below this many multiply-adds another thread costs more than it saves.
constexpr std::int64_t kParallelWork = 1 << 20;

std::int64_t roundUp(std::int64_t value, std::int64_t step)
{
    return (value + step - 1) / step * step;
}

template <class To>
To load(const void* from)
{
    To value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

/// The value in every lane. Less zero, not plus zero, which would change -0 and so is computed.
inline Floats all(float value)
{
    return value - Floats{};
}

/// Memory that a thread keeps from call to call, so that its pages are new only once.
class Scratch
{
public:
    void* atLeast(std::size_t bytes)
    {
        if (bytes > m_bytes) {
            m_data.reset();
            m_data.reset(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
            if (!m_data)
                throw std::bad_alloc();
            m_bytes = bytes;
        }
        return m_data.get();
    }

private:
    struct Free
    {
        void operator()(void* data) const { std::free(data); }
    };
    std::unique_ptr<void, Free> m_data;
    std::size_t m_bytes = 0;
};

/// exp for arguments of at most 88; below -87 it stays at exp(-87). Relative error below 2e-7.
inline Floats expOf(Floats x)
{
    const Floats low = all(-87.0f);
    const Floats high = all(88.0f);
    x = x < low ? low : x;
    x = x > high ? high : x;
    const Floats magic = all(12582912.0f); // 1.5 * 2^23: adding it rounds to an integer
    const Floats shifted = x * 1.44269504f + magic;
    const Floats n = shifted - magic;
    const Floats r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    Floats p = r * (1.0f / 720) + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    return reinterpret_cast<Floats>(reinterpret_cast<Ints>(p)
                                    + (reinterpret_cast<Ints>(shifted) << 23));
}

/// x / (1 + exp(-2 u)) with u = sqrt(2 / pi) (x + 0.044715 x^3), which is x (1 + tanh u) / 2.
inline Floats gelu(Floats x)
{
    const Floats u = x * (x * x * (-2 * 0.7978845608f * 0.044715f) - 2 * 0.7978845608f);
    return x / (expOf(u) + 1.0f);
}

struct Bfloat
{
    using Element = std::uint16_t;
    static Floats load(const Element* from)
    {
        const auto halves = ::load<Halves>(from);
        return reinterpret_cast<Floats>(__builtin_convertvector(halves, Words) << 16);
    }
    /// Round to nearest, ties to even; NaN stays NaN.
    static void store(Element* to, Floats value)
    {
#if defined(__AVX512BF16__)
        const auto packed = _mm512_cvtneps_pbh(reinterpret_cast<__m512>(value));
#else
        const Words bits = reinterpret_cast<Words>(value);
        const Words high = bits >> 16;
        const Words rounded = (bits + ((high & 1u) + 0x7fffu)) >> 16;
        const Words words = value == value ? rounded : (high | 0x40u);
        const auto packed = __builtin_convertvector(words, Halves);
#endif
        std::memcpy(to, &packed, sizeof packed);
    }
};

struct Float
{
    using Element = float;
    static Floats load(const Element* from) { return ::load<Floats>(from); }
    static void store(Element* to, Floats value) { std::memcpy(to, &value, sizeof value); }
};

/// One row of a finished block: bias and GELU. At the right edge of y a copy with room is used.
template <class Kind>
inline void
finish(const float* sums, const float* bias, typename Kind::Element* y, std::int64_t columns)
{
    if (columns >= kLanes) {
        Kind::store(y, gelu(load<Floats>(sums) + load<Floats>(bias)));
    } else if (columns > 0) {
        typename Kind::Element room[kLanes];
        Kind::store(room, gelu(load<Floats>(sums) + load<Floats>(bias)));
        std::memcpy(y, room, static_cast<std::size_t>(columns) * sizeof *y);
    }
}

struct Job
{
    const void* x;
    const void* weight; // packed
    const float* bias;  // float32, with room for a whole panel
    void* y;
    std::int64_t rows;
    std::int64_t inner;
    std::int64_t outer;
};

// ---- float32 ------------------------------------------------------------------------------------

/// kTileRows rows, transposed: element (r, k) at k * kTileRows + r.
void packRows(const float* x, std::int64_t inner, std::int64_t rows, float* to)
{
    for (std::int64_t r = 0; r < kTileRows; ++r) {
        if (r < rows)
            for (std::int64_t k = 0; k < inner; ++k)
                to[k * kTileRows + r] = x[r * inner + k];
        else
            for (std::int64_t k = 0; k < inner; ++k)
                to[k * kTileRows + r] = 0;
    }
}

void floatBlock(const float* x, const float* weight, std::int64_t inner, float* sums)
{
    Floats sum[kTileRows][2] = {};
    for (std::int64_t k = 0; k < inner; ++k) {
        const auto left = load<Floats>(weight + k * kPanel);
        const auto right = load<Floats>(weight + k * kPanel + kLanes);
#pragma GCC unroll 12
        for (int r = 0; r < kTileRows; ++r) {
            const Floats value = all(x[k * kTileRows + r]);
            sum[r][0] += value * left;
            sum[r][1] += value * right;
        }
    }
    std::memcpy(sums, sum, sizeof sum);
}

/// Rows [row, row + rows) of y and panels [first, last).
void floatChunk(const Job& job,
                std::int64_t row,
                std::int64_t rows,
                std::int64_t first,
                std::int64_t last,
                Scratch& scratch)
{
    const auto* x = static_cast<const float*>(job.x) + row * job.inner;
    const auto* weight = static_cast<const float*>(job.weight);
    const std::int64_t blocks = (rows + kTileRows - 1) / kTileRows;
    const std::int64_t blockSize = job.inner * kTileRows;
    auto* packed = static_cast<float*>(
        scratch.atLeast(static_cast<std::size_t>(blocks * blockSize) * sizeof(float)));
    for (std::int64_t b = 0; b < blocks; ++b)
        packRows(x + b * kTileRows * job.inner,
                 job.inner,
                 std::min<std::int64_t>(kTileRows, rows - b * kTileRows),
                 packed + b * blockSize);
    alignas(64) float sums[kTileRows * kPanel];
    for (std::int64_t p = first; p < last; ++p) {
        const std::int64_t column = p * kPanel;
        for (std::int64_t b = 0; b < blocks; ++b) {
            floatBlock(packed + b * blockSize, weight + column * job.inner, job.inner, sums);
            const std::int64_t here = std::min<std::int64_t>(kTileRows, rows - b * kTileRows);
            auto* y = static_cast<float*>(job.y) + (row + b * kTileRows) * job.outer + column;
            for (std::int64_t r = 0; r < here; ++r)
                for (int c = 0; c < kPanel; c += kLanes)
                    finish<Float>(sums + r * kPanel + c,
                                  job.bias + column + c,
                                  y + r * job.outer + c,
                                  job.outer - column - c);
        }
    }
}

// ---- bf16 ---------------------------------------------------------------------------------------
// Two neighbours along the inner dimension are one 32-bit word, as the dot-product instructions
// want it. A panel of W is [inner / 2][16 columns] such words; rows of x are padded with zeros to
// kPairStep elements.

constexpr int kBlock = 32; // rows and columns of the block that is computed at once

void copyRows(const std::uint16_t* x,
              std::int64_t inner,
              std::int64_t padded,
              std::int64_t rows,
              std::uint16_t* to)
{
    // A tile after the other: 16 rows of 32 elements, 1 KiB in one piece.
    for (std::int64_t r = 0; r < roundUp(rows, kBlock); ++r) {
        std::uint16_t* tile = to + r / 16 * 16 * padded + r % 16 * kPairStep;
        for (std::int64_t k = 0; k < padded; k += kPairStep, tile += 16 * kPairStep) {
            const std::int64_t here =
                r < rows ? std::clamp<std::int64_t>(inner - k, 0, kPairStep) : 0;
            if (here == kPairStep) {
                std::memcpy(tile, x + r * inner + k, kPairStep * sizeof *x);
            } else {
                std::memset(tile, 0, kPairStep * sizeof *x);
                std::memcpy(tile,
                            x + (here > 0 ? r * inner + k : 0),
                            static_cast<std::size_t>(here) * sizeof *x);
            }
        }
    }
}

/// What is left to do with a block whose sums are known: kBlock rows of two vectors (AVX-512).
struct Finish
{
    const float* sums = nullptr; // kBlock x kBlock
    const float* bias = nullptr;
    std::uint16_t* y = nullptr;
    std::int64_t stride = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    int done = 0;

    static constexpr int kVectorsPerRow = kBlock / kLanes;
    void some(int count)
    {
        const int last = std::min<int>(done + count, static_cast<int>(rows) * kVectorsPerRow);
        for (; done < last; ++done) {
            const int r = done / kVectorsPerRow;
            const int c = done % kVectorsPerRow * kLanes;
            finish<Bfloat>(sums + r * kBlock + c, bias + c, y + r * stride + c, columns - c);
        }
    }
};

#if USE_AMX
struct TileConfig
{
    std::uint8_t palette = 1;
    std::uint8_t start = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t bytesPerRow[16] = {};
    std::uint8_t rows[16] = {};
};
static_assert(sizeof(TileConfig) == 64);

/// The kernel lets a process use the tile registers only after it has asked.
bool amxAllowed()
{
    constexpr long kRequestPermission = 0x1023;
    constexpr long kTileData = 18;
    static const bool allowed = ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return allowed;
}

/// sums (kBlock x kBlock) = or += x W^T over steps tiles; a part of the block before is finished in
/// every step. Not kTall: only the upper 16 rows.
template <bool kTall>
inline void amxBlock(const std::uint16_t* x,
                     const std::uint16_t* weight,
                     std::int64_t tile, // elements from 16 rows, or columns, to the next
                     std::int64_t steps,
                     bool add,
                     float* sums,
                     int perStep,
                     Finish& before)
{
    constexpr long kStride = kBlock * sizeof(float);
    if (add) {
        _tile_loadd(0, sums, kStride);
        _tile_loadd(1, sums + 16, kStride);
        if constexpr (kTall) {
            _tile_loadd(2, sums + 16 * kBlock, kStride);
            _tile_loadd(3, sums + 16 * kBlock + 16, kStride);
        }
    } else {
        _tile_zero(0);
        _tile_zero(1);
        if constexpr (kTall) {
            _tile_zero(2);
            _tile_zero(3);
        }
    }
    for (std::int64_t k = 0; k < steps; ++k) {
        const std::int64_t at = k * 16 * kPairStep;
        _tile_loadd(6, weight + at, 64);
        _tile_loadd(4, x + at, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, weight + tile + at, 64);
        _tile_dpbf16ps(1, 4, 7);
        if constexpr (kTall) {
            _tile_loadd(5, x + tile + at, 64);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        before.some(perStep);
    }
    _tile_stored(0, sums, kStride);
    _tile_stored(1, sums + 16, kStride);
    if constexpr (kTall) {
        _tile_stored(2, sums + 16 * kBlock, kStride);
        _tile_stored(3, sums + 16 * kBlock + 16, kStride);
    }
    asm volatile("" ::: "memory"); // the tile instructions do not tell the compiler what they write
}
#else
bool amxAllowed()
{
    return false;
}
#endif

inline Floats dotPairs(Floats sum, Words left, Words right)
{
#if defined(__AVX512BF16__)
    return reinterpret_cast<Floats>(_mm512_dpbf16_ps(reinterpret_cast<__m512>(sum),
                                                     reinterpret_cast<__m512bh>(left),
                                                     reinterpret_cast<__m512bh>(right)));
#else
    sum += reinterpret_cast<Floats>(left << 16) * reinterpret_cast<Floats>(right << 16);
    sum += reinterpret_cast<Floats>(left & 0xffff0000u)
           * reinterpret_cast<Floats>(right & 0xffff0000u);
    return sum;
#endif
}

/// The same with vectors: words of x are broadcast; 8 rows (4) and 2 vectors at a time.
void vectorBlock(const std::uint16_t* x,
                 const std::uint16_t* weight,
                 std::int64_t tile,
                 std::int64_t steps,
                 std::int64_t rows,
                 float* sums)
{
    constexpr int kRows = kLanes / 2;
    const auto wordAt = [](const std::uint16_t* from, std::int64_t index) {
        return load<std::uint32_t>(from + 2 * index);
    };
    for (int c = 0; c < kBlock; c += 2 * kLanes) {
        const std::uint16_t* panel[2] = {weight + c / 16 * tile + c % 16 * 2,
                                         weight + (c + kLanes) / 16 * tile + (c + kLanes) % 16 * 2};
        for (int r = 0; r < rows; r += kRows) {
            const std::uint16_t* from = x + r / 16 * tile + r % 16 * kPairStep;
            Floats sum[kRows][2] = {};
            for (std::int64_t k = 0; k < steps; ++k) {
                for (int pair = 0; pair < 16; ++pair) {
                    const std::int64_t at = (k * 16 + pair) * 32;
                    const auto left = load<Words>(panel[0] + at);
                    const auto right = load<Words>(panel[1] + at);
#pragma GCC unroll 8
                    for (int i = 0; i < kRows; ++i) {
                        const Words word =
                            Words{} + wordAt(from + k * 16 * kPairStep, i * 16 + pair);
                        sum[i][0] = dotPairs(sum[i][0], word, left);
                        sum[i][1] = dotPairs(sum[i][1], word, right);
                    }
                }
            }
            for (int i = 0; i < kRows; ++i) {
                std::memcpy(sums + (r + i) * kBlock + c, &sum[i][0], sizeof(Floats));
                std::memcpy(sums + (r + i) * kBlock + c + kLanes, &sum[i][1], sizeof(Floats));
            }
        }
    }
}

/// Rows [row, row + rows) of y and pairs of panels [first, last).
void pairChunk(const Job& job,
               std::int64_t row,
               std::int64_t rows,
               std::int64_t first,
               std::int64_t last,
               bool amx,
               Scratch& scratch)
{
    const auto* x = static_cast<const std::uint16_t*>(job.x) + row * job.inner;
    const std::int64_t padded = roundUp(job.inner, kPairStep);
    const std::int64_t steps = padded / kPairStep;
    // With AMX a longer inner dimension is gone through in parts, so that 64 KiB of W serve all
    // rows of the chunk before the next 64 KiB come.
    const std::int64_t mostSteps = amx ? std::min<std::int64_t>(steps, 32) : steps;
    const std::int64_t blocks = (rows + kBlock - 1) / kBlock;
    const std::int64_t blockSize = kBlock * padded;
    const std::int64_t sumSize = kBlock * kBlock;
    const std::size_t xBytes = static_cast<std::size_t>(blocks * blockSize) * sizeof *x;
    auto* packed = static_cast<std::uint16_t*>(scratch.atLeast(
        xBytes + static_cast<std::size_t>(blocks * sumSize + sumSize) * sizeof(float)));
    auto* sums = reinterpret_cast<float*>(reinterpret_cast<char*>(packed) + xBytes);
    copyRows(x, job.inner, padded, rows, packed);
    asm volatile("" ::: "memory");

    const std::int64_t tile = 16 * padded; // from one panel, or 16 rows, to the next
    Finish before;
    for (std::int64_t p = first; p < last; ++p) {
        const auto* weight = static_cast<const std::uint16_t*>(job.weight) + p * kBlock * padded;
        const std::int64_t column = p * kBlock;
        for (std::int64_t k = 0; k < steps; k += mostSteps) {
            const std::int64_t here = std::min(mostSteps, steps - k);
            const std::int64_t at = k * 16 * kPairStep;
            for (std::int64_t b = 0; b < blocks; ++b) {
                float* to = sums + b * sumSize;
                const std::int64_t rowsHere = std::min<std::int64_t>(kBlock, rows - b * kBlock);
                const std::int64_t left = before.rows * Finish::kVectorsPerRow - before.done;
                const auto* rowsOfX = packed + b * blockSize + at;
#if USE_AMX
                if (amx)
                    (rowsHere > 16 ? amxBlock<true>
                                   : amxBlock<false>)(rowsOfX,
                                                      weight + at,
                                                      tile,
                                                      here,
                                                      k > 0,
                                                      to,
                                                      static_cast<int>((left + here - 1) / here),
                                                      before);
                else
#endif
                {
                    before.some(static_cast<int>(left));
                    vectorBlock(rowsOfX, weight, tile, steps, rowsHere, to);
                }
                if (k + here == steps)
                    before = Finish{to,
                                    job.bias + column,
                                    static_cast<std::uint16_t*>(job.y)
                                        + (row + b * kBlock) * job.outer + column,
                                    job.outer,
                                    rowsHere,
                                    job.outer - column};
            }
        }
    }
    before.some(kBlock * Finish::kVectorsPerRow);
}

// ---- both ---------------------------------------------------------------------------------------

template <class Kind>
void multiply(const Job& job, const typename Kind::Element* biasData)
{
    constexpr bool kPairs = sizeof(typename Kind::Element) == 2;
    constexpr std::int64_t kColumns = kPairs ? kBlock : kPanel;
    constexpr std::int64_t kRows = kPairs ? kBlock : kTileRows;
    const bool amx = kPairs && amxAllowed();

    static thread_local Scratch biasScratch;
    const std::int64_t panels = (job.outer + kColumns - 1) / kColumns;
    auto* bias = static_cast<float*>(
        biasScratch.atLeast(static_cast<std::size_t>(panels * kColumns) * sizeof(float)));
    std::int64_t i = 0;
    for (; i + kLanes <= job.outer; i += kLanes) {
        const Floats value = Kind::load(biasData + i);
        std::memcpy(bias + i, &value, sizeof value);
    }
    if (i < job.outer) {
        typename Kind::Element room[kLanes] = {};
        std::memcpy(room, biasData + i, static_cast<std::size_t>(job.outer - i) * sizeof *room);
        const Floats value = Kind::load(room);
        std::memcpy(bias + i, &value, sizeof value);
    }
    Job work = job;
    work.bias = bias;

    const std::int64_t threads =
        job.rows * job.inner * job.outer < kParallelWork ? 1 : omp_get_max_threads();
    // Chunks of rows that fit, as many for every thread; where there are fewer rows than that, the
    // columns are divided as well.
    const std::int64_t rowBytes =
        std::max<std::int64_t>(job.inner * static_cast<std::int64_t>(sizeof(*biasData)), 1);
    const std::int64_t most = std::max<std::int64_t>(kChunkBytes / rowBytes / kRows, 1) * kRows;
    const std::int64_t units = (job.rows + kRows - 1) / kRows;
    std::int64_t chunks = (job.rows + most - 1) / most;
    if (units >= 2 * threads)
        chunks = std::min(roundUp(chunks, threads), units);
    const std::int64_t chunkRows = (units + chunks - 1) / chunks * kRows;
    chunks = (job.rows + chunkRows - 1) / chunkRows;
    const std::int64_t parts = std::min(panels, (threads + chunks - 1) / chunks);

#pragma omp parallel num_threads(static_cast <int>(threads)) if (threads > 1)
    {
        static thread_local Scratch scratch;
#if USE_AMX
        if (amx) {
            TileConfig config;
            std::fill_n(config.bytesPerRow, 8, std::uint16_t{64});
            std::fill_n(config.rows, 8, std::uint8_t{16});
            asm volatile("" ::: "memory");
            _tile_loadconfig(&config);
        }
#endif
#pragma omp for schedule(static)
        for (std::int64_t task = 0; task < chunks * parts; ++task) {
            const std::int64_t row = task / parts * chunkRows;
            const std::int64_t part = task % parts;
            const std::int64_t rows = std::min(chunkRows, job.rows - row);
            const std::int64_t first = panels * part / parts;
            const std::int64_t last = panels * (part + 1) / parts;
            if constexpr (kPairs)
                pairChunk(work, row, rows, first, last, amx, scratch);
            else
                floatChunk(work, row, rows, first, last, scratch);
        }
#if USE_AMX
        if (amx)
            _tile_release();
#endif
    }
}

void packWeight(const lathe::Tensor& weight, const lathe::Tensor& packed)
{
    lathe::check(weight.ndim() == 2 && weight.isContiguous() && packed.isContiguous(),
                 "pack_weight: the weight must be a contiguous matrix");
    lathe::check(packed.dtype() == weight.dtype(), "pack_weight: dtypes differ");
    const std::int64_t outer = weight.size(0);
    const std::int64_t inner = weight.size(1);
    if (weight.dtype() == lathe::DType::BFloat16) {
        const std::int64_t padded = roundUp(inner, kPairStep);
        const std::int64_t columns = roundUp(outer, kBlock);
        lathe::check(packed.numel() >= columns * padded, "pack_weight: too little room");
        const auto* from = static_cast<const std::uint16_t*>(weight.data<void>());
        auto* to = static_cast<std::uint16_t*>(packed.data<void>());
#pragma omp parallel for schedule(static)
        for (std::int64_t p = 0; p < columns; p += kPairPanel)
            for (std::int64_t k = 0; k < padded; k += 2)
                for (std::int64_t c = 0; c < kPairPanel; ++c)
                    for (std::int64_t half = 0; half < 2; ++half)
                        to[p * padded + (k / 2 * kPairPanel + c) * 2 + half] =
                            p + c < outer && k + half < inner ? from[(p + c) * inner + k + half]
                                                              : std::uint16_t{0};
    } else {
        const std::int64_t columns = roundUp(outer, kPanel);
        lathe::check(packed.numel() >= columns * inner, "pack_weight: too little room");
        const auto* from = weight.data<float>();
        auto* to = packed.data<float>();
#pragma omp parallel for schedule(static)
        for (std::int64_t p = 0; p < columns; p += kPanel)
            for (std::int64_t k = 0; k < inner; ++k)
                for (std::int64_t c = 0; c < kPanel; ++c)
                    to[p * inner + k * kPanel + c] =
                        p + c < outer ? from[(p + c) * inner + k] : 0.0f;
    }
}

void gemmBiasGelu(const lathe::Tensor& x,
                  const lathe::Tensor& packed,
                  const lathe::Tensor& bias,
                  const lathe::Tensor& y)
{
    lathe::check(x.ndim() >= 1 && y.ndim() == x.ndim() && bias.ndim() == 1,
                 "gemm_bias_gelu: x and y need as many dimensions, the bias one");
    for (const lathe::Tensor* tensor : {&x, &packed, &bias, &y})
        lathe::check(tensor->isContiguous() && tensor->isCpu() && tensor->dtype() == x.dtype(),
                     "gemm_bias_gelu: every tensor must be contiguous and of the dtype of x");
    const bool pairs = x.dtype() == lathe::DType::BFloat16;
    lathe::check(pairs || x.dtype() == lathe::DType::Float32,
                 "gemm_bias_gelu: only bfloat16 and float32 are supported");
    Job job{};
    job.inner = x.size(-1);
    job.outer = bias.size(0);
    job.rows = 1;
    for (int i = 0; i + 1 < x.ndim(); ++i) {
        lathe::check(x.size(i) == y.size(i), "gemm_bias_gelu: x and y differ in their rows");
        job.rows *= x.size(i);
    }
    lathe::check(job.inner > 0, "gemm_bias_gelu: x has no columns");
    lathe::check(y.size(-1) == job.outer, "gemm_bias_gelu: y must be as wide as the bias is long");
    const std::int64_t room = pairs ? roundUp(job.outer, kBlock) * roundUp(job.inner, kPairStep)
                                    : roundUp(job.outer, kPanel) * job.inner;
    lathe::check(packed.numel() >= room, "gemm_bias_gelu: the packed weight is too small");
    if (job.rows == 0 || job.outer == 0)
        return;
    job.x = x.data<void>();
    job.weight = packed.data<void>();
    job.y = y.data<void>();
    if (pairs)
        multiply<Bfloat>(job, static_cast<const std::uint16_t*>(bias.data<void>()));
    else
        multiply<Float>(job, bias.data<float>());
}

} // namespace

LATHE_EXPORT(pack_weight, packWeight)
LATHE_EXPORT(gemm_bias_gelu, gemmBiasGelu)
