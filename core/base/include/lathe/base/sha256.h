// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace lathe {

/// Incremental SHA-256 (FIPS 180-4). Own code because the worker builds with header-only libraries
/// alone.
class Sha256
{
public:
    Sha256();
    void update(const void* data, std::size_t bytes);
    void update(std::string_view text) { update(text.data(), text.size()); }
    /// The digest as 64 lower-case hex characters; the object may not be used afterwards.
    std::string finishHex();

private:
    void block(const std::uint8_t* data);
    std::array<std::uint32_t, 8> m_state;
    std::array<std::uint8_t, 64> m_buffer{};
    std::uint64_t m_bytes = 0;
};

/// SHA-256 of the bytes as 64 lower-case hex characters.
std::string sha256Hex(std::string_view bytes);

} // namespace lathe
