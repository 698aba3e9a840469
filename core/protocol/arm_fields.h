// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/protocol/arm_wire.h>

#include <cstdint>
#include <optional>

namespace lathe::protocol {

inline constexpr std::size_t kArmHeaderBytes = 16;
inline constexpr std::size_t kFieldHeaderBytes = 8;
inline constexpr std::size_t kMaxDimensions = 16;
inline constexpr int kMaxValueDepth = 32;

constexpr std::uint16_t number(FieldKind kind)
{
    return static_cast<std::uint16_t>(kind);
}

constexpr std::size_t paddingAfter(std::size_t bytes)
{
    return (8 - bytes % 8) % 8;
}

/// The only kind a tag may carry; nothing for a tag that this version does not know.
constexpr std::optional<FieldKind> kindOf(std::uint16_t tag)
{
    switch (static_cast<FieldTag>(tag)) {
    case FieldTag::Int:
    case FieldTag::Int2:
        return FieldKind::Int;
    case FieldTag::Ints:
        return FieldKind::Ints;
    case FieldTag::Floats:
        return FieldKind::Floats;
    case FieldTag::Text:
    case FieldTag::Text2:
    case FieldTag::Text3:
    case FieldTag::Text4:
        return FieldKind::Text;
    case FieldTag::Strings:
        return FieldKind::Strings;
    case FieldTag::Tensors:
        return FieldKind::Tensors;
    case FieldTag::Values:
        return FieldKind::Values;
    }
    return std::nullopt;
}

} // namespace lathe::protocol
