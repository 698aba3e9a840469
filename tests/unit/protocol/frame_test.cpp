// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/protocol/frame.h>

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::protocol;

namespace {

// Written out by hand from docs/protocol.md: 2 bytes of JSON, type 2, one attachment, request 258,
// "{}", 3, "abc".
const std::string kWire("\x02\x00\x00\x00\x02\x00\x01\x00\x02\x01\x00\x00\x00\x00\x00\x00{}"
                        "\x03\x00\x00\x00\x00\x00\x00\x00"
                        "abc",
                        29);

TEST(Frame, IsWhatTheDocumentSays)
{
    const auto bytes = encodeFrame({FrameType::Request, 258, "{}", {"abc"}});
    ASSERT_TRUE(bytes);
    EXPECT_EQ(*bytes, kWire);
}

TEST(Frame, DecodesByteByByteAndBackToBack)
{
    FrameDecoder decoder;
    Frame frame;
    int found = 0;
    for (const char c : kWire + kWire) {
        decoder.feed(std::string_view(&c, 1));
        const auto got = decoder.next(frame);
        ASSERT_TRUE(got);
        if (*got) {
            ++found;
            EXPECT_EQ(frame.type, FrameType::Request);
            EXPECT_EQ(frame.request, 258u);
            EXPECT_EQ(frame.json, "{}");
            ASSERT_EQ(frame.attachments.size(), 1u);
            EXPECT_EQ(frame.attachments[0], "abc");
        }
    }
    EXPECT_EQ(found, 2);
    EXPECT_EQ(decoder.buffered(), 0u);
}

TEST(Frame, RefusesLiesAtOnceAndStaysFailed)
{
    const auto refused = [](std::string header) {
        FrameDecoder decoder;
        decoder.feed(header);
        Frame frame;
        const bool first = !decoder.next(frame);
        decoder.feed(kWire);
        return first && !decoder.next(frame);
    };
    std::string wire = kWire;
    wire[4] = '\x09'; // unknown type
    EXPECT_TRUE(refused(wire));
    wire = kWire;
    wire[3] = '\x7f'; // 2 GB of JSON
    EXPECT_TRUE(refused(wire));
    wire = kWire;
    wire[7] = '\x7f'; // 32513 attachments
    EXPECT_TRUE(refused(wire));
    wire = kWire.substr(0, 26);
    wire[25] = '\x7f'; // an attachment of 2^62 bytes, found before its bytes are there
    EXPECT_TRUE(refused(wire));
}

TEST(Frame, RefusesToEncodeWhatIsOverTheLimits)
{
    EXPECT_FALSE(encodeFrame({FrameType::Event, 1, std::string(kMaxJsonBytes + 1, ' '), {}}));
    EXPECT_TRUE(encodeFrame({FrameType::Event, 1, std::string(kMaxJsonBytes, ' '), {}}));
    EXPECT_FALSE(encodeFrame(
        {FrameType::Event, 1, "{}", std::vector<std::string>(std::size_t{kMaxAttachments} + 1)}));
}

} // namespace
