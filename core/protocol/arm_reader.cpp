// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_fields.h"
#include "little_endian.h"

#include <lathe/protocol/arm_wire.h>

#include <cstdint>
#include <limits>

namespace lathe::protocol {
namespace {

tl::unexpected<Error> malformed(const std::string& what)
{
    return fail(ErrorCode::Protocol, "an arm sent a malformed message: " + what);
}

/// Reads a payload front to back; once it ran over the end it stays failed and gives zeros.
class Cursor
{
public:
    explicit Cursor(std::string_view bytes)
        : m_bytes(bytes)
    {}
    template <class T>
    T take()
    {
        if (m_bytes.size() < sizeof(T)) {
            m_ok = false;
            m_bytes = {};
            return T{};
        }
        const T value = getRaw<T>(m_bytes, 0);
        m_bytes.remove_prefix(sizeof(T));
        return value;
    }
    std::string takeText()
    {
        const auto length = take<std::uint32_t>();
        if (length > m_bytes.size()) {
            m_ok = false;
            m_bytes = {};
            return {};
        }
        std::string text(m_bytes.substr(0, length));
        m_bytes.remove_prefix(length);
        return text;
    }
    /// A count of things of at least leastBytes each: refused when the payload can't hold so many.
    std::uint32_t takeCount(std::size_t leastBytes)
    {
        const auto count = take<std::uint32_t>();
        if (count > m_bytes.size() / leastBytes) {
            m_ok = false;
            m_bytes = {};
            return 0;
        }
        return count;
    }
    [[nodiscard]] bool ok() const { return m_ok; }
    [[nodiscard]] bool atEnd() const { return m_ok && m_bytes.empty(); }
    void spoil() { m_ok = false; }

private:
    std::string_view m_bytes;
    bool m_ok = true;
};

template <class T>
std::vector<T> unpacked(std::string_view payload)
{
    std::vector<T> out(payload.size() / sizeof(T));
    if (!out.empty()) {
        std::memcpy(out.data(), payload.data(), out.size() * sizeof(T));
    }
    return out;
}

/// Element count, byte count and the last reachable element all fit into 63 bits.
bool plausible(const TensorInfo& info)
{
    std::int64_t count = 1;
    std::int64_t last = 0;
    bool empty = false;
    for (std::size_t i = 0; i < info.shape.size(); ++i) {
        if (info.shape[i] < 0) {
            return false;
        }
        if (info.shape[i] == 0) {
            empty = true;
            continue;
        }
        if (__builtin_mul_overflow(count, info.shape[i], &count)) {
            return false;
        }
        if (!info.strides.empty()) {
            std::int64_t step = 0;
            if (info.strides[i] < 0
                || __builtin_mul_overflow(info.strides[i], info.shape[i] - 1, &step)
                || __builtin_add_overflow(last, step, &last)) {
                return false;
            }
        }
    }
    const auto width = static_cast<std::int64_t>(elementBytes(info.dtype));
    std::int64_t bytes = 0;
    return empty
           || (!__builtin_mul_overflow(count, width, &bytes)
               && last < std::numeric_limits<std::int64_t>::max() / 16);
}

ArmValue takeValue(Cursor& cursor, int depth)
{
    using Kind = ArmValue::Kind;
    ArmValue value;
    const auto kind = cursor.take<std::uint8_t>();
    if (depth > kMaxValueDepth || kind > static_cast<std::uint8_t>(Kind::Dict)) {
        cursor.spoil();
        return value;
    }
    value.kind = static_cast<Kind>(kind);
    switch (value.kind) {
    case Kind::None:
        break;
    case Kind::Bool:
    case Kind::Int:
    case Kind::TensorRef:
        value.integer = cursor.take<std::int64_t>();
        break;
    case Kind::Float:
        value.real = cursor.take<double>();
        break;
    case Kind::String:
        value.text = cursor.takeText();
        break;
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict: {
        const std::uint32_t count = cursor.takeCount(1);
        if (value.kind == Kind::Dict && count % 2 != 0) {
            cursor.spoil();
        }
        for (std::uint32_t i = 0; i < count && cursor.ok(); ++i) {
            value.items.push_back(takeValue(cursor, depth + 1));
        }
        break;
    }
    }
    return value;
}

} // namespace

Result<ArmReader> ArmReader::parse(std::string_view packet)
{
    if (packet.size() < kArmHeaderBytes || packet.size() > kMaxPacketBytes) {
        return malformed("a packet of " + std::to_string(packet.size()) + " bytes");
    }
    if (getU32(packet, 0) != kArmMagic) {
        return malformed("wrong magic number");
    }
    ArmReader reader;
    reader.m_type = static_cast<ArmMessage>(getU16(packet, 4));
    const std::uint16_t fields = getU16(packet, 6);
    reader.m_serial = getU32(packet, 8);
    if (getU32(packet, 12) != packet.size() - kArmHeaderBytes) {
        return malformed("the body's length is not what the header says");
    }
    std::string_view rest = packet.substr(kArmHeaderBytes);
    for (std::uint16_t i = 0; i < fields; ++i) {
        if (rest.size() < kFieldHeaderBytes) {
            return malformed("fewer fields than the header says");
        }
        const std::uint16_t tag = getU16(rest, 0);
        const std::uint16_t kind = getU16(rest, 2);
        const std::uint32_t bytes = getU32(rest, 4);
        rest.remove_prefix(kFieldHeaderBytes);
        const std::size_t padded = std::size_t{bytes} + paddingAfter(bytes);
        if (padded > rest.size()) {
            return malformed("a field is longer than its packet");
        }
        const std::string_view payload = rest.substr(0, bytes);
        rest.remove_prefix(padded);
        const auto expected = kindOf(tag);
        if (!expected) {
            continue; // a newer peer's field
        }
        if (number(*expected) != kind) {
            return malformed("field " + std::to_string(tag) + " has kind " + std::to_string(kind));
        }
        if (*expected == FieldKind::Int && bytes != 8) {
            return malformed("an integer of " + std::to_string(bytes) + " bytes");
        }
        if ((*expected == FieldKind::Ints || *expected == FieldKind::Floats) && bytes % 8 != 0) {
            return malformed("a list of numbers of " + std::to_string(bytes) + " bytes");
        }
        if (reader.has(static_cast<FieldTag>(tag))) {
            return malformed("field " + std::to_string(tag) + " is there twice");
        }
        reader.m_fields.push_back({static_cast<FieldTag>(tag), kind, std::string(payload)});
    }
    if (!rest.empty()) {
        return malformed("more bytes than fields");
    }
    return reader;
}

const ArmReader::Field* ArmReader::find(FieldTag tag) const
{
    for (const Field& field : m_fields) {
        if (field.tag == tag) {
            return &field;
        }
    }
    return nullptr;
}

bool ArmReader::has(FieldTag tag) const
{
    return find(tag) != nullptr;
}

std::int64_t ArmReader::integer(FieldTag tag) const
{
    const Field* field = find(tag);
    return field != nullptr && field->kind == number(FieldKind::Int)
               ? getRaw<std::int64_t>(field->payload, 0)
               : 0;
}

Result<std::vector<std::int64_t>> ArmReader::integers(FieldTag tag) const
{
    const Field* field = find(tag);
    return field == nullptr ? std::vector<std::int64_t>{} : unpacked<std::int64_t>(field->payload);
}

Result<std::vector<double>> ArmReader::floats(FieldTag tag) const
{
    const Field* field = find(tag);
    return field == nullptr ? std::vector<double>{} : unpacked<double>(field->payload);
}

std::string ArmReader::text(FieldTag tag) const
{
    const Field* field = find(tag);
    return field == nullptr ? std::string{} : field->payload;
}

Result<std::vector<std::string>> ArmReader::strings(FieldTag tag) const
{
    std::vector<std::string> out;
    const Field* field = find(tag);
    if (field == nullptr) {
        return out;
    }
    Cursor cursor(field->payload);
    const std::uint32_t count = cursor.takeCount(4);
    for (std::uint32_t i = 0; i < count && cursor.ok(); ++i) {
        out.push_back(cursor.takeText());
    }
    if (!cursor.atEnd()) {
        return malformed("a list of texts");
    }
    return out;
}

Result<std::vector<TensorInfo>> ArmReader::tensors(FieldTag tag) const
{
    std::vector<TensorInfo> out;
    const Field* field = find(tag);
    if (field == nullptr) {
        return out;
    }
    Cursor cursor(field->payload);
    const std::uint32_t count = cursor.takeCount(4);
    for (std::uint32_t i = 0; i < count && cursor.ok(); ++i) {
        TensorInfo info;
        const auto dtype = cursor.take<std::uint8_t>();
        const auto dimensions = cursor.take<std::uint8_t>();
        const auto withStrides = cursor.take<std::uint8_t>();
        cursor.take<std::uint8_t>();
        if (elementBytes(static_cast<DType>(dtype)) == 0) {
            return malformed("a tensor of unknown dtype " + std::to_string(dtype));
        }
        if (dimensions > kMaxDimensions || withStrides > 1) {
            return malformed("a tensor of " + std::to_string(dimensions) + " dimensions");
        }
        info.dtype = static_cast<DType>(dtype);
        for (int d = 0; d < dimensions; ++d) {
            info.shape.push_back(cursor.take<std::int64_t>());
        }
        for (int d = 0; d < dimensions && withStrides == 1; ++d) {
            info.strides.push_back(cursor.take<std::int64_t>());
        }
        if (!cursor.ok() || !plausible(info)) {
            return malformed("a tensor's shape");
        }
        out.push_back(std::move(info));
    }
    if (!cursor.atEnd()) {
        return malformed("a list of tensors");
    }
    return out;
}

Result<std::vector<ArmValue>> ArmReader::values(FieldTag tag) const
{
    std::vector<ArmValue> out;
    const Field* field = find(tag);
    if (field == nullptr) {
        return out;
    }
    Cursor cursor(field->payload);
    const std::uint32_t count = cursor.takeCount(1);
    for (std::uint32_t i = 0; i < count && cursor.ok(); ++i) {
        out.push_back(takeValue(cursor, 1));
    }
    if (!cursor.atEnd()) {
        return malformed("a list of values");
    }
    return out;
}

} // namespace lathe::protocol
