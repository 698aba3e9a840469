// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/llm/sse_framer.h>

#include <gmock/gmock.h>

namespace lathe::llm {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

std::vector<SseEvent> frame(const std::vector<std::string>& pieces)
{
    SseFramer framer;
    std::vector<SseEvent> out;
    for (const auto& piece : pieces) {
        framer.feed(piece, out);
    }
    framer.finish(out);
    return out;
}

auto data(const std::string& text)
{
    return Field(&SseEvent::data, text);
}

TEST(SseFramer, CutsAtEveryByteAlike)
{
    const std::string stream = "\xEF\xBB\xBF: hello\n\ndata: one\r\n\r\ndata:two\rdata: "
                               "lines\r\rid: 7\nevent: ping\ndata: {\"\xC3\xA9\":1}\n\n\n\ndata\n\n"
                               "data: last";
    for (std::size_t cut = 0; cut <= stream.size(); ++cut) {
        const auto events = frame({stream.substr(0, cut), stream.substr(cut)});
        ASSERT_THAT(
            events,
            ElementsAre(data("one"), data("two\nlines"), data("{\"\xC3\xA9\":1}"), data("last")))
            << "cut at " << cut;
        EXPECT_EQ(events[2].name, "ping");
        EXPECT_EQ(events[3].name, "");
    }
    std::vector<std::string> bytes;
    for (const char c : stream) {
        bytes.emplace_back(1, c);
    }
    EXPECT_EQ(frame(bytes).size(), 4u);
}

TEST(SseFramer, TakesOneLeadingSpaceOnly)
{
    EXPECT_THAT(frame({"data:  x\n\n"}), ElementsAre(data(" x")));
}

TEST(SseFramer, HandsOutManyEventsOfOneRead)
{
    std::string stream;
    for (int i = 0; i < 1000; ++i) {
        stream += "data: " + std::to_string(i) + "\n\n";
    }
    const auto events = frame({stream});
    ASSERT_EQ(events.size(), 1000u);
    EXPECT_EQ(events[999].data, "999");
}

TEST(SseFramer, TakesTenMegabyteLines)
{
    const std::string big(10u << 20, 'x');
    const auto events = frame({"data: " + big.substr(0, 3), big.substr(3) + "\n\n"});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].data.size(), big.size());
}

TEST(SseFramer, DropsOnlyTheLineThatIsTooLong)
{
    SseFramer framer;
    std::vector<SseEvent> out;
    framer.feed("data: ", out);
    const std::string chunk(16u << 20, 'x');
    for (int i = 0; i < 5; ++i) {
        framer.feed(chunk, out);
    }
    framer.feed("\n\ndata: after\n\n", out);
    EXPECT_THAT(out, ElementsAre(data("after")));
    EXPECT_EQ(framer.droppedLines(), 1);
}

} // namespace
} // namespace lathe::llm
