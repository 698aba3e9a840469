// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_fields.h"
#include "little_endian.h"

#include <lathe/protocol/arm_wire.h>

#include <cstdint>

namespace lathe::protocol {
namespace {

template <class T>
std::string packed(const std::vector<T>& values)
{
    std::string out;
    out.reserve(values.size() * sizeof(T));
    for (const T value : values) {
        putRaw(out, value);
    }
    return out;
}

void putText(std::string& out, std::string_view text)
{
    putU32(out, static_cast<std::uint32_t>(text.size()));
    out += text;
}

void putValue(std::string& out, const ArmValue& value)
{
    using Kind = ArmValue::Kind;
    out.push_back(static_cast<char>(value.kind));
    switch (value.kind) {
    case Kind::None:
        break;
    case Kind::Bool:
    case Kind::Int:
    case Kind::TensorRef:
        putRaw(out, value.integer);
        break;
    case Kind::Float:
        putRaw(out, value.real);
        break;
    case Kind::String:
        putText(out, value.text);
        break;
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
        putU32(out, static_cast<std::uint32_t>(value.items.size()));
        for (const ArmValue& item : value.items) {
            putValue(out, item);
        }
        break;
    }
}

} // namespace

void ArmWriter::field(FieldTag tag, std::uint16_t kind, std::string_view payload)
{
    putU16(m_body, static_cast<std::uint16_t>(tag));
    putU16(m_body, kind);
    putU32(m_body, static_cast<std::uint32_t>(payload.size()));
    m_body += payload;
    m_body.append(paddingAfter(payload.size()), '\0');
    ++m_fields;
}

ArmWriter& ArmWriter::integer(FieldTag tag, std::int64_t value)
{
    field(tag, number(FieldKind::Int), packed(std::vector<std::int64_t>{value}));
    return *this;
}

ArmWriter& ArmWriter::integers(FieldTag tag, const std::vector<std::int64_t>& values)
{
    field(tag, number(FieldKind::Ints), packed(values));
    return *this;
}

ArmWriter& ArmWriter::floats(FieldTag tag, const std::vector<double>& values)
{
    field(tag, number(FieldKind::Floats), packed(values));
    return *this;
}

ArmWriter& ArmWriter::text(FieldTag tag, std::string_view value)
{
    field(tag, number(FieldKind::Text), value);
    return *this;
}

ArmWriter& ArmWriter::strings(FieldTag tag, const std::vector<std::string>& values)
{
    std::string payload;
    putU32(payload, static_cast<std::uint32_t>(values.size()));
    for (const std::string& value : values) {
        putText(payload, value);
    }
    field(tag, number(FieldKind::Strings), payload);
    return *this;
}

ArmWriter& ArmWriter::tensors(FieldTag tag, const std::vector<TensorInfo>& values)
{
    std::string payload;
    putU32(payload, static_cast<std::uint32_t>(values.size()));
    for (const TensorInfo& info : values) {
        // A length that does not fit is left to the reader to refuse: it never matches its own
        // strides.
        const bool withStrides = !info.strides.empty();
        payload.push_back(static_cast<char>(info.dtype));
        payload.push_back(static_cast<char>(info.shape.size()));
        payload.push_back(withStrides ? '\1' : '\0');
        payload.push_back('\0');
        payload += packed(info.shape);
        if (withStrides) {
            payload += packed(info.strides);
        }
    }
    field(tag, number(FieldKind::Tensors), payload);
    return *this;
}

ArmWriter& ArmWriter::values(FieldTag tag, const std::vector<ArmValue>& values)
{
    std::string payload;
    putU32(payload, static_cast<std::uint32_t>(values.size()));
    for (const ArmValue& value : values) {
        putValue(payload, value);
    }
    field(tag, number(FieldKind::Values), payload);
    return *this;
}

Result<std::string> ArmWriter::packet(std::uint32_t serial) const
{
    if (m_body.size() + kArmHeaderBytes > kMaxPacketBytes) {
        return fail(ErrorCode::InvalidArgument,
                    "a message to an arm is " + std::to_string(m_body.size())
                        + " bytes, over the limit of " + std::to_string(kMaxPacketBytes));
    }
    std::string out;
    out.reserve(kArmHeaderBytes + m_body.size());
    putU32(out, kArmMagic);
    putU16(out, static_cast<std::uint16_t>(m_type));
    putU16(out, m_fields);
    putU32(out, serial);
    putU32(out, static_cast<std::uint32_t>(m_body.size()));
    out += m_body;
    return out;
}

} // namespace lathe::protocol
