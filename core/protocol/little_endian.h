// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace lathe::protocol {

static_assert(std::endian::native == std::endian::little, "both wires are little-endian");

template <class T>
void putRaw(std::string& out, T value)
{
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    out.append(bytes, sizeof(T));
}
inline void putU16(std::string& out, std::uint16_t value)
{
    putRaw(out, value);
}
inline void putU32(std::string& out, std::uint32_t value)
{
    putRaw(out, value);
}
inline void putU64(std::string& out, std::uint64_t value)
{
    putRaw(out, value);
}

/// The caller has checked that sizeof(T) bytes are there.
template <class T>
T getRaw(std::string_view bytes, std::size_t offset)
{
    T value{};
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}
inline std::uint16_t getU16(std::string_view bytes, std::size_t offset)
{
    return getRaw<std::uint16_t>(bytes, offset);
}
inline std::uint32_t getU32(std::string_view bytes, std::size_t offset)
{
    return getRaw<std::uint32_t>(bytes, offset);
}
inline std::uint64_t getU64(std::string_view bytes, std::size_t offset)
{
    return getRaw<std::uint64_t>(bytes, offset);
}

} // namespace lathe::protocol
