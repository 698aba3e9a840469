// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/worker/bandwidth.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace lathe::worker {
namespace {

constexpr double kBudgetSeconds = 0.1;
constexpr int kLeastRepeats = 3;
constexpr int kMostRepeats = 2000;
constexpr std::uint64_t kLargestHalfBytes = 256ull << 20;

/// Keeps the compiler from dropping copies whose result nobody reads.
void touched(const void* data)
{
    asm volatile("" : : "r"(data) : "memory");
}

void pinTo(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

/// Best seconds of copying `half` bytes, split over the threads.
double bestCopySeconds(std::uint64_t half, int threads, const std::vector<int>& affinity)
{
    const std::unique_ptr<std::byte[]> from(new (std::nothrow) std::byte[half]);
    const std::unique_ptr<std::byte[]> to(new (std::nothrow) std::byte[half]);
    if (!from || !to) {
        return 0;
    }
    std::memset(from.get(), 1, half);
    std::memset(to.get(), 2, half);
    const auto count = static_cast<std::uint64_t>(threads);
    // A copy of few bytes is over before a barrier is: repeat it inside until it takes long enough.
    const std::uint64_t inner =
        std::max<std::uint64_t>(1, (4ull << 20) / std::max<std::uint64_t>(half, 1));
    std::barrier gate(threads + 1);
    std::atomic<bool> stop{false};
    std::vector<std::thread> helpers;
    for (int t = 0; t < threads; ++t) {
        helpers.emplace_back([&, t] {
            if (!affinity.empty()) {
                pinTo(affinity[static_cast<std::size_t>(t) % affinity.size()]);
            }
            const std::uint64_t begin = half * static_cast<std::uint64_t>(t) / count;
            const std::uint64_t end = half * (static_cast<std::uint64_t>(t) + 1) / count;
            while (true) {
                gate.arrive_and_wait();
                if (stop.load(std::memory_order_acquire)) {
                    return;
                }
                for (std::uint64_t i = 0; i < inner; ++i) {
                    std::memcpy(to.get() + begin, from.get() + begin, end - begin);
                    touched(to.get());
                }
                gate.arrive_and_wait();
            }
        });
    }
    double best = 0;
    const std::int64_t started = monotonicNs();
    for (int repeat = 0; repeat < kMostRepeats; ++repeat) {
        const std::int64_t before = monotonicNs();
        gate.arrive_and_wait();
        gate.arrive_and_wait();
        const double seconds =
            static_cast<double>(monotonicNs() - before) / 1e9 / static_cast<double>(inner);
        best = best == 0 ? seconds : std::min(best, seconds);
        if (repeat >= kLeastRepeats
            && static_cast<double>(monotonicNs() - started) / 1e9 > kBudgetSeconds) {
            break;
        }
    }
    stop.store(true, std::memory_order_release);
    gate.arrive_and_wait();
    for (std::thread& helper : helpers) {
        helper.join();
    }
    return best;
}

} // namespace

CopyBandwidth::CopyBandwidth(int threads, std::vector<int> affinity)
    : m_threads(std::max(threads, 1))
    , m_affinity(std::move(affinity))
{}

double CopyBandwidth::bytesPerSecond(std::uint64_t workingSetBytes)
{
    return measured(workingSetBytes, m_threads);
}

double CopyBandwidth::memoryBytesPerSecondOfOneThread()
{
    return measured(2 * kLargestHalfBytes, 1);
}

double CopyBandwidth::measured(std::uint64_t workingSetBytes, int threads)
{
    const auto exponent =
        static_cast<int>(std::bit_width(std::max<std::uint64_t>(workingSetBytes, 1)));
    const std::pair key(exponent, threads);
    const auto known = m_known.find(key);
    if (known != m_known.end()) {
        return known->second;
    }
    const std::uint64_t half =
        std::clamp<std::uint64_t>((std::uint64_t{1} << exponent) / 2, 4096, kLargestHalfBytes);
    const double seconds = bestCopySeconds(half, threads, m_affinity);
    const double rate = seconds > 0 ? 2.0 * static_cast<double>(half) / seconds : 0.0;
    m_known[key] = rate;
    return rate;
}

} // namespace lathe::worker
