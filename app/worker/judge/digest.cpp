// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include "secret.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

namespace lathe::worker {
namespace {

/// Both halves of the 128-bit product, folded: every input bit reaches every output bit.
std::uint64_t fold(std::uint64_t a, std::uint64_t b)
{
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

using Digest = std::array<std::uint64_t, 2>;

const std::array<std::uint64_t, 4>& key()
{
    static const std::array<std::uint64_t, 4> kKey{
        secretSeed() | 1, secretSeed() | 1, secretSeed() | 1, secretSeed() | 1};
    return kKey;
}

Digest digestOf(std::span<const std::byte> bytes)
{
    const auto& k = key();
    std::uint64_t low = k[0];
    std::uint64_t high = k[1];
    std::size_t at = 0;
    for (; at + 16 <= bytes.size(); at += 16) {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::memcpy(&a, bytes.data() + at, 8);
        std::memcpy(&b, bytes.data() + at + 8, 8);
        // The running states enter both factors, so neither a zero word nor a swap of two blocks
        // goes unnoticed.
        low = fold(a ^ k[2] ^ low, b ^ k[3]) + (low << 1);
        high = fold(b ^ k[0] ^ high, a ^ k[1]) + (high << 1) + low;
    }
    std::array<std::uint64_t, 2> tail{};
    std::memcpy(tail.data(), bytes.data() + at, bytes.size() - at);
    low = fold(low ^ tail[0] ^ k[2], k[3] ^ bytes.size());
    high = fold(high ^ tail[1] ^ k[0], k[1] ^ low);
    return {low, high};
}

} // namespace

std::string digestHex(std::span<const std::byte> bytes)
{
    // Pieces of fixed size, whatever the number of threads: the digest of the pieces' digests.
    constexpr std::size_t kPiece = 1u << 20;
    const std::size_t pieces = (bytes.size() + kPiece - 1) / kPiece;
    std::vector<Digest> digests(pieces);
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t piece = next++; piece < pieces; piece = next++) {
            const std::size_t first = piece * kPiece;
            digests[piece] = digestOf(bytes.subspan(first, std::min(kPiece, bytes.size() - first)));
        }
    };
    constexpr std::size_t kMostThreads = 8;
    constexpr std::size_t kPiecesPerThread = 4;
    const std::size_t threads =
        std::min({std::size_t(std::max(std::thread::hardware_concurrency(), 1u)),
                  kMostThreads,
                  pieces / kPiecesPerThread + 1});
    std::vector<std::thread> helpers;
    for (std::size_t t = 1; t < threads; ++t) {
        helpers.emplace_back(work);
    }
    work();
    for (std::thread& helper : helpers) {
        helper.join();
    }
    const Digest all = digestOf(std::as_bytes(std::span(digests)));
    std::array<char, 33> text{};
    std::snprintf(text.data(),
                  text.size(),
                  "%016llx%016llx",
                  static_cast<unsigned long long>(all[0]),
                  static_cast<unsigned long long>(all[1]));
    return text.data();
}

} // namespace lathe::worker
