// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/id.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <sys/random.h>

namespace lathe {

std::string newUuidV7()
{
    std::array<std::uint8_t, 16> b{};
    std::size_t have = 0;
    while (have < b.size()) {
        const ssize_t got = getrandom(b.data() + have, b.size() - have, 0);
        if (got > 0) {
            have += static_cast<std::size_t>(got);
        }
    }
    const auto ms =
        static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                       std::chrono::system_clock::now().time_since_epoch())
                                       .count());
    for (int i = 0; i < 6; ++i) {
        b[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
    }
    b[6] = static_cast<std::uint8_t>((b[6] & 0x0f) | 0x70);
    b[8] = static_cast<std::uint8_t>((b[8] & 0x3f) | 0x80);
    std::array<char, 37> text{};
    std::snprintf(text.data(),
                  text.size(),
                  "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                  b[0],
                  b[1],
                  b[2],
                  b[3],
                  b[4],
                  b[5],
                  b[6],
                  b[7],
                  b[8],
                  b[9],
                  b[10],
                  b[11],
                  b[12],
                  b[13],
                  b[14],
                  b[15]);
    return text.data();
}

} // namespace lathe
