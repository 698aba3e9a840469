// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// y = x W^T with 4-bit weights in groups of 128, in one pass over the packed weights.
//
// Sixteen rows of W form a block, group by group, so that a thread reads one sequential stream.
// Codes are packed so that a shift by a multiple of four brings vectors of weights in the order in
// which x is read. The scale is applied to the sum over a group, in float32.
//
// With vector instructions a group of one row is one vector of 64 bytes: nibble j of lane i is
// k = lanes * j + i, with lanes of 32 bits for float32 and of 16 bits for bfloat16. A permutation
// looks up "code less zero point", exact in either type, in a table for each zero point.
//
// With matrix instructions, for bfloat16 where the CPU has them, the codes of a block's group
// become four tiles of weights 128 + c, and 128 and the zero points are taken off the sums.
#include <lathe/kernel.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#define W4A16_TILES 1
#endif

namespace {

constexpr std::int64_t kGroup = 128;
constexpr std::int64_t kBlock = 16;
constexpr std::int64_t kBytes = kGroup / 2; // of a group of one row
// Below this many bytes of codes, waking another thread costs more than it saves.
constexpr std::int64_t kParallelBytes = 64 << 10;

#if defined(__AVX512BF16__) && defined(__AVX512BW__)
constexpr bool kBfloatDots = true;
#else
constexpr bool kBfloatDots = false; // bfloat16 is widened and goes the way of float32
#endif

std::uint16_t bfloatBits(float value)
{
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if (value != value)
        return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
    return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

void putResult(std::uint16_t* to, float value)
{
    *to = bfloatBits(value);
}
void putResult(float* to, float value)
{
    *to = value;
}

/// What all ways of multiplying a block have in common.
struct Block
{
    const std::uint8_t* codes; // [groups][16][64]
    const std::uint8_t* zeros; // [groups][16]
    const float* scales;       // [groups][16]
    std::int64_t groups;
};

// ---------------------------------------------------------------------------------------- float32

#if defined(__AVX512F__)
constexpr std::array<std::array<float, 16>, 16> floatTables()
{
    std::array<std::array<float, 16>, 16> tables{};
    for (int zero = 0; zero < 16; ++zero)
        for (int code = 0; code < 16; ++code)
            tables[zero][code] = static_cast<float>(code - zero);
    return tables;
}
alignas(64) constexpr auto kFloatTables = floatTables();

/// sums[m][r]: kRows rows of x times the block's rows r.
template <int kRows>
void dotFloat(const Block& block, const float* x, std::int64_t stride, float (*sums)[kBlock])
{
    constexpr int kStep = kRows == 1 ? 8 : kRows == 2 ? 4 : 2; // rows of W at a time
    for (int first = 0; first < kBlock; first += kStep) {
        __m512 total[kRows][kStep];
        for (auto& row : total)
            for (auto& value : row)
                value = _mm512_setzero_ps();
        for (std::int64_t g = 0; g < block.groups; ++g) {
            __m512 group[kRows][kStep];
            __m512i codes[kStep];
            __m512 table[kStep];
            for (int r = 0; r < kStep; ++r) {
                const std::int64_t at = g * kBlock + first + r;
                codes[r] = _mm512_loadu_si512(block.codes + at * kBytes);
                table[r] = _mm512_load_ps(kFloatTables[block.zeros[at]].data());
                for (int m = 0; m < kRows; ++m)
                    group[m][r] = _mm512_setzero_ps();
            }
#pragma GCC unroll 8
            for (int j = 0; j < 8; ++j) {
                __m512 in[kRows];
                for (int m = 0; m < kRows; ++m)
                    in[m] = _mm512_loadu_ps(x + m * stride + g * kGroup + 16 * j);
                for (int r = 0; r < kStep; ++r) {
                    const __m512 weight = _mm512_permutexvar_ps(codes[r], table[r]);
                    codes[r] = _mm512_srli_epi32(codes[r], 4);
                    for (int m = 0; m < kRows; ++m)
                        group[m][r] = _mm512_fmadd_ps(weight, in[m], group[m][r]);
                }
            }
            for (int r = 0; r < kStep; ++r) {
                const __m512 scale = _mm512_set1_ps(block.scales[g * kBlock + first + r]);
                for (int m = 0; m < kRows; ++m)
                    total[m][r] = _mm512_fmadd_ps(group[m][r], scale, total[m][r]);
            }
        }
        for (int m = 0; m < kRows; ++m)
            for (int r = 0; r < kStep; ++r)
                sums[m][first + r] = _mm512_reduce_add_ps(total[m][r]);
    }
}
#else
typedef float Floats __attribute__((vector_size(32)));
typedef std::int32_t Words __attribute__((vector_size(32)));

template <int kRows>
void dotFloat(const Block& block, const float* x, std::int64_t stride, float (*sums)[kBlock])
{
    for (int r = 0; r < kBlock; ++r) {
        Floats total[kRows] = {};
        for (std::int64_t g = 0; g < block.groups; ++g) {
            const std::int64_t at = g * kBlock + r;
            const Floats zero = Floats{} + static_cast<float>(block.zeros[at]);
            Floats group[kRows][2] = {};
            Words codes[2];
            std::memcpy(codes, block.codes + at * kBytes, sizeof codes);
            for (int j = 0; j < 8; ++j)
                for (int half = 0; half < 2; ++half) {
                    const Words code = (codes[half] >> (4 * j)) & 15;
                    const Floats weight = __builtin_convertvector(code, Floats) - zero;
                    for (int m = 0; m < kRows; ++m) {
                        Floats in;
                        std::memcpy(
                            &in, x + m * stride + g * kGroup + 16 * j + 8 * half, sizeof in);
                        group[m][half] += weight * in;
                    }
                }
            for (int m = 0; m < kRows; ++m)
                total[m] += (group[m][0] + group[m][1]) * block.scales[at];
        }
        for (int m = 0; m < kRows; ++m) {
            sums[m][r] = 0;
            for (int i = 0; i < 8; ++i)
                sums[m][r] += total[m][i];
        }
    }
}
#endif

// --------------------------------------------------------------------------------------- bfloat16

#if defined(__AVX512BF16__) && defined(__AVX512BW__)
/// Every table twice: the lookup counts five bits, of which the highest is the next code's.
constexpr std::array<std::array<std::uint16_t, 32>, 16> bfloatTables()
{
    std::array<std::array<std::uint16_t, 32>, 16> tables{};
    for (int zero = 0; zero < 16; ++zero)
        for (int code = 0; code < 32; ++code)
            tables[zero][code] = static_cast<std::uint16_t>(
                std::bit_cast<std::uint32_t>(static_cast<float>(code % 16 - zero)) >> 16);
    return tables;
}
alignas(64) constexpr auto kBfloatTables = bfloatTables();

/// The four vectors of 32 weights of one group of one row.
inline void unpack(const std::uint8_t* from, std::uint8_t zero, __m512i (&weights)[4])
{
    const __m512i codes = _mm512_loadu_si512(from);
    const __m512i table = _mm512_load_si512(kBfloatTables[zero].data());
    weights[0] = _mm512_permutexvar_epi16(codes, table);
    weights[1] = _mm512_permutexvar_epi16(_mm512_srli_epi16(codes, 4), table);
    weights[2] = _mm512_permutexvar_epi16(_mm512_srli_epi16(codes, 8), table);
    weights[3] = _mm512_permutexvar_epi16(_mm512_srli_epi16(codes, 12), table);
}

inline __m512 dot(__m512 sum, __m512i a, __m512i b)
{
    return _mm512_dpbf16_ps(sum, std::bit_cast<__m512bh>(a), std::bit_cast<__m512bh>(b));
}

template <int kRows>
void dotBfloat(const Block& block,
               const std::uint16_t* x,
               std::int64_t stride,
               float (*sums)[kBlock])
{
    constexpr int kStep = kRows == 1 ? 16 : kRows == 2 ? 8 : 4; // rows of W at a time
    for (int first = 0; first < kBlock; first += kStep) {
        __m512 total[kRows][kStep];
        for (auto& row : total)
            for (auto& value : row)
                value = _mm512_setzero_ps();
        for (std::int64_t g = 0; g < block.groups; ++g) {
            const std::uint16_t* in = x + g * kGroup;
#pragma GCC unroll 16
            for (int r = 0; r < kStep; ++r) {
                const std::int64_t at = g * kBlock + first + r;
                __m512i weights[4];
                unpack(block.codes + at * kBytes, block.zeros[at], weights);
                const __m512 scale = _mm512_set1_ps(block.scales[at]);
#pragma GCC unroll 4
                for (int m = 0; m < kRows; ++m) {
                    __m512 group = _mm512_setzero_ps();
                    for (int j = 0; j < 4; ++j)
                        group =
                            dot(group, weights[j], _mm512_loadu_si512(in + m * stride + 32 * j));
                    total[m][r] = _mm512_fmadd_ps(group, scale, total[m][r]);
                }
            }
        }
        for (int m = 0; m < kRows; ++m)
            for (int r = 0; r < kStep; ++r)
                sums[m][first + r] = _mm512_reduce_add_ps(total[m][r]);
    }
}
#endif

#if W4A16_TILES
constexpr int kBias = 128;
constexpr std::int16_t kBiasBits = 0x4300; // as bfloat16

/// Whether the kernel lets this process use the tile registers.
bool tilesAllowed()
{
    constexpr long kRequestPermission = 0x1023;
    constexpr long kTileData = 18;
    static const bool allowed = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return allowed;
}

/// Tiles 0 and 1: results; even ones: `count` rows of x; odd ones: weights.
struct alignas(64) TileConfig
{
    explicit TileConfig(int count)
    {
        for (int i = 0; i < 8; ++i) {
            rowBytes[i] = 64;
            rows[i] = i > 1 && i % 2 == 1 ? 16 : static_cast<std::uint8_t>(count);
        }
    }
    std::uint8_t palette = 1;
    std::uint8_t start = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t rowBytes[16] = {};
    std::uint8_t rows[16] = {};
};

/// A tile of weights from 256 bytes: weight (k, n), two k side by side, is in row k / 2. A code c
/// becomes the bfloat16 128 + c by writing it into the mantissa.
inline void unpackTile(const std::uint8_t* from, __m512i* to)
{
    constexpr int kAndOr = 0xea; // (a & b) | c
    const __m512i low = _mm512_set1_epi16(15);
    const __m512i base = _mm512_set1_epi16(kBiasBits);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        const __m512i codes = _mm512_loadu_si512(from + i * kBytes);
        const __m512i shifted[4] = {codes,
                                    _mm512_srli_epi16(codes, 4),
                                    _mm512_srli_epi16(codes, 8),
                                    _mm512_srli_epi16(codes, 12)};
        for (int j = 0; j < 4; ++j)
            _mm512_store_si512(&to[4 * i + j],
                               _mm512_ternarylogic_epi32(shifted[j], low, base, kAndOr));
    }
}

/// `count` rows of x, group by group, so that a tile's rows lie together, and their sums.
struct PackedRows
{
    const std::uint16_t* values; // [groups][count][128]
    const float* sums;           // [groups][count]
    int count;
};

/// sums[m][r]: rows of x times the block. Bias and zero points are taken off with the sums of x
/// over groups. The tiles must be configured for so many rows.
void dotTiles(const Block& block, const PackedRows& x, float (*sums)[kBlock])
{
    // One group is unpacked while the one before is multiplied.
    alignas(64) __m512i weights[2][4][kBlock];
    alignas(64) float products[2][16][kBlock];
    __m512 total[16];
    const int count = x.count;
    for (int m = 0; m < count; ++m)
        total[m] = _mm512_setzero_ps();
    const auto take = [&](std::int64_t g) {
        const std::int64_t at = g * kBlock;
        const __m512 scale = _mm512_loadu_ps(block.scales + at);
        const __m512i zero = _mm512_cvtepu8_epi32(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(block.zeros + at)));
        const __m512 shift = _mm512_cvtepi32_ps(_mm512_add_epi32(zero, _mm512_set1_epi32(kBias)));
        for (int m = 0; m < count; ++m) {
            const __m512 product = _mm512_load_ps(products[g & 1][m]);
            const __m512 sum = _mm512_set1_ps(x.sums[g * count + m]);
            total[m] = _mm512_fmadd_ps(_mm512_fnmadd_ps(shift, sum, product), scale, total[m]);
        }
    };
    for (int part = 0; part < 4; ++part)
        unpackTile(block.codes + part * 4 * kBytes, weights[0][part]);
    const auto multiply = [&](std::int64_t g, auto more) {
        const std::uint8_t* next = block.codes + (g + 1) * kBlock * kBytes;
        const std::uint16_t* in = x.values + g * count * kGroup;
        const auto& now = weights[g & 1];
        auto& then = weights[(g + 1) & 1];
        const auto unpackNext = [&](int tile) {
            if constexpr (more)
                unpackTile(next + 4 * tile * kBytes, then[tile]);
            asm volatile("" ::: "memory"); // the tile intrinsics do not say that they read memory
        };
        constexpr int kStride = kGroup * 2;
        asm volatile("" ::: "memory");
        _tile_zero(0);
        _tile_loadd(2, in, kStride);
        _tile_loadd(3, now[0], 64);
        _tile_dpbf16ps(0, 2, 3);
        unpackNext(0);
        _tile_loadd(4, in + 32, kStride);
        _tile_loadd(5, now[1], 64);
        _tile_dpbf16ps(0, 4, 5);
        unpackNext(1);
        _tile_loadd(6, in + 64, kStride);
        _tile_loadd(7, now[2], 64);
        _tile_dpbf16ps(0, 6, 7);
        unpackNext(2);
        _tile_loadd(2, in + 96, kStride);
        _tile_loadd(3, now[3], 64);
        _tile_dpbf16ps(0, 2, 3);
        unpackNext(3);
        if (g > 0)
            take(g - 1);
        _tile_stored(0, products[g & 1], 64);
    };
    for (std::int64_t g = 0; g + 1 < block.groups; ++g)
        multiply(g, std::true_type());
    multiply(block.groups - 1, std::false_type());
    asm volatile("" ::: "memory");
    take(block.groups - 1);
    for (int m = 0; m < count; ++m)
        _mm512_storeu_ps(sums[m], total[m]);
}
#endif

// ------------------------------------------------------------------------------------------ calls

struct Operands
{
    const std::uint8_t* codes;
    const std::uint8_t* zeros;
    const float* scales;
    std::int64_t rows; // of x
    std::int64_t groups;
    std::int64_t width; // of y
    std::int64_t blocks() const { return (width + kBlock - 1) / kBlock; }
    bool parallel() const { return blocks() * kBlock * groups * kBytes > kParallelBytes; }
    Block block(std::int64_t b) const
    {
        const std::int64_t at = b * groups * kBlock;
        return {codes + at * kBytes, zeros + at, scales + at, groups};
    }
};

template <int kRows, class In>
void dotRows(const Block& block, const In* x, std::int64_t stride, float (*sums)[kBlock])
{
#if defined(__AVX512BF16__) && defined(__AVX512BW__)
    if constexpr (sizeof(In) == 2) {
        dotBfloat<kRows>(block, x, stride, sums);
        return;
    }
#endif
    if constexpr (sizeof(In) == 4)
        dotFloat<kRows>(block, x, stride, sums);
}

/// Up to four rows of x at a time.
template <class In, class Out>
void multiply(const Operands& o, const In* x, Out* y)
{
    const std::int64_t stride = o.groups * kGroup;
#pragma omp parallel for schedule(dynamic, 2) if (o.parallel())
    for (std::int64_t b = 0; b < o.blocks(); ++b) {
        const Block block = o.block(b);
        const std::int64_t count = std::min(kBlock, o.width - b * kBlock);
        for (std::int64_t m = 0; m < o.rows; m += 4) {
            float sums[4][kBlock];
            const auto rows = static_cast<int>(std::min<std::int64_t>(4, o.rows - m));
            const In* in = x + m * stride;
            if (rows == 1)
                dotRows<1>(block, in, stride, sums);
            else if (rows == 2)
                dotRows<2>(block, in, stride, sums);
            else if (rows == 3)
                dotRows<3>(block, in, stride, sums);
            else
                dotRows<4>(block, in, stride, sums);
            for (int i = 0; i < rows; ++i)
                for (std::int64_t r = 0; r < count; ++r)
                    putResult(y + (m + i) * o.width + b * kBlock + r, sums[i][r]);
        }
    }
}

#if W4A16_TILES
float sumOf(const std::uint16_t* x, std::int64_t count)
{
    __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    for (std::int64_t i = 0; i < count; i += 32) {
        const __m512i pairs = _mm512_loadu_si512(x + i);
        sums[0] = _mm512_add_ps(sums[0], _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)));
        sums[1] = _mm512_add_ps(
            sums[1], _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-65536))));
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(sums[0], sums[1]));
}

/// Tile rows that cross no cache line.
struct alignas(64) Line
{
    std::uint16_t values[32];
};

/// Rows of x in sixteens. Every thread packs them for itself: that is less than waiting.
void multiplyTiles(const Operands& o, const std::uint16_t* x, std::uint16_t* y)
{
    const std::int64_t stride = o.groups * kGroup;
    const std::int64_t most = std::min<std::int64_t>(o.rows, 16);
#pragma omp parallel if (o.parallel())
    {
        std::vector<float> sums(static_cast<std::size_t>(most * o.groups));
        std::vector<Line> lines(most > 1 ? static_cast<std::size_t>(most * stride / 32) : 0);
        for (std::int64_t first = 0; first < o.rows; first += 16) {
            const std::int64_t rows = std::min<std::int64_t>(16, o.rows - first);
            const std::uint16_t* from = x + first * stride;
            for (std::int64_t g = 0; g < o.groups; ++g)
                for (std::int64_t m = 0; m < rows; ++m) {
                    const std::int64_t at = g * rows + m;
                    const std::uint16_t* group = from + m * stride + g * kGroup;
                    sums[static_cast<std::size_t>(at)] = sumOf(group, kGroup);
                    if (rows > 1)
                        std::memcpy(
                            &lines[static_cast<std::size_t>(at * kGroup / 32)], group, kGroup * 2);
                }
            const PackedRows packed{
                rows > 1 ? lines[0].values : from, sums.data(), static_cast<int>(rows)};
            const TileConfig config(packed.count);
            _tile_loadconfig(&config);
#pragma omp for schedule(dynamic, 2) nowait
            for (std::int64_t b = 0; b < o.blocks(); ++b) {
                float results[16][kBlock];
                dotTiles(o.block(b), packed, results);
                const std::int64_t count = std::min(kBlock, o.width - b * kBlock);
                const auto lanes = static_cast<__mmask16>((1u << count) - 1);
                for (std::int64_t m = 0; m < rows; ++m)
                    _mm256_mask_storeu_epi16(
                        y + (first + m) * o.width + b * kBlock,
                        lanes,
                        std::bit_cast<__m256i>(_mm512_cvtneps_pbh(_mm512_loadu_ps(results[m]))));
            }
            _tile_release();
        }
    }
}
#endif

void multiplyBfloat(const Operands& o, const std::uint16_t* x, std::uint16_t* y)
{
    if constexpr (kBfloatDots) {
#if W4A16_TILES
        if (tilesAllowed()) {
            multiplyTiles(o, x, y);
            return;
        }
#endif
        multiply(o, x, y);
        return;
    }
    std::vector<float> wide(static_cast<std::size_t>(o.rows * o.groups * kGroup));
    for (std::size_t i = 0; i < wide.size(); ++i) {
        const std::uint32_t bits = std::uint32_t{x[i]} << 16;
        std::memcpy(&wide[i], &bits, sizeof bits);
    }
    multiply(o, wide.data(), y);
}

/// How the codes of a group of a block are arranged.
enum class Layout {
    Floats,  // row by row in lanes of 32 bits
    Bfloats, // row by row in lanes of 16 bits
    Tiles,   // four tiles one after the other
};

Layout layoutFor(bool narrow)
{
    if (!narrow || !kBfloatDots)
        return Layout::Floats;
#if W4A16_TILES
    if (tilesAllowed())
        return Layout::Tiles;
#endif
    return Layout::Bfloats;
}

/// Where code k of row r goes, in nibbles from the beginning of the block's group.
std::int64_t nibbleOf(Layout layout, std::int64_t r, std::int64_t k)
{
    if (layout == Layout::Tiles) {
        const std::int64_t pair = k / 2; // tile pair / 16, its row pair % 16; four rows in a vector
        return pair / 4 * 2 * kBytes + (2 * r + k % 2) * 4 + pair % 4;
    }
    const std::int64_t lanes = layout == Layout::Bfloats ? 32 : 16;
    return r * kGroup + k % lanes * (kGroup / lanes) + k / lanes;
}

void checkPacked(const lathe::Tensor& codes,
                 const lathe::Tensor& zeros,
                 const lathe::Tensor& scales)
{
    lathe::check(codes.ndim() == 4 && codes.size(2) == kBlock && codes.size(3) == kBytes
                     && zeros.ndim() == 3 && zeros.sameShape(scales),
                 "w4a16: packed weights must be [blocks, groups, 16, 64], zeros and scales without "
                 "the last axis");
    for (int i = 0; i < 3; ++i)
        lathe::check(codes.size(i) == zeros.size(i),
                     "w4a16: packed weights, zeros and scales differ in shape");
    for (const lathe::Tensor* tensor : {&codes, &zeros, &scales})
        lathe::check(tensor->isCpu() && tensor->isContiguous(),
                     "w4a16: packed weights must be contiguous and on the CPU");
}

void pack(const lathe::Tensor& packed,
          const lathe::Tensor& zeros,
          const lathe::Tensor& scales,
          const lathe::Tensor& blockCodes,
          const lathe::Tensor& blockZeros,
          const lathe::Tensor& blockScales)
{
    checkPacked(blockCodes, blockZeros, blockScales);
    lathe::check(packed.ndim() == 2 && zeros.ndim() == 2 && zeros.sameShape(scales)
                     && packed.size(0) == zeros.size(0) && packed.size(1) == zeros.size(1) * kBytes,
                 "w4a16: weights must be [rows, columns / 2] with whole groups of 128, zeros and "
                 "scales [rows, groups]");
    for (const lathe::Tensor* tensor : {&packed, &zeros, &scales})
        lathe::check(tensor->isCpu() && tensor->isContiguous(),
                     "w4a16: weights must be contiguous and on the CPU");
    const bool narrow = scales.dtype() == lathe::DType::BFloat16;
    lathe::check(narrow || scales.dtype() == lathe::DType::Float32,
                 "w4a16: only bfloat16 and float32 are supported");
    const std::int64_t rows = zeros.size(0);
    const std::int64_t groups = zeros.size(1);
    lathe::check(blockCodes.size(0) == (rows + kBlock - 1) / kBlock && blockCodes.size(1) == groups,
                 "w4a16: the packed weights have another size");
    const auto* from = packed.data<std::uint8_t>();
    const auto* zero = zeros.data<std::uint8_t>();
    auto* toCodes = blockCodes.data<std::uint8_t>();
    auto* toZeros = blockZeros.data<std::uint8_t>();
    auto* toScales = blockScales.data<float>();
    for (std::int64_t i = 0; i < rows * groups; ++i)
        lathe::check(zero[i] < 16, "w4a16: a zero point is not a 4-bit number");

    const Layout layout = layoutFor(narrow);
#pragma omp parallel for
    for (std::int64_t b = 0; b < blockCodes.size(0); ++b)
        for (std::int64_t g = 0; g < groups; ++g) {
            const std::int64_t at = (b * groups + g) * kBlock;
            std::memset(toCodes + at * kBytes, 0, static_cast<std::size_t>(kBlock * kBytes));
            for (std::int64_t r = 0; r < kBlock; ++r) {
                const std::int64_t row = b * kBlock + r;
                const std::int64_t source = row * groups + g;
                toZeros[at + r] = row < rows ? zero[source] : std::uint8_t{0};
                toScales[at + r] = 0;
                if (row >= rows)
                    continue;
                toScales[at + r] = narrow
                                       ? static_cast<float>(scales.data<lathe::BFloat16>()[source])
                                       : scales.data<float>()[source];
                const std::uint8_t* in = from + source * kBytes;
                for (std::int64_t k = 0; k < kGroup; ++k) {
                    const int code = (in[k / 2] >> (k % 2 * 4)) & 15;
                    const std::int64_t nibble = nibbleOf(layout, r, k);
                    toCodes[at * kBytes + nibble / 2] |=
                        static_cast<std::uint8_t>(code << (nibble % 2 * 4));
                }
            }
        }
}

void gemv(const lathe::Tensor& x,
          const lathe::Tensor& codes,
          const lathe::Tensor& zeros,
          const lathe::Tensor& scales,
          const lathe::Tensor& y)
{
    checkPacked(codes, zeros, scales);
    lathe::check(x.ndim() == 2 && y.ndim() == 2 && x.size(0) == y.size(0)
                     && x.size(1) == codes.size(1) * kGroup
                     && codes.size(0) == (y.size(1) + kBlock - 1) / kBlock,
                 "w4a16_gemv: x must be [rows, columns], y [rows, rows of the weight]");
    lathe::check(x.isCpu() && x.isContiguous() && y.isCpu() && y.isContiguous()
                     && x.dtype() == y.dtype(),
                 "w4a16_gemv: x and y must be contiguous, on the CPU and of one type");
    const Operands operands{codes.data<std::uint8_t>(),
                            zeros.data<std::uint8_t>(),
                            scales.data<float>(),
                            x.size(0),
                            codes.size(1),
                            y.size(1)};
    if (x.dtype() == lathe::DType::BFloat16)
        multiplyBfloat(operands,
                       static_cast<const std::uint16_t*>(x.data<void>()),
                       static_cast<std::uint16_t*>(y.data<void>()));
    else if (x.dtype() == lathe::DType::Float32)
        multiply(operands, x.data<float>(), y.data<float>());
    else
        throw lathe::Error("w4a16_gemv: only bfloat16 and float32 are supported");
}

} // namespace

LATHE_EXPORT(w4a16_pack, pack)
LATHE_EXPORT(w4a16_gemv, gemv)
