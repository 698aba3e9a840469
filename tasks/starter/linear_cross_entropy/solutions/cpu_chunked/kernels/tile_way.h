// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// With AMX tiles, for bf16. A block of 32 words by 32 rows of logits stays in the first-level
// cache: while the tile unit works on the next one, the vectors take it into the softmax, or turn
// it into the gradient. The second pass computes the logits again, so that nothing of their size is
// held.
#pragma once

#include "vectors.h"

#if defined(__AMX_BF16__) && defined(__AMX_TILE__) && defined(__AVX512BF16__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#define USE_AMX 1
#else
#define USE_AMX 0
#endif

#if USE_AMX
namespace tile_way {

constexpr std::int64_t kWords = 256;     // words of a block
constexpr std::int64_t kPieceRows = 512; // rows whose gradients of logits are held for a block
constexpr std::int64_t kTile = 16 * 32;  // elements of a tile: 16 rows of 64 bytes
constexpr std::int64_t kBlock = 32;      // rows and columns of what is computed at once
constexpr std::int64_t kSums = kBlock * kBlock;

/// The kernel lets a process use the tile registers only after it has asked.
inline bool allowed()
{
    constexpr long kRequestPermission = 0x1023;
    constexpr long kTileData = 18;
    static const bool granted = ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
    return granted;
}

/// Tile registers of this thread, while it lives.
class Tiles
{
public:
    Tiles()
    {
        alignas(64) std::uint8_t config[64] = {1}; // palette 1
        for (int i = 0; i < 8; ++i) {
            config[16 + 2 * i] = 64; // bytes a row
            config[48 + i] = 16;     // rows
        }
        asm volatile("" ::"r"(config) : "memory");
        _tile_loadconfig(config);
    }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
    ~Tiles() { _tile_release(); }
};

/// sums (32 x 32) = or += a b over tiles; aNext, bNext: from the first 16 rows, or columns, to the
/// next. `between` is called in every step.
template <class Between>
inline void product(const std::uint16_t* a,
                    std::int64_t aNext,
                    const std::uint16_t* b,
                    std::int64_t bNext,
                    std::int64_t steps,
                    bool add,
                    float* sums,
                    Between&& between)
{
    constexpr long kStride = kBlock * sizeof(float);
    asm volatile("" ::: "memory"); // the tile instructions do not tell the compiler what they read
    if (add) {
        _tile_loadd(0, sums, kStride);
        _tile_loadd(1, sums + 16, kStride);
        _tile_loadd(2, sums + 16 * kBlock, kStride);
        _tile_loadd(3, sums + 16 * kBlock + 16, kStride);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    for (std::int64_t k = 0; k < steps; ++k) {
        const std::int64_t at = k * kTile;
        _tile_loadd(6, b + at, 64);
        _tile_loadd(4, a + at, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b + bNext + at, 64);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, a + aNext + at, 64);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        between();
    }
    _tile_stored(0, sums, kStride);
    _tile_stored(1, sums + 16, kStride);
    _tile_stored(2, sums + 16 * kBlock, kStride);
    _tile_stored(3, sums + 16 * kBlock + 16, kStride);
    asm volatile("" ::: "memory");
}

/// A matrix of 16 x 16 32-bit words, in 16 registers.
inline void transpose(__m512i (&row)[16])
{
    __m512i t[16];
    for (int i = 0; i < 16; i += 2) {
        t[i] = _mm512_unpacklo_epi32(row[i], row[i + 1]);
        t[i + 1] = _mm512_unpackhi_epi32(row[i], row[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        row[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
        row[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
        row[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
        row[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
    }
    for (int i = 0; i < 4; ++i) { // 128-bit quarters of rows i, i + 4, i + 8, i + 12
        t[i] = _mm512_shuffle_i32x4(row[i], row[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_i32x4(row[i], row[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_i32x4(row[i + 8], row[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_i32x4(row[i + 8], row[i + 12], 0xdd);
    }
    for (int i = 0; i < 4; ++i) {
        row[i] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0x88);
        row[i + 8] = _mm512_shuffle_i32x4(t[i], t[i + 8], 0xdd);
        row[i + 4] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0x88);
        row[i + 12] = _mm512_shuffle_i32x4(t[i + 4], t[i + 12], 0xdd);
    }
}

/// A matrix in memory: rows of `columns` bf16 elements.
struct Matrix
{
    const std::uint16_t* data;
    std::int64_t rows;
    std::int64_t columns;

    /// count elements from (row, column) on, zero where there are none.
    __m512i many(std::int64_t row, std::int64_t column) const // 32
    {
        return _mm512_maskz_loadu_epi16(mask<__mmask32>(row, column, 32),
                                        data + row * columns + column);
    }
    __m256i half(std::int64_t row, std::int64_t column) const // 16
    {
        return _mm256_maskz_loadu_epi16(mask<__mmask16>(row, column, 16),
                                        data + row * columns + column);
    }

private:
    template <class Mask>
    Mask mask(std::int64_t row, std::int64_t column, std::int64_t most) const
    {
        const std::int64_t here =
            row < rows ? std::clamp<std::int64_t>(columns - column, 0, most) : 0;
        return static_cast<Mask>((std::uint64_t{1} << here) - 1);
    }
};

/// Tiles of 16 rows and 32 columns: [rows / 16][columns / 32][16][32].
inline void tilesOf(const Matrix& m, std::int64_t rows, std::int64_t columns, std::uint16_t* to)
{
    for (std::int64_t r = 0; r < rows; ++r) {
        std::uint16_t* at = to + r / 16 * 16 * columns + r % 16 * 32;
        for (std::int64_t c = 0; c < columns; c += 32, at += kTile)
            _mm512_storeu_si512(at, m.many(r, c));
    }
}

/// The transposed tiles, pairs of neighbouring columns kept together: [rows / 16][columns / 32]
/// [16 pairs][16 rows][2].
inline void
transposedPairs(const Matrix& m, std::int64_t rows, std::int64_t columns, std::uint16_t* to)
{
    for (std::int64_t r = 0; r < rows; r += 16)
        for (std::int64_t c = 0; c < columns; c += 32, to += kTile) {
            __m512i row[16];
            for (int i = 0; i < 16; ++i)
                row[i] = m.many(r + i, c);
            transpose(row);
            for (int i = 0; i < 16; ++i)
                _mm512_storeu_si512(to + i * 32, row[i]);
        }
}

/// Pairs of neighbouring rows: [columns / 16][rows / 32][16 pairs][16 columns][2].
inline void pairs(const Matrix& m, std::int64_t rows, std::int64_t columns, std::uint16_t* to)
{
    for (std::int64_t c = 0; c < columns; c += 16)
        for (std::int64_t r = 0; r < rows; r += 2, to += 32) {
            const __m512i low = _mm512_cvtepu16_epi32(m.half(r, c));
            const __m512i high = _mm512_cvtepu16_epi32(m.half(r + 1, c));
            _mm512_storeu_si512(to, _mm512_or_si512(low, _mm512_slli_epi32(high, 16)));
        }
}

/// Takes a block of logits into the running softmax, in units.
struct Follow
{
    const Problem* problem = nullptr;
    Running* running = nullptr;
    float* labelLogits = nullptr;
    const float* sums = nullptr; // [word][row]
    std::int64_t firstWord = 0;
    std::int64_t words = 0;
    std::int64_t firstRow = 0;
    std::int64_t rows = 0;
    std::int64_t done = 0;
    Floats most[2];
    Floats sum[2];

    static constexpr std::int64_t kUnits = kBlock;
    void some(std::int64_t count)
    {
        if (done >= words)
            return;
        if (done == 0)
            begin();
        const std::int64_t last = std::min(done + count, words);
        for (; done < last; ++done) {
            sum[0] += expOf(load<Floats>(sums + done * kBlock) - most[0]);
            sum[1] += expOf(load<Floats>(sums + done * kBlock + 16) - most[1]);
        }
        if (done == words)
            end();
    }

private:
    void begin()
    {
        for (int c = 0; c < 2; ++c) {
            const auto before = load<Floats>(running->most.data() + firstRow + 16 * c);
            most[c] = before;
            for (std::int64_t w = 0; w < words; ++w) {
                const auto value = load<Floats>(sums + w * kBlock + 16 * c);
                most[c] = most[c] < value ? value : most[c];
            }
            sum[c] =
                load<Floats>(running->sum.data() + firstRow + 16 * c) * expOf(before - most[c]);
        }
    }
    void end()
    {
        for (int c = 0; c < 2; ++c) {
            put(running->most.data() + firstRow + 16 * c, most[c]);
            put(running->sum.data() + firstRow + 16 * c, sum[c]);
        }
        for (std::int64_t r = 0; r < rows; ++r) {
            const std::int64_t word = problem->labels[firstRow + r] - firstWord;
            if (word >= 0 && word < words)
                labelLogits[firstRow + r] = sums[word * kBlock + r];
        }
    }
};

/// Turns a block of logits into their gradient and stores it as tiles of words by rows and of rows
/// by words, in units.
struct Overwrite
{
    const Problem* problem = nullptr;
    float* sums = nullptr; // [word][row]
    const float* logSums = nullptr;
    const float* scale = nullptr;
    std::int64_t firstWord = 0;
    std::int64_t words = 0;
    std::int64_t firstRow = 0;
    std::int64_t rows = 0;
    std::uint16_t* byWord = nullptr; // two tiles, the second byWordNext behind
    std::int64_t byWordNext = 0;
    std::uint16_t* byRow = nullptr;
    std::int64_t byRowNext = 0;
    std::int64_t done = kUnits;

    // A word; four rows of tiles; a quarter transposed.
    static constexpr std::int64_t kUnits = kBlock + 8 + 4;
    void some(std::int64_t count)
    {
        for (; count > 0 && done < kUnits; --count, ++done) {
            if (done < kBlock)
                gradient(done);
            else if (done < kBlock + 8)
                store(done - kBlock);
            else
                storeTransposed(static_cast<int>(done - kBlock - 8));
        }
    }

private:
    void gradient(std::int64_t w)
    {
        float* at = sums + w * kBlock;
        for (int c = 0; c < kBlock; c += 16) {
            const Floats value =
                w < words ? expOf(load<Floats>(at + c) - load<Floats>(logSums + firstRow + c))
                                * load<Floats>(scale + firstRow + c)
                          : Floats{};
            put(at + c, value);
        }
    }
    void store(std::int64_t unit)
    {
        if (unit == 0) {
            for (std::int64_t r = 0; r < rows; ++r) {
                const std::int64_t word = problem->labels[firstRow + r] - firstWord;
                if (word >= 0 && word < words)
                    sums[word * kBlock + r] -= scale[firstRow + r];
            }
        }
        for (std::int64_t w = 4 * unit; w < 4 * unit + 4; ++w) {
            const auto packed = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(sums + w * kBlock + 16),
                                                    _mm512_loadu_ps(sums + w * kBlock));
            _mm512_storeu_si512(byWord + w / 16 * byWordNext + w % 16 * 32,
                                reinterpret_cast<__m512i>(packed));
        }
    }
    void storeTransposed(int quarter)
    {
        const int w = quarter / 2 * 16;
        const int r = quarter % 2 * 16;
        __m512i row[16];
        for (int i = 0; i < 16; ++i)
            row[i] = _mm512_loadu_si512(sums + (w + i) * kBlock + r);
        transpose(row);
        for (int i = 0; i < 16; ++i)
            _mm256_storeu_si256(
                reinterpret_cast<__m256i*>(byRow + r / 16 * byRowNext + i * 32 + w),
                reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(row[i]))));
    }
};

/// Rounds a block of sums into a result, in units of a row.
struct Store
{
    const float* sums = nullptr;
    std::uint16_t* to = nullptr;
    std::int64_t stride = 0;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t done = 0;

    static constexpr std::int64_t kUnits = kBlock;
    void some(std::int64_t count)
    {
        const std::int64_t last = std::min(done + count, rows);
        const auto mask = static_cast<__mmask32>(
            (std::uint64_t{1} << std::min<std::int64_t>(columns, kBlock)) - 1);
        for (; done < last; ++done) {
            const auto packed = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(sums + done * kBlock + 16),
                                                    _mm512_loadu_ps(sums + done * kBlock));
            _mm512_mask_storeu_epi16(to + done * stride, mask, reinterpret_cast<__m512i>(packed));
        }
    }
};

class Way
{
public:
    Way(const Problem& problem, bool gradients)
        : m_problem(problem)
        , m_width(roundUp(problem.hidden, kBlock))
        , m_padded(roundUp(problem.rows, kBlock))
        , m_threads(omp_get_max_threads())
        , m_blocks((problem.vocabulary + kWords - 1) / kWords)
    {
        static thread_local Scratch forms;
        static thread_local Scratch floats;
        const Matrix x{static_cast<const std::uint16_t*>(problem.x), problem.rows, problem.hidden};
        const std::int64_t size = m_padded * m_width;
        m_across = forms.atLeast<std::uint16_t>(gradients ? 2 * size : size);
        transposedPairs(x, m_padded, m_width, m_across);
        if (gradients) {
            m_along = m_across + size;
            pairs(x, m_padded, m_width, m_along);
            m_scale = floats.atLeast<float>(2 * m_padded + m_threads * size);
            m_logSums = m_scale + m_padded;
            m_dx = m_logSums + m_padded;
        }
    }

    /// log(sum(exp(logits))) and the logit of the label of every row.
    void statistics(float* logSums, float* labelLogits)
    {
        std::vector<Running*> parts(static_cast<std::size_t>(m_threads));
#pragma omp parallel num_threads(m_threads)
        {
            Running running(m_padded);
            parts[static_cast<std::size_t>(omp_get_thread_num())] = &running;
            Local local(*this);
            {
                const Tiles tiles;
#pragma omp for schedule(static)
                for (std::int64_t block = 0; block < m_blocks; ++block) {
                    local.takeWords(block);
                    Follow follow;
                    local.logits(0, m_padded, follow, [&](std::int64_t word, std::int64_t row) {
                        Follow next;
                        next.problem = &m_problem;
                        next.running = &running;
                        next.labelLogits = labelLogits;
                        next.firstWord = local.firstWord + word;
                        next.words = std::min(kBlock, local.words - word);
                        next.firstRow = row;
                        next.rows = std::min(kBlock, m_problem.rows - row);
                        return next;
                    });
                }
            }
#pragma omp for schedule(static)
            for (std::int64_t r = 0; r < m_problem.rows; ++r)
                mergeRunning(parts, r, r + 1, 0, logSums);
        }
    }

    /// With the statistics of a call before.
    void gradients(const float* logSums, float scale, std::uint16_t* dx, std::uint16_t* dw)
    {
        std::fill_n(m_scale, m_padded, 0.0f); // rows of padding have no gradient
        std::fill_n(m_scale, m_problem.rows, scale);
        std::fill_n(m_logSums, m_padded, 0.0f);
        std::copy_n(logSums, m_problem.rows, m_logSums);
        const std::int64_t size = m_padded * m_width;
#pragma omp parallel num_threads(m_threads)
        {
            float* own = m_dx + omp_get_thread_num() * size;
            std::memset(own, 0, static_cast<std::size_t>(size) * sizeof *own);
            Local local(*this);
            {
                const Tiles tiles;
#pragma omp for schedule(static)
                for (std::int64_t block = 0; block < m_blocks; ++block) {
                    local.takeWords(block);
                    local.takePairs();
                    for (std::int64_t row = 0; row < m_padded; row += kPieceRows)
                        local.piece(row, std::min(kPieceRows, m_padded - row), own, dw);
                }
            }
            const int threads = omp_get_num_threads();
            const std::int64_t across = m_width / kBlock;
#pragma omp for schedule(static)
            for (std::int64_t b = 0; b < m_padded / kBlock * across; ++b) {
                float* sums = m_dx + b * kSums;
                for (int t = 1; t < threads; ++t)
                    for (std::int64_t i = 0; i < kSums; i += kLanes)
                        put(sums + i, load<Floats>(sums + i) + load<Floats>(sums + t * size + i));
                const std::int64_t row = b / across * kBlock;
                const std::int64_t column = b % across * kBlock;
                Store store{sums,
                            dx + row * m_problem.hidden + column,
                            m_problem.hidden,
                            std::min(kBlock, m_problem.rows - row),
                            m_problem.hidden - column};
                store.some(kBlock);
            }
        }
    }

private:
    /// What one thread works with.
    struct Local
    {
        explicit Local(Way& way)
            : m_way(way)
            , m_p(way.m_problem)
        {
            static thread_local Scratch halves;
            static thread_local Scratch floats;
            const std::int64_t form = kWords * way.m_width;
            const std::int64_t gradient = kWords * std::min(kPieceRows, way.m_padded);
            m_words = halves.atLeast<std::uint16_t>(2 * form + 2 * gradient);
            m_pairs = m_words + form;
            m_byWord = m_pairs + form;
            m_byRow = m_byWord + gradient;
            // Where there are several pieces of rows, dW of the block is held between them.
            m_sums = floats.atLeast<float>(2 * kSums + (way.m_padded > kPieceRows ? form : 0));
            m_dw = m_sums + 2 * kSums;
        }

        void takeWords(std::int64_t block)
        {
            firstWord = block * kWords;
            words = std::min(kWords, m_p.vocabulary - firstWord);
            m_height = roundUp(words, kBlock);
            tilesOf(matrix(), m_height, m_way.m_width, m_words);
        }
        void takePairs() { pairs(matrix(), m_height, m_way.m_width, m_pairs); }

        /// Logits of all words of the block and rows [first, last); the vector work on a block is
        /// done while the next one is computed.
        template <class Work, class Make>
        void logits(std::int64_t first, std::int64_t last, Work work, const Make& make)
        {
            const std::int64_t steps = m_way.m_width / 32;
            const std::int64_t next = 16 * m_way.m_width;
            const std::int64_t each = (Work::kUnits + steps - 1) / steps;
            float* sums = m_sums;
            for (std::int64_t w = 0; w < m_height; w += kBlock)
                for (std::int64_t r = first; r < last; r += kBlock) {
                    product(m_words + w * m_way.m_width,
                            next,
                            m_way.m_across + r * m_way.m_width,
                            next,
                            steps,
                            false,
                            sums,
                            [&] { work.some(each); });
                    work = make(w, r);
                    work.sums = sums;
                    sums = sums == m_sums ? m_sums + kSums : m_sums;
                }
            work.some(Work::kUnits);
        }

        /// Gradients that come from `count` rows and all words of the block.
        void piece(std::int64_t first, std::int64_t count, float* dx, std::uint16_t* dw)
        {
            const std::int64_t width = m_way.m_width;
            logits(first, first + count, Overwrite(), [&](std::int64_t word, std::int64_t row) {
                Overwrite next;
                next.problem = &m_p;
                next.logSums = m_way.m_logSums;
                next.scale = m_way.m_scale;
                next.firstWord = firstWord + word;
                next.words = std::min(kBlock, words - word);
                next.firstRow = row;
                next.rows = std::min(kBlock, m_p.rows - row);
                next.byWord = m_byWord + word * count + (row - first) / 32 * kTile;
                next.byWordNext = 16 * count;
                next.byRow = m_byRow + (row - first) * m_height + word / 32 * kTile;
                next.byRowNext = 16 * m_height;
                next.done = 0;
                return next;
            });

            const bool only = m_way.m_padded <= kPieceRows;
            const bool final = first + count == m_way.m_padded;
            const std::int64_t rowSteps = count / 32;
            const std::int64_t each = (Store::kUnits + rowSteps - 1) / rowSteps;
            float* sums = m_sums;
            Store store;
            for (std::int64_t w = 0; w < m_height; w += kBlock)
                for (std::int64_t h = 0; h < width; h += kBlock) {
                    if (!only)
                        sums = m_dw + (w * width + h * kBlock);
                    product(m_byWord + w * count,
                            16 * count,
                            m_way.m_along + h * m_way.m_padded + first / 32 * kTile,
                            16 * m_way.m_padded,
                            rowSteps,
                            first > 0,
                            sums,
                            [&] { store.some(each); });
                    if (final)
                        store = Store{sums,
                                      dw + (firstWord + w) * m_p.hidden + h,
                                      m_p.hidden,
                                      std::min(kBlock, words - w),
                                      m_p.hidden - h};
                    sums = sums == m_sums ? m_sums + kSums : m_sums;
                }
            store.some(kBlock);

            for (std::int64_t r = 0; r < count; r += kBlock)
                for (std::int64_t h = 0; h < width; h += kBlock)
                    product(m_byRow + r * m_height,
                            16 * m_height,
                            m_pairs + h * m_height,
                            16 * m_height,
                            m_height / 32,
                            true,
                            dx + (first + r) * width + h * kBlock,
                            [] {});
        }

        std::int64_t firstWord = 0;
        std::int64_t words = 0;

    private:
        Matrix matrix() const
        {
            return {static_cast<const std::uint16_t*>(m_p.weight) + firstWord * m_p.hidden,
                    words,
                    m_p.hidden};
        }

        Way& m_way;
        const Problem& m_p;
        std::int64_t m_height = 0;         ///< words, padded
        std::uint16_t* m_words = nullptr;  ///< W as tiles
        std::uint16_t* m_pairs = nullptr;  ///< W, pairs along the words
        std::uint16_t* m_byWord = nullptr; ///< gradient of the logits, words by rows
        std::uint16_t* m_byRow = nullptr;  ///< and rows by words
        float* m_sums = nullptr;           ///< two blocks
        float* m_dw = nullptr;
    };

    Problem m_problem;
    std::int64_t m_width;  ///< hidden, padded
    std::int64_t m_padded; ///< rows, padded
    int m_threads;
    std::int64_t m_blocks;
    std::uint16_t* m_across = nullptr; ///< x, pairs along hidden
    std::uint16_t* m_along = nullptr;  ///< x, pairs along the rows
    float* m_scale = nullptr;
    float* m_logSums = nullptr; ///< with padding
    float* m_dx = nullptr;      ///< one for each thread, in blocks
};

} // namespace tile_way
#endif
