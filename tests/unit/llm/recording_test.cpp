// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/llm/recording.h>

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

namespace lathe::llm {
namespace {

class RecordingTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-recording-");
        file = folder / "a.replay.jsonl";
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::filesystem::path folder;
    std::filesystem::path file;
};

TEST_F(RecordingTest, KeepsBytesAndBoundaries)
{
    const std::vector<std::string> chunks = {"data: \xC3", "\xBC\n\n", std::string("\0x", 2)};
    {
        auto writer = RecordingWriter::create(
            file, {"t", "k", "cpu", "m", "scripted", "2026-01-01T00:00:00Z", ""}, "");
        ASSERT_TRUE(writer);
        (*writer)->begin(3, 1);
        (*writer)->head({200, {{"Content-Type", "text/event-stream"}, {"Set-Cookie", "secret"}}});
        for (const auto& c : chunks) {
            (*writer)->bytes(c);
        }
        (*writer)->end("complete");
        (*writer)->tools(3, {{"verify", "wrong"}});
    }
    const auto recording = readRecording(file);
    ASSERT_TRUE(recording) << recording.error().message;
    EXPECT_EQ(recording->header.origin, "scripted");
    const auto& response = recording->responses.at(3);
    ASSERT_EQ(response.chunks.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(response.chunks[i].bytes, chunks[i]);
    }
    EXPECT_EQ(response.head.value("content-type"), "text/event-stream");
    EXPECT_EQ(response.head.value("set-cookie"), "");
    EXPECT_EQ(recording->tools.at(3)[0].status, "wrong");
}

TEST_F(RecordingTest, MasksTheKeyAcrossChunks)
{
    {
        auto writer = RecordingWriter::create(file, {}, "sk-very-secret");
        (*writer)->begin(1, 1);
        (*writer)->bytes("your key sk-very");
        (*writer)->bytes("-secret is bad");
        (*writer)->end("complete");
    }
    EXPECT_EQ(readFile(file)->find("very"), std::string::npos);
    const auto recording = readRecording(file);
    EXPECT_EQ(recording->responses.at(1).chunks[0].bytes, "your key *******");
    EXPECT_EQ(recording->responses.at(1).chunks[1].bytes, "******* is bad");
}

TEST_F(RecordingTest, LeavesOutAHalfWrittenLine)
{
    {
        auto writer = RecordingWriter::create(file, {}, "");
        (*writer)->begin(1, 1);
        (*writer)->bytes("x");
        (*writer)->end("complete");
    }
    const std::string text = *readFile(file);
    for (std::size_t cut = text.find('\n') + 1; cut < text.size(); ++cut) {
        const auto recording = parseRecording(std::string_view(text).substr(0, cut));
        ASSERT_TRUE(recording) << cut;
        EXPECT_TRUE(recording->responses.empty());
    }
    EXPECT_FALSE(parseRecording(""));
    EXPECT_FALSE(parseRecording("{\"schema\":\"other\"}\n"));
}

TEST_F(RecordingTest, ReplaysInOrderAndSaysWhenItIsOver)
{
    auto recording = std::make_shared<Recording>();
    recording->responses[1] = {1, {200, {}}, {{0, "a"}, {5000, "b"}}};
    boost::asio::io_context io;
    const auto transport = makeReplayTransport(io, recording, 0);
    std::string got;
    Result<void> end;
    HttpHandlers handlers;
    handlers.onHead = [&](const HttpHead& head) { got += std::to_string(head.status); };
    handlers.onBytes = [&](std::string_view bytes) { got += bytes; };
    handlers.onDone = [&](Result<void> result) { end = std::move(result); };
    HttpRequest request;
    request.turn = 1;
    transport->start(request, handlers);
    io.run();
    EXPECT_EQ(got, "200ab");
    EXPECT_TRUE(end);
    request.turn = 2;
    transport->start(request, handlers);
    io.restart();
    io.run();
    EXPECT_FALSE(end);
}

} // namespace
} // namespace lathe::llm
