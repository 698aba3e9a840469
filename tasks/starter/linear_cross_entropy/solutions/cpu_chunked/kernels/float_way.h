// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// With float32 multiply-adds, for float32 and, where there are no tiles, for bf16. Logits are
// computed transposed, a block of words by all rows of a piece: softmax then works along vectors of
// rows and adds nothing up inside of one.
#pragma once

#include "vectors.h"

namespace float_way {

#if defined(__AVX512F__)
constexpr int kTileRows = 12; // 24 sums, 2 vectors of B, 1 of A: 27 of 32 registers
#else
constexpr int kTileRows = 6;
#endif
constexpr int kPanel = 2 * kLanes;
constexpr std::int64_t kWords = 192; // words of a block; a multiple of kTileRows
static_assert(kStep % kPanel == 0 && kWords % kTileRows == 0);

/// c[i][j] = (or +=) sum of a[i * aRow + k * aStep] * b[k][j], kTileRows by kPanel. The sum is
/// added to c as a whole: many short sums err less than a long one.
inline void tile(const float* a,
                 std::int64_t aRow,
                 std::int64_t aStep,
                 const float* b,
                 std::int64_t inner,
                 float* c,
                 std::int64_t cRow,
                 bool add)
{
    Floats sum[kTileRows][2] = {};
    // Every third row; the two after it are addressed by once and twice the distance.
    const float* third[kTileRows / 3];
    for (int i = 0; i < kTileRows / 3; ++i)
        third[i] = a + 3 * i * aRow;
    for (std::int64_t k = 0; k < inner; ++k) {
        const auto left = load<Floats>(b + k * kPanel);
        const auto right = load<Floats>(b + k * kPanel + kLanes);
#pragma GCC unroll 12
        for (int i = 0; i < kTileRows; ++i) {
            const Floats value = all(third[i / 3][i % 3 * aRow]);
            sum[i][0] += value * left;
            sum[i][1] += value * right;
        }
        for (const float*& row : third)
            row += aStep;
    }
    for (int i = 0; i < kTileRows; ++i)
        for (int j = 0; j < 2; ++j) {
            float* to = c + i * cRow + j * kLanes;
            put(to, add ? load<Floats>(to) + sum[i][j] : sum[i][j]);
        }
}

/// Rows of the source as float32, each of `stride`, the rest of a row and missing rows zero.
inline void copyRows(const Problem& p,
                     const void* from,
                     std::int64_t rows,
                     std::int64_t padded,
                     std::int64_t stride,
                     float* to)
{
    for (std::int64_t r = 0; r < padded; ++r, to += stride) {
        std::int64_t k = 0;
        if (r < rows) {
            if (p.halves) {
                const auto* row = static_cast<const std::uint16_t*>(from) + r * p.hidden;
                for (; k + kLanes <= p.hidden; k += kLanes)
                    put(to + k, widen(row + k));
                for (; k < p.hidden; ++k) {
                    const std::uint32_t word = std::uint32_t{row[k]} << 16;
                    std::memcpy(to + k, &word, sizeof word);
                }
            } else {
                std::memcpy(to,
                            static_cast<const float*>(from) + r * p.hidden,
                            static_cast<std::size_t>(p.hidden) * sizeof *to);
                k = p.hidden;
            }
        }
        std::memset(to + k, 0, static_cast<std::size_t>(stride - k) * sizeof *to);
    }
}

/// to[panel][k][kPanel] of the matrix from[k][column].
inline void
panels(const float* from, std::int64_t stride, std::int64_t inner, std::int64_t columns, float* to)
{
    for (std::int64_t j = 0; j < columns; j += kPanel)
        for (std::int64_t k = 0; k < inner; ++k, to += kPanel) {
            put(to, load<Floats>(from + k * stride + j));
            put(to + kLanes, load<Floats>(from + k * stride + j + kLanes));
        }
}

/// to[panel][k][kPanel] of the transposed matrix from[column][k].
inline void transposedPanels(
    const float* from, std::int64_t stride, std::int64_t inner, std::int64_t columns, float* to)
{
    for (std::int64_t j = 0; j < columns; j += kPanel)
        for (std::int64_t k = 0; k < inner; ++k, to += kPanel)
            for (int i = 0; i < kPanel; ++i)
                to[i] = from[(j + i) * stride + k];
}

/// A piece of rows in the forms that the products want.
struct Piece
{
    std::int64_t first = 0;  ///< row
    std::int64_t rows = 0;   ///< without padding
    std::int64_t padded = 0; ///< to kStep
    float* across = nullptr; ///< panels of rows, k along hidden: for the logits
    float* along = nullptr;  ///< panels of hidden, k along rows: for dW
    /// A distance between the rows of a block of logits that does not put all of them into the same
    /// set of the cache.
    std::int64_t stride() const { return padded + 16; }
};

class Way
{
public:
    /// gradients: also what the gradients need. pieceRows: a multiple of kStep.
    Way(const Problem& problem, std::int64_t pieceRows, bool gradients)
        : m_problem(problem)
        , m_width(roundUp(problem.hidden, kStep))
        , m_stride(m_width + 16)
        , m_pieceRows(pieceRows)
        , m_threads(omp_get_max_threads())
    {
        static thread_local Scratch scratch;
        const std::int64_t padded = roundUp(problem.rows, kStep);
        const std::int64_t form = padded * m_width;
        float* at = scratch.atLeast<float>(form * (gradients ? 2 + m_threads : 1)
                                           + padded * m_stride + padded);
        float* copy = at;
        at += padded * m_stride;
        m_scale = at;
        at += padded;
        copyRows(problem, problem.x, problem.rows, padded, m_stride, copy);
        for (std::int64_t first = 0; first < problem.rows; first += pieceRows) {
            Piece piece;
            piece.first = first;
            piece.rows = std::min(pieceRows, problem.rows - first);
            piece.padded = roundUp(piece.rows, kStep);
            piece.across = at;
            at += piece.padded * m_width;
            transposedPanels(
                copy + first * m_stride, m_stride, problem.hidden, piece.padded, piece.across);
            if (gradients) {
                piece.along = at;
                at += piece.padded * m_width;
                panels(copy + first * m_stride, m_stride, piece.padded, m_width, piece.along);
            }
            m_pieces.push_back(piece);
        }
        if (gradients)
            m_dx = at;
        m_blocks = (problem.vocabulary + kWords - 1) / kWords;
    }

    /// log(sum(exp(logits))) and the logit of the label of every row.
    void statistics(float* logSums, float* labelLogits)
    {
        std::vector<Running*> parts(static_cast<std::size_t>(m_threads));
#pragma omp parallel num_threads(m_threads)
        {
            Running running(roundUp(m_problem.rows, kStep));
            parts[static_cast<std::size_t>(omp_get_thread_num())] = &running;
            Local local(*this, false);
#pragma omp for schedule(static)
            for (std::int64_t block = 0; block < m_blocks; ++block) {
                local.takeWords(block);
                for (const Piece& piece : m_pieces) {
                    local.logits(piece, local.block);
                    local.follow(piece, local.block, running, piece.first, labelLogits);
                }
            }
#pragma omp for schedule(static)
            for (std::int64_t r = 0; r < m_problem.rows; ++r)
                mergeRunning(parts, r, r + 1, 0, logSums);
        }
    }

    /// With the statistics of a call before.
    void gradients(const float* logSums, float scale, void* dx, void* dw)
    {
        setScale(scale);
#pragma omp parallel num_threads(m_threads)
        {
            Local local(*this, true);
            float* own = ownDx(roundUp(m_problem.rows, kStep));
#pragma omp for schedule(static)
            for (std::int64_t block = 0; block < m_blocks; ++block) {
                local.takeWords(block);
                local.wordPanels();
                for (const Piece& piece : m_pieces) {
                    local.logits(piece, local.block);
                    local.overwrite(piece, local.block, logSums);
                    local.addDx(piece, local.block, own + piece.first * m_width);
                    local.addDw(piece, local.block, local.dw, m_width, piece.first > 0);
                }
                storeRows(local.dw, m_width, local.words, local.firstWord, dw);
            }
            gatherDx(0, m_problem.rows, dx);
        }
    }

    /// Both at once for float32: the logits of a piece of rows are kept between the two.
    void everything(float* logSums, float* labelLogits, float scale, void* dx, void* dw)
    {
        static thread_local Scratch scratch;
        setScale(scale);
        float* kept = scratch.atLeast<float>(m_blocks * kWords * (m_pieceRows + 16));
        std::vector<Running*> parts(static_cast<std::size_t>(m_threads));
#pragma omp parallel num_threads(m_threads)
        {
            Local local(*this, true);
            for (const Piece& piece : m_pieces) {
                Running running(piece.padded);
                parts[static_cast<std::size_t>(omp_get_thread_num())] = &running;
#pragma omp for schedule(static)
                for (std::int64_t block = 0; block < m_blocks; ++block) {
                    float* logits = kept + block * kWords * piece.stride();
                    local.takeWords(block);
                    local.logits(piece, logits);
                    local.follow(piece, logits, running, 0, labelLogits);
                }
#pragma omp for schedule(static)
                for (std::int64_t r = 0; r < piece.rows; ++r)
                    mergeRunning(parts, r, r + 1, piece.first, logSums);
                float* own = ownDx(piece.padded);
#pragma omp for schedule(static)
                for (std::int64_t block = 0; block < m_blocks; ++block) {
                    float* logits = kept + block * kWords * piece.stride();
                    local.takeWords(block);
                    local.wordPanels();
                    local.overwrite(piece, logits, logSums);
                    local.addDx(piece, logits, own);
                    local.addDw(piece,
                                logits,
                                static_cast<float*>(dw) + local.firstWord * m_problem.hidden,
                                m_problem.hidden,
                                piece.first > 0);
                }
                gatherDx(piece.first, piece.rows, dx);
            }
        }
    }

private:
    /// What one thread works with.
    struct Local
    {
        Local(Way& way, bool gradients)
            : m_way(way)
            , m_p(way.m_problem)
        {
            static thread_local Scratch scratch;
            const std::int64_t blockSize = kWords * (way.m_pieceRows + 16);
            const std::int64_t wordsSize = kWords * way.m_stride;
            float* at = scratch.atLeast<float>(blockSize + wordsSize
                                               + (gradients ? 2 * kWords * way.m_width : 0));
            block = at;
            m_rows = block + blockSize;
            m_panels = m_rows + wordsSize;
            dw = m_panels + kWords * way.m_width;
        }

        void takeWords(std::int64_t number)
        {
            firstWord = number * kWords;
            words = std::min(kWords, m_p.vocabulary - firstWord);
            const std::size_t bytes = m_p.halves ? 2 : 4;
            copyRows(m_p,
                     static_cast<const char*>(m_p.weight)
                         + static_cast<std::size_t>(firstWord * m_p.hidden) * bytes,
                     words,
                     kWords,
                     m_way.m_stride,
                     m_rows);
        }
        void wordPanels()
        {
            panels(m_rows, m_way.m_stride, words, m_way.m_width, m_panels);
            m_panelWords = words;
        }

        /// to[word][row]
        void logits(const Piece& piece, float* to) const
        {
            for (std::int64_t j = 0; j < piece.padded; j += kPanel)
                for (std::int64_t i = 0; i < words; i += kTileRows)
                    tile(m_rows + i * m_way.m_stride,
                         m_way.m_stride,
                         1,
                         piece.across + j * m_p.hidden,
                         m_p.hidden,
                         to + i * piece.stride() + j,
                         piece.stride(),
                         false);
        }

        /// Takes the block into the running softmax.
        void follow(const Piece& piece,
                    const float* logits,
                    Running& running,
                    std::int64_t at,
                    float* labelLogits) const
        {
            const std::int64_t stride = piece.stride();
            for (std::int64_t r = 0; r < piece.padded; r += kLanes) {
                const auto before = load<Floats>(running.most.data() + at + r);
                Floats most = before;
                for (std::int64_t w = 0; w < words; ++w) {
                    const auto value = load<Floats>(logits + w * stride + r);
                    most = most < value ? value : most;
                }
                Floats sum[2] = {load<Floats>(running.sum.data() + at + r) * expOf(before - most),
                                 Floats{}};
                std::int64_t w = 0;
                for (; w + 2 <= words; w += 2) {
                    sum[0] += expOf(load<Floats>(logits + w * stride + r) - most);
                    sum[1] += expOf(load<Floats>(logits + (w + 1) * stride + r) - most);
                }
                if (w < words)
                    sum[0] += expOf(load<Floats>(logits + w * stride + r) - most);
                put(running.most.data() + at + r, most);
                put(running.sum.data() + at + r, sum[0] + sum[1]);
            }
            for (std::int64_t r = 0; r < piece.rows; ++r) {
                const std::int64_t word = m_p.labels[piece.first + r] - firstWord;
                if (word >= 0 && word < words)
                    labelLogits[piece.first + r] = logits[word * stride + r];
            }
        }

        /// Logits become the gradient of the logits.
        void overwrite(const Piece& piece, float* logits, const float* logSums) const
        {
            const std::int64_t stride = piece.stride();
            for (std::int64_t r = 0; r < piece.padded; r += kLanes) {
                Floats less{};
                for (int i = 0; i < kLanes; ++i)
                    less[i] = r + i < piece.rows ? logSums[piece.first + r + i] : 0.0f;
                const auto scale = load<Floats>(m_way.m_scale + piece.first + r);
                for (std::int64_t w = 0; w < words; ++w) {
                    float* at = logits + w * stride + r;
                    put(at, expOf(load<Floats>(at) - less) * scale);
                }
            }
            for (std::int64_t r = 0; r < piece.rows; ++r) {
                const std::int64_t word = m_p.labels[piece.first + r] - firstWord;
                if (word >= 0 && word < words)
                    logits[word * stride + r] -= m_way.m_scale[piece.first + r];
            }
            for (std::int64_t w = words; w < roundUp(words, kTileRows); ++w)
                std::memset(logits + w * stride,
                            0,
                            static_cast<std::size_t>(piece.padded) * sizeof *logits);
        }

        /// to[row][hidden], rows of m_width. Columns past the piece are zero or not looked at.
        void addDx(const Piece& piece, const float* gradient, float* to) const
        {
            float sums[kTileRows * kPanel];
            for (std::int64_t j = 0; j < m_way.m_width; j += kPanel)
                for (std::int64_t i = 0; i < piece.rows; i += kTileRows) {
                    const auto* words = m_panels + j * m_panelWords;
                    float* c = to + i * m_way.m_width + j;
                    if (i + kTileRows <= piece.padded) {
                        tile(gradient + i,
                             1,
                             piece.stride(),
                             words,
                             m_panelWords,
                             c,
                             m_way.m_width,
                             true);
                        continue;
                    }
                    tile(gradient + i, 1, piece.stride(), words, m_panelWords, sums, kPanel, false);
                    for (std::int64_t r = 0; r < piece.padded - i; ++r)
                        for (int k = 0; k < kPanel; ++k)
                            c[r * m_way.m_width + k] += sums[r * kPanel + k];
                }
        }

        /// to[word][hidden]; nothing is written past the words and, where rows are not of m_width,
        /// past hidden.
        void addDw(const Piece& piece,
                   const float* gradient,
                   float* to,
                   std::int64_t toRow,
                   bool add) const
        {
            float sums[kTileRows * kPanel];
            for (std::int64_t j = 0; j < m_way.m_width; j += kPanel)
                for (std::int64_t i = 0; i < words; i += kTileRows) {
                    const auto* a = gradient + i * piece.stride();
                    const auto* b = piece.along + j * piece.padded;
                    float* c = to + i * toRow + j;
                    if (i + kTileRows <= words && j + kPanel <= toRow) {
                        tile(a, piece.stride(), 1, b, piece.padded, c, toRow, add);
                        continue;
                    }
                    tile(a, piece.stride(), 1, b, piece.padded, sums, kPanel, false);
                    for (std::int64_t w = 0; w < std::min<std::int64_t>(kTileRows, words - i); ++w)
                        for (std::int64_t k = 0; k < std::min<std::int64_t>(kPanel, toRow - j); ++k)
                            c[w * toRow + k] =
                                (add ? c[w * toRow + k] : 0.0f) + sums[w * kPanel + k];
                }
        }

        std::int64_t firstWord = 0;
        std::int64_t words = 0;
        float* block = nullptr; ///< logits or their gradient, where they are not kept elsewhere
        float* dw = nullptr;

    private:
        Way& m_way;
        const Problem& m_p;
        float* m_rows = nullptr;
        float* m_panels = nullptr;
        std::int64_t m_panelWords = 0;
    };

    void setScale(float scale)
    {
        const std::int64_t padded = roundUp(m_problem.rows, kStep);
        std::fill_n(m_scale, m_problem.rows, scale);
        std::fill(m_scale + m_problem.rows, m_scale + padded, 0.0f);
    }

    float* ownDx(std::int64_t rows) const
    {
        float* own = m_dx + omp_get_thread_num() * roundUp(m_problem.rows, kStep) * m_width;
        std::memset(own, 0, static_cast<std::size_t>(rows * m_width) * sizeof *own);
        return own;
    }

    /// By all threads together, after a barrier: the sum of the threads' dx, rows from `first` on.
    void gatherDx(std::int64_t first, std::int64_t rows, void* dx) const
    {
        const std::int64_t each = roundUp(m_problem.rows, kStep) * m_width;
        const int threads = omp_get_num_threads();
#pragma omp for schedule(static)
        for (std::int64_t r = 0; r < rows; ++r) {
            float* row = m_dx + r * m_width;
            for (int t = 1; t < threads; ++t)
                for (std::int64_t k = 0; k < m_width; k += kLanes)
                    put(row + k, load<Floats>(row + k) + load<Floats>(row + t * each + k));
            storeRows(row, m_width, 1, first + r, dx);
        }
    }

    /// Rows of float32 into a result, from its row `first` on.
    void storeRows(const float* from,
                   std::int64_t stride,
                   std::int64_t rows,
                   std::int64_t first,
                   void* result) const
    {
        const std::int64_t hidden = m_problem.hidden;
        for (std::int64_t r = 0; r < rows; ++r, from += stride) {
            if (!m_problem.halves) {
                std::memcpy(static_cast<float*>(result) + (first + r) * hidden,
                            from,
                            static_cast<std::size_t>(hidden) * sizeof *from);
                continue;
            }
            auto* to = static_cast<std::uint16_t*>(result) + (first + r) * hidden;
            for (std::int64_t k = 0; k < hidden; k += kLanes) {
                const Halves packed = narrow(load<Floats>(from + k));
                std::memcpy(to + k,
                            &packed,
                            static_cast<std::size_t>(std::min<std::int64_t>(kLanes, hidden - k))
                                * sizeof *to);
            }
        }
    }

    Problem m_problem;
    std::int64_t m_width;  ///< hidden, padded
    std::int64_t m_stride; ///< the same, for rows that are read next to each other
    std::int64_t m_pieceRows;
    int m_threads;
    std::int64_t m_blocks = 0;
    std::vector<Piece> m_pieces;
    float* m_scale = nullptr;
    float* m_dx = nullptr; ///< one of all rows for each thread
};

} // namespace float_way
