// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// Lathe's own device code, compiled to PTX and loaded through the driver.

/// Proves that the device still computes: out[i] = in[i] * 3 + i.
extern "C" __global__ void latheCanary(const unsigned* in, unsigned* out, unsigned count)
{
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        out[i] = in[i] * 3u + i;
}

/// Keeps the stream busy while the host queues what is to be timed.
extern "C" __global__ void latheDelay(unsigned long long nanoseconds)
{
    unsigned long long start, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}

static __device__ unsigned long long
mixed(unsigned long long word, unsigned long long index, unsigned long long key)
{
    unsigned long long x = (word ^ key) + index * 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static __device__ void addTo(unsigned long long* out, unsigned long long value)
{
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, value);
}

/// Two keyed 64-bit sums over all words and their positions: equal bytes give equal sums in any
/// order of execution.
extern "C" __global__ void latheDigest(const unsigned long long* words,
                                       unsigned long long count,
                                       unsigned long long tailBytes,
                                       unsigned long long key0,
                                       unsigned long long key1,
                                       unsigned long long* out)
{
    unsigned long long first = 0, second = 0;
    const unsigned long long step = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
    unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i == 0 && tailBytes > 0) {
        const unsigned char* tail = reinterpret_cast<const unsigned char*>(words + count);
        unsigned long long word = 0;
        for (unsigned long long b = 0; b < tailBytes; ++b)
            word |= static_cast<unsigned long long>(tail[b]) << (8 * b);
        first += mixed(word, count, key0);
        second += mixed(word, count, key1);
    }
#pragma unroll 4
    for (; i < count; i += step) {
        const unsigned long long word = words[i];
        first += mixed(word, i, key0);
        second += mixed(word, i, key1);
    }
    addTo(out, first);
    addTo(out + 1, second);
}
