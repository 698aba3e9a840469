// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// A packet from an arm. Every field is read; what was read and written again must read the same.
#include "fuzz.h"

#include <lathe/protocol/arm_wire.h>

#include <array>
#include <cstring>
#include <string>

namespace {

using namespace lathe::protocol;
using lathe::fuzz::require;

constexpr std::array kTexts = {FieldTag::Text, FieldTag::Text2, FieldTag::Text3, FieldTag::Text4};

/// Bit for bit, since a NaN differs from itself.
bool sameBits(double a, double b)
{
    return std::memcmp(&a, &b, sizeof a) == 0;
}

bool same(const ArmValue& a, const ArmValue& b)
{
    if (a.kind != b.kind || a.integer != b.integer || !sameBits(a.real, b.real) || a.text != b.text
        || a.items.size() != b.items.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.items.size(); ++i) {
        if (!same(a.items[i], b.items[i])) {
            return false;
        }
    }
    return true;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    const auto reader = ArmReader::parse(lathe::fuzz::textOf(data, size));
    if (!reader) {
        return 0;
    }
    const auto integers = reader->integers(FieldTag::Ints);
    const auto floats = reader->floats(FieldTag::Floats);
    const auto strings = reader->strings(FieldTag::Strings);
    const auto tensors = reader->tensors(FieldTag::Tensors);
    const auto values = reader->values(FieldTag::Values);
    if (tensors) {
        for (const auto& tensor : *tensors) {
            require(tensor.elements() >= 0, "a tensor has no negative number of elements");
            require(tensor.elements() == 0 || tensor.bytes() / tensor.elements() >= 1,
                    "bytes do not overflow");
        }
    }
    if (!integers || !floats || !strings || !tensors || !values) {
        return 0;
    }
    ArmWriter writer(reader->type());
    writer.integer(FieldTag::Int, reader->integer(FieldTag::Int))
        .integer(FieldTag::Int2, reader->integer(FieldTag::Int2));
    writer.integers(FieldTag::Ints, *integers).floats(FieldTag::Floats, *floats);
    for (const FieldTag tag : kTexts) {
        writer.text(tag, reader->text(tag));
    }
    writer.strings(FieldTag::Strings, *strings)
        .tensors(FieldTag::Tensors, *tensors)
        .values(FieldTag::Values, *values);
    const auto packet = writer.packet(reader->serial());
    if (!packet) {
        return 0; // absent fields are written as well, which may be too much for one packet
    }
    const auto again = ArmReader::parse(*packet);
    require(again.has_value(), "what was written can be read");
    require(again->type() == reader->type() && again->serial() == reader->serial(),
            "the header is the same");
    require(*again->integers(FieldTag::Ints) == *integers, "integers are the same");
    require(*again->strings(FieldTag::Strings) == *strings, "strings are the same");
    for (const FieldTag tag : kTexts) {
        require(again->text(tag) == reader->text(tag), "texts are the same");
    }
    const auto values2 = again->values(FieldTag::Values);
    require(values2 && values2->size() == values->size(), "as many values");
    for (std::size_t i = 0; i < values->size(); ++i) {
        require(same((*values)[i], (*values2)[i]), "values are the same");
    }
    const auto tensors2 = again->tensors(FieldTag::Tensors);
    require(tensors2 && tensors2->size() == tensors->size(), "as many tensors");
    for (std::size_t i = 0; i < tensors->size(); ++i) {
        require((*tensors)[i].shape == (*tensors2)[i].shape
                    && (*tensors)[i].strides == (*tensors2)[i].strides,
                "tensors are the same");
    }
    return 0;
}
