// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/protocol/arm_wire.h>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

using namespace lathe;
using namespace lathe::protocol;

namespace {

ArmValue tupleOf(std::vector<ArmValue> items)
{
    ArmValue value;
    value.kind = ArmValue::Kind::Tuple;
    value.items = std::move(items);
    return value;
}

std::string full()
{
    ArmValue text;
    text.kind = ArmValue::Kind::String;
    text.text = "abc";
    ArmValue real;
    real.kind = ArmValue::Kind::Float;
    real.real = 1e-6;
    return ArmWriter(ArmMessage::Described)
        .integer(FieldTag::Int, -5)
        .integers(FieldTag::Ints, {1, 2, 3})
        .floats(FieldTag::Floats, {0.5})
        .text(FieldTag::Text, "hello")
        .strings(FieldTag::Strings, {"", "rows", "512"})
        .tensors(FieldTag::Tensors,
                 {{DType::BFloat16, {2, 3}, {}},
                  {DType::Float32, {4, 4}, {1, 4}},
                  {DType::Int64, {}, {}}})
        .values(FieldTag::Values, {tupleOf({text, real, ArmValue{}})})
        .packet(77)
        .value();
}

// By hand: magic "LARM", type 29 (Null), one field, serial 1, 16 bytes of body; tag 1, kind 1, 8
// bytes, 258.
TEST(ArmWire, IsWhatTheDocumentSays)
{
    const auto packet = ArmWriter(ArmMessage::Null).integer(FieldTag::Int, 258).packet(1);
    ASSERT_TRUE(packet);
    EXPECT_EQ(*packet,
              std::string("LARM\x1d\x00\x01\x00\x01\x00\x00\x00\x10\x00\x00\x00"
                          "\x01\x00\x01\x00\x08\x00\x00\x00\x02\x01\x00\x00\x00\x00\x00\x00",
                          32));
}

TEST(ArmWire, TravelsWhole)
{
    const auto reader = ArmReader::parse(full());
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_EQ(reader->type(), ArmMessage::Described);
    EXPECT_EQ(reader->serial(), 77u);
    EXPECT_EQ(reader->integer(FieldTag::Int), -5);
    EXPECT_EQ(reader->integer(FieldTag::Int2), 0);
    EXPECT_FALSE(reader->has(FieldTag::Int2));
    EXPECT_EQ(reader->integers(FieldTag::Ints)->size(), 3u);
    EXPECT_EQ(reader->floats(FieldTag::Floats)->at(0), 0.5);
    EXPECT_EQ(reader->text(FieldTag::Text), "hello");
    EXPECT_EQ(reader->strings(FieldTag::Strings)->at(2), "512");
    const auto tensors = reader->tensors(FieldTag::Tensors);
    ASSERT_TRUE(tensors);
    EXPECT_EQ(tensors->at(0).bytes(), 12u);
    EXPECT_EQ(tensors->at(1).strides, (std::vector<std::int64_t>{1, 4}));
    EXPECT_EQ(tensors->at(2).elements(), 1);
    const auto values = reader->values(FieldTag::Values);
    ASSERT_TRUE(values);
    EXPECT_EQ(values->at(0).items.at(0).text, "abc");
    EXPECT_EQ(values->at(0).items.at(1).real, 1e-6);
    EXPECT_EQ(values->at(0).items.at(2).kind, ArmValue::Kind::None);
}

TEST(ArmWire, EveryTruncationIsRefused)
{
    const std::string packet = full();
    for (std::size_t bytes = 0; bytes < packet.size(); ++bytes) {
        EXPECT_FALSE(ArmReader::parse(std::string_view(packet).substr(0, bytes))) << bytes;
    }
    EXPECT_FALSE(ArmReader::parse(packet + std::string(8, '\0')));
}

// Any single wrong byte: parse and every accessor end in a value or an error; the sanitizer presets
// watch the rest.
TEST(ArmWire, NoByteCanHurt)
{
    const std::string packet = full();
    for (std::size_t at = 0; at < packet.size(); ++at) {
        for (const int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
            std::string broken = packet;
            broken[at] = static_cast<char>(value);
            const auto reader = ArmReader::parse(broken);
            if (!reader) {
                continue;
            }
            const auto tensors = reader->tensors(FieldTag::Tensors);
            if (tensors) {
                for (const TensorInfo& info : *tensors) {
                    EXPECT_LE(info.shape.size(), 16u);
                    EXPECT_LT(info.bytes(), std::uint64_t{1} << 63);
                }
            }
            (void)reader->strings(FieldTag::Strings);
            (void)reader->values(FieldTag::Values);
        }
    }
}

TEST(ArmWire, RefusesImpossibleTensors)
{
    const auto refused = [](TensorInfo info) {
        const auto packet = ArmWriter(ArmMessage::Described)
                                .tensors(FieldTag::Tensors, {std::move(info)})
                                .packet(1);
        return !ArmReader::parse(*packet)->tensors(FieldTag::Tensors);
    };
    EXPECT_TRUE(refused({DType::Float32, {-1}, {}}));
    EXPECT_TRUE(refused({DType::Float32, {1ll << 40, 1ll << 40}, {}}));
    EXPECT_TRUE(refused({DType::Float64, {1ll << 61}, {}}));
    EXPECT_TRUE(refused({DType::Float32, {4}, {-1}}));
    EXPECT_TRUE(refused({DType::Float32, {4}, {1ll << 62}}));
    EXPECT_TRUE(refused({DType::Float32, std::vector<std::int64_t>(17, 1), {}}));
    EXPECT_FALSE(refused({DType::Float32, {0, 5}, {}}));
}

TEST(ArmWire, RefusesDeepNestingAndWrongKinds)
{
    ArmValue value;
    for (int i = 0; i < 40; ++i) {
        value = tupleOf({value});
    }
    const auto packet =
        ArmWriter(ArmMessage::Described).values(FieldTag::Values, {value}).packet(1);
    EXPECT_FALSE(ArmReader::parse(*packet)->values(FieldTag::Values));
    std::string wrongKind = ArmWriter(ArmMessage::Ok).integer(FieldTag::Int, 1).packet(1).value();
    wrongKind[18] = 4; // the field's kind: Text
    EXPECT_FALSE(ArmReader::parse(wrongKind));
    const auto twice =
        ArmWriter(ArmMessage::Ok).integer(FieldTag::Int, 1).integer(FieldTag::Int, 2).packet(1);
    EXPECT_FALSE(ArmReader::parse(*twice));
    std::string future = ArmWriter(ArmMessage::Ok).integer(FieldTag::Int, 1).packet(1).value();
    future[17] = 1; // tag 257: not known, skipped
    EXPECT_TRUE(ArmReader::parse(future));
}

TEST(ArmWire, RefusesAPacketOverTheLimit)
{
    EXPECT_FALSE(ArmWriter(ArmMessage::Failed)
                     .text(FieldTag::Text, std::string(kMaxPacketBytes, 'x'))
                     .packet(1));
}

TEST(ArmSocket, CarriesPacketsWithDescriptors)
{
    auto pair = makePacketPair();
    ASSERT_TRUE(pair);
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    const UniqueFd readEnd(pipes[0]);
    UniqueFd writeEnd(pipes[1]);
    ASSERT_TRUE(sendPacket(pair->first.get(), full(), {writeEnd.get()}));
    ASSERT_TRUE(sendPacket(pair->first.get(), "second"));
    writeEnd.reset();
    auto got = receivePacket(pair->second.get(), -1);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->bytes, full());
    ASSERT_EQ(got->fds.size(), 1u);
    EXPECT_NE(fcntl(got->fds[0].get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_EQ(write(got->fds[0].get(), "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(read(readEnd.get(), &byte, 1), 1);
    EXPECT_EQ(receivePacket(pair->second.get(), -1)->bytes, "second");
}

TEST(ArmSocket, DeadlineCancelAndHangup)
{
    auto pair = makePacketPair();
    ASSERT_TRUE(pair);
    EXPECT_EQ(receivePacket(pair->second.get(), monotonicNs()).error().code, ErrorCode::Timeout);
    int pipes[2];
    ASSERT_EQ(pipe2(pipes, O_CLOEXEC), 0);
    const UniqueFd readEnd(pipes[0]);
    const UniqueFd writeEnd(pipes[1]);
    ASSERT_EQ(write(writeEnd.get(), "x", 1), 1);
    EXPECT_EQ(receivePacket(pair->second.get(), -1, readEnd.get()).error().code,
              ErrorCode::Cancelled);
    pair->first.reset();
    EXPECT_EQ(receivePacket(pair->second.get(), -1).error().code, ErrorCode::Protocol);
    EXPECT_EQ(sendPacket(pair->second.get(), "x").error().code, ErrorCode::Protocol);
}

} // namespace
