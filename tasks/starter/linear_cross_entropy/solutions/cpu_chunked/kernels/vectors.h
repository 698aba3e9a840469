// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// What both ways of computing share: vectors, scratch memory and the running softmax.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <omp.h>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
typedef float Floats __attribute__((vector_size(kLanes * 4)));
typedef std::int32_t Ints __attribute__((vector_size(kLanes * 4)));
typedef std::uint32_t Words __attribute__((vector_size(kLanes * 4)));
typedef std::uint16_t Halves __attribute__((vector_size(kLanes * 2)));

/// Rows are counted in steps of this many, so that every vector and tile is whole.
constexpr std::int64_t kStep = 32;

inline std::int64_t roundUp(std::int64_t value, std::int64_t step)
{
    return (value + step - 1) / step * step;
}

template <class To>
inline To load(const void* from)
{
    To value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

inline void put(float* to, Floats value)
{
    std::memcpy(to, &value, sizeof value);
}

/// The value in every lane. Less zero, not plus zero, which would change -0 and so is computed.
inline Floats all(float value)
{
    return value - Floats{};
}

inline Floats widen(const std::uint16_t* from)
{
    return reinterpret_cast<Floats>(__builtin_convertvector(load<Halves>(from), Words) << 16);
}

/// Round to nearest, ties to even; NaN stays NaN.
inline Halves narrow(Floats value)
{
#if defined(__AVX512BF16__)
    return reinterpret_cast<Halves>(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(value)));
#else
    const Words bits = reinterpret_cast<Words>(value);
    const Words high = bits >> 16;
    const Words rounded = (bits + ((high & 1u) + 0x7fffu)) >> 16;
    return __builtin_convertvector(value == value ? rounded : (high | 0x40u), Halves);
#endif
}

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

/// Memory that is kept from call to call, so that its pages are new only once.
class Scratch
{
public:
    template <class T>
    T* atLeast(std::int64_t count)
    {
        const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
        if (bytes > m_bytes) {
            m_data.reset();
            m_data.reset(std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096));
            if (!m_data)
                throw std::bad_alloc();
            m_bytes = bytes;
        }
        return static_cast<T*>(m_data.get());
    }

private:
    struct Free
    {
        void operator()(void* data) const { std::free(data); }
    };
    std::unique_ptr<void, Free> m_data;
    std::size_t m_bytes = 0;
};

struct Problem
{
    const void* x;
    const void* weight;
    const std::int64_t* labels;
    std::int64_t rows;
    std::int64_t hidden;
    std::int64_t vocabulary;
    bool halves; ///< bf16, else float32
};

/// For every row the greatest logit so far and the sum of exponentials less it, as one thread saw
/// them.
struct Running
{
    explicit Running(std::int64_t rows)
        : most(static_cast<std::size_t>(rows), -std::numeric_limits<float>::infinity())
        , sum(static_cast<std::size_t>(rows), 0.0f)
    {}
    std::vector<float> most;
    std::vector<float> sum;
};

/// Brings all threads' figures together (null: a thread that there was not): log of the sum of
/// exponentials of rows [first, last).
inline void mergeRunning(const std::vector<Running*>& parts,
                         std::int64_t first,
                         std::int64_t last,
                         std::int64_t offset,
                         float* logSums)
{
    for (std::int64_t r = first; r < last; ++r) {
        const auto at = static_cast<std::size_t>(r);
        float most = -std::numeric_limits<float>::infinity();
        for (const Running* part : parts)
            if (part != nullptr)
                most = std::max(most, part->most[at]);
        double sum = 0;
        for (const Running* part : parts)
            if (part != nullptr && part->sum[at] != 0)
                sum += part->sum[at] * std::exp(static_cast<double>(part->most[at]) - most);
        logSums[offset + r] = static_cast<float>(most + std::log(sum));
    }
}
