// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include "secret.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace lathe::worker {
namespace {

/// Both halves of the 128-bit product, folded: every input bit reaches every output bit.
std::uint64_t fold(std::uint64_t a, std::uint64_t b)
{
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

} // namespace

std::string digestHex(std::span<const std::byte> bytes)
{
    static const std::array<std::uint64_t, 4> kKey{
        secretSeed() | 1, secretSeed() | 1, secretSeed() | 1, secretSeed() | 1};
    std::uint64_t low = kKey[0];
    std::uint64_t high = kKey[1];
    std::size_t at = 0;
    for (; at + 16 <= bytes.size(); at += 16) {
        std::uint64_t a = 0;
        std::uint64_t b = 0;
        std::memcpy(&a, bytes.data() + at, 8);
        std::memcpy(&b, bytes.data() + at + 8, 8);
        // The running states enter both factors, so neither a zero word nor a swap of two blocks
        // goes unnoticed.
        low = fold(a ^ kKey[2] ^ low, b ^ kKey[3]) + (low << 1);
        high = fold(b ^ kKey[0] ^ high, a ^ kKey[1]) + (high << 1) + low;
    }
    std::array<std::uint64_t, 2> tail{};
    std::memcpy(tail.data(), bytes.data() + at, bytes.size() - at);
    low = fold(low ^ tail[0] ^ kKey[2], kKey[3] ^ bytes.size());
    high = fold(high ^ tail[1] ^ kKey[0], kKey[1] ^ low);
    std::array<char, 33> text{};
    std::snprintf(text.data(),
                  text.size(),
                  "%016llx%016llx",
                  static_cast<unsigned long long>(low),
                  static_cast<unsigned long long>(high));
    return text.data();
}

} // namespace lathe::worker
