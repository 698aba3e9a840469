// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "comparator.h"

#include "decode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace lathe::worker {
namespace {

using protocol::DType;

constexpr std::size_t kBlock = 2048;
constexpr std::size_t kPartsPerThread = 1u << 20;

struct Partial
{
    double errorSquares = 0;
    double goldenSquares = 0;
    double maxAbs = 0;
    double maxRel = 0;
    std::int64_t mismatches = 0;
    std::int64_t firstMismatch = -1;
    std::int64_t worst = -1;
    double expected = 0; ///< at the first mismatch, else at the worst
    double got = 0;
};

struct Job
{
    DType dtype;
    std::span<const std::byte> got;
    DType goldenDtype;
    std::span<const std::byte> golden;
    double scale;
    double largest;
    bool exact;
};

double relativeError(double error, double expected, double scale)
{
    if (error == 0) {
        return 0;
    }
    return error
           / (std::abs(expected)
              + scale); // Inf where both are zero: any difference is infinitely wrong
}

/// Same class of number: NaN with NaN, Inf with Inf of the same sign. A golden beyond what the
/// dtype can hold may come as Inf or as a finite value.
bool sameClass(double got, double expected, double largest)
{
    if (std::isnan(expected) || std::isnan(got)) {
        return std::isnan(expected) && std::isnan(got);
    }
    if (std::isinf(expected)) {
        return got == expected;
    }
    return std::isfinite(got)
           || (std::abs(expected) >= largest && std::signbit(got) == std::signbit(expected));
}

void slowBlock(const Job& job,
               std::size_t first,
               std::span<const double> got,
               std::span<const double> golden,
               Partial& out)
{
    for (std::size_t i = 0; i < got.size(); ++i) {
        const auto index = static_cast<std::int64_t>(first + i);
        const bool finite = std::isfinite(got[i]) && std::isfinite(golden[i]);
        const bool mismatch =
            job.exact ? got[i] != golden[i] : !sameClass(got[i], golden[i], job.largest);
        if (mismatch) {
            ++out.mismatches;
            if (out.firstMismatch < 0) {
                out.firstMismatch = index;
                out.expected = golden[i];
                out.got = got[i];
            }
        }
        if (!finite) {
            continue;
        }
        const double error = std::abs(got[i] - golden[i]);
        const double relative = relativeError(error, golden[i], job.scale);
        out.errorSquares += error * error;
        out.goldenSquares += golden[i] * golden[i];
        out.maxAbs = std::max(out.maxAbs, error);
        if (relative > out.maxRel || out.worst < 0) {
            out.maxRel = std::max(out.maxRel, relative);
            out.worst = index;
            if (out.firstMismatch < 0) {
                out.expected = golden[i];
                out.got = got[i];
            }
        }
    }
}

constexpr std::size_t kLanes = 4;
static_assert(kBlock % kLanes == 0);

/// Sums of one block, in lanes so that the compiler may use vectors without reordering a single
/// sum.
struct BlockSums
{
    std::array<double, kLanes> errorSquares{};
    std::array<double, kLanes> goldenSquares{};
    std::array<double, kLanes> maxAbs{};
    std::array<double, kLanes>
        excess{}; ///< largest error - best * (|golden| + scale): above 0, a new worst is here
};

// Sanitizers and ifunc resolvers do not go together.
#if defined(__x86_64__) && !defined(LATHE_NO_CLONES)
__attribute__((target_clones("avx2", "default")))
#endif
BlockSums
sumBlock(const double* got, const double* golden, std::size_t count, double scale, double best)
{
    // The compiler's own vectors: it does not turn these sums into vectors by itself at strict
    // floating point.
    using Vector = double __attribute__((vector_size(kLanes * sizeof(double))));
    using Bits = std::int64_t __attribute__((vector_size(kLanes * sizeof(double))));
    constexpr auto kMagnitude = std::numeric_limits<std::int64_t>::max();
    Vector errorSquares{};
    Vector goldenSquares{};
    Vector maxAbs{};
    Vector excess{};
    for (std::size_t at = 0; at < count; at += kLanes) {
        Vector expected;
        Vector actual;
        std::memcpy(&expected, golden + at, sizeof expected);
        std::memcpy(&actual, got + at, sizeof actual);
        const Vector difference = actual - expected;
        Bits bits;
        std::memcpy(&bits, &difference, sizeof bits);
        bits &= kMagnitude;
        Vector error;
        std::memcpy(&error, &bits, sizeof error);
        std::memcpy(&bits, &expected, sizeof bits);
        bits &= kMagnitude;
        Vector magnitude;
        std::memcpy(&magnitude, &bits, sizeof magnitude);
        const Vector over = error - best * (magnitude + scale);
        errorSquares += error * error;
        goldenSquares += expected * expected;
        maxAbs = error > maxAbs ? error : maxAbs;
        excess = over > excess ? over : excess;
    }
    BlockSums out;
    std::memcpy(out.errorSquares.data(), &errorSquares, sizeof errorSquares);
    std::memcpy(out.goldenSquares.data(), &goldenSquares, sizeof goldenSquares);
    std::memcpy(out.maxAbs.data(), &maxAbs, sizeof maxAbs);
    std::memcpy(out.excess.data(), &excess, sizeof excess);
    return out;
}

/// All finite, not exact. The blocks are padded to whole lanes with equal values. The division is
/// only done in blocks that hold a new worst element, which soon are few.
void fastBlock(const Job& job,
               std::size_t first,
               std::span<const double> got,
               std::span<const double> golden,
               Partial& out)
{
    const std::size_t padded = (got.size() + kLanes - 1) / kLanes * kLanes;
    const BlockSums sums = sumBlock(got.data(), golden.data(), padded, job.scale, out.maxRel);
    double excess = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
        out.errorSquares += sums.errorSquares[lane];
        out.goldenSquares += sums.goldenSquares[lane];
        out.maxAbs = std::max(out.maxAbs, sums.maxAbs[lane]);
        excess = std::max(excess, sums.excess[lane]);
    }
    if (!(excess > 0) && out.worst >= 0) {
        return;
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double relative = relativeError(std::abs(got[i] - golden[i]), golden[i], job.scale);
        if (relative > out.maxRel || out.worst < 0) {
            out.maxRel = std::max(out.maxRel, relative);
            out.worst = static_cast<std::int64_t>(first + i);
            if (out.firstMismatch < 0) {
                out.expected = golden[i];
                out.got = got[i];
            }
        }
    }
}

#if defined(__x86_64__) && !defined(LATHE_NO_CLONES)
__attribute__((target_clones("avx2", "default")))
#endif
bool allFinite(const double* got, const double* golden)
{
    // Zero times a finite number is zero; anything else becomes NaN and stays.
    using Vector = double __attribute__((vector_size(kLanes * sizeof(double))));
    Vector probe{};
    for (std::size_t at = 0; at < kBlock; at += kLanes) {
        Vector a;
        Vector b;
        std::memcpy(&a, got + at, sizeof a);
        std::memcpy(&b, golden + at, sizeof b);
        probe += a * 0.0 + b * 0.0;
    }
    std::array<double, kLanes> lanes;
    std::memcpy(lanes.data(), &probe, sizeof probe);
    return std::all_of(lanes.begin(), lanes.end(), [](double value) { return value == 0.0; });
}

Partial compareRange(const Job& job, std::size_t begin, std::size_t end)
{
    Partial out;
    std::vector<double> got(kBlock);
    std::vector<double> golden(kBlock);
    for (std::size_t first = begin; first < end; first += kBlock) {
        const std::size_t count = std::min(kBlock, end - first);
        const std::span<double> gotBlock(got.data(), count);
        const std::span<double> goldenBlock(golden.data(), count);
        decode(job.dtype, job.got, first, gotBlock);
        decode(job.goldenDtype, job.golden, first, goldenBlock);
        std::fill(got.begin() + static_cast<std::ptrdiff_t>(count), got.end(), 0.0);
        std::fill(golden.begin() + static_cast<std::ptrdiff_t>(count), golden.end(), 0.0);
        if (job.exact || !(job.scale > 0) || !allFinite(got.data(), golden.data())) {
            slowBlock(job, first, gotBlock, goldenBlock, out);
        } else {
            fastBlock(job, first, gotBlock, goldenBlock, out);
        }
    }
    return out;
}

void merge(Partial& into, const Partial& other)
{
    const bool takeOther =
        into.firstMismatch < 0
        && (other.firstMismatch >= 0 || into.worst < 0 || other.maxRel > into.maxRel);
    if (takeOther) {
        into.expected = other.expected;
        into.got = other.got;
        into.worst = other.worst;
        into.firstMismatch = other.firstMismatch;
    }
    into.errorSquares += other.errorSquares;
    into.goldenSquares += other.goldenSquares;
    into.maxAbs = std::max(into.maxAbs, other.maxAbs);
    into.maxRel = std::max(into.maxRel, other.maxRel);
    into.mismatches += other.mismatches;
}

} // namespace

bool comparedExactly(DType dtype)
{
    return floatFacts(dtype).roundoff == 0;
}

double rootMeanSquare(DType dtype, std::span<const std::byte> values)
{
    const std::size_t parts =
        values.size() / protocol::elementBytes(dtype) * partsPerElement(dtype);
    std::vector<double> block(kBlock);
    double squares = 0;
    std::size_t finite = 0;
    for (std::size_t first = 0; first < parts; first += kBlock) {
        const std::span<double> out(block.data(), std::min(kBlock, parts - first));
        decode(dtype, values, first, out);
        std::fill(block.begin() + static_cast<std::ptrdiff_t>(out.size()), block.end(), 0.0);
        if (allFinite(block.data(), block.data())) {
            const BlockSums sums = sumBlock(block.data(), block.data(), kBlock, 0, 0);
            for (const double lane : sums.goldenSquares) {
                squares += lane;
            }
            finite += out.size();
            continue;
        }
        for (const double value : out) {
            if (std::isfinite(value)) {
                squares += value * value;
                ++finite;
            }
        }
    }
    return finite == 0 ? 0.0 : std::sqrt(squares / static_cast<double>(finite));
}

Result<Deviation> compareWithGolden(DType dtype,
                                    std::span<const std::byte> got,
                                    DType goldenDtype,
                                    std::span<const std::byte> golden,
                                    double scale)
{
    const std::size_t elements = got.size() / protocol::elementBytes(dtype);
    const std::size_t perElement = partsPerElement(dtype);
    if (elements != golden.size() / protocol::elementBytes(goldenDtype)
        || perElement != partsPerElement(goldenDtype)) {
        return fail(ErrorCode::Internal, "an output and its golden values differ in size");
    }
    const Job job{
        dtype, got, goldenDtype, golden, scale, floatFacts(dtype).largest, comparedExactly(dtype)};
    const std::size_t parts = elements * perElement;
    const std::size_t hardware = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
    const std::size_t threads = std::clamp<std::size_t>(parts / kPartsPerThread, 1, hardware);
    std::vector<Partial> partials(threads);
    std::vector<std::thread> helpers;
    const auto range = [&](std::size_t t) {
        partials[t] = compareRange(job, parts * t / threads, parts * (t + 1) / threads);
    };
    for (std::size_t t = 1; t < threads; ++t) {
        helpers.emplace_back(range, t);
    }
    range(0);
    for (std::thread& helper : helpers) {
        helper.join();
    }
    Partial all = partials[0];
    for (std::size_t t = 1; t < threads; ++t) {
        merge(all, partials[t]);
    }
    Deviation out;
    out.elements = static_cast<std::int64_t>(elements);
    out.maxAbs = all.maxAbs;
    out.maxRel = all.maxRel;
    out.relRmse = all.errorSquares == 0 ? 0.0 : std::sqrt(all.errorSquares / all.goldenSquares);
    out.mismatches = all.mismatches;
    const std::int64_t part = all.firstMismatch >= 0 ? all.firstMismatch : all.worst;
    out.worstIndex = part < 0 ? -1 : part / static_cast<std::int64_t>(perElement);
    out.expected = all.expected;
    out.got = all.got;
    return out;
}

} // namespace lathe::worker
