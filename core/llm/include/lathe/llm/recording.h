// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/llm/transport.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::llm {

/// First line of a recording.
struct RecordingHeader
{
    std::string title;
    std::string task;
    std::string device;
    std::string model;
    std::string origin =
        "model"; ///< "scripted": written by people and played by a server, not a model's output
    std::string recordedAt; ///< RFC 3339
    std::string note;
};

struct RecordedChunk
{
    double atMs = 0; ///< since the request was sent
    std::string bytes;
};

/// One response as it came over the wire.
struct RecordedResponse
{
    int turn = 0;
    HttpHead head;
    std::vector<RecordedChunk> chunks;
};

struct RecordedTool
{
    std::string name;
    std::string status;
};

struct Recording
{
    RecordingHeader header;
    std::map<int, RecordedResponse> responses;      ///< the last answer of each turn
    std::map<int, std::vector<RecordedTool>> tools; ///< what the tools of each turn gave then
};

/// Reads a recording (JSONL, schema "lathe.recording/1"); a half-written last line is left out.
Result<Recording> readRecording(const std::filesystem::path& file);
Result<Recording> parseRecording(std::string_view jsonl);

/// The tap: appends every response's raw bytes with their chunk boundaries and times. Each answer
/// is one line, written and synced when it ends. The key's own text is masked, should a server echo
/// it.
class RecordingWriter
{
public:
    static Result<std::unique_ptr<RecordingWriter>>
    create(const std::filesystem::path& file, const RecordingHeader& header, std::string secret);
    ~RecordingWriter();
    RecordingWriter(const RecordingWriter&) = delete;
    RecordingWriter& operator=(const RecordingWriter&) = delete;

    void begin(int turn, int attempt);
    void head(const HttpHead& head);
    void bytes(std::string_view chunk);
    void end(std::string_view outcome); ///< "complete" or why not
    void tools(int turn, const std::vector<RecordedTool>& tools);

private:
    RecordingWriter(int fd, std::string secret);
    void line(const std::string& json) const;
    int m_fd;
    std::string m_secret;
    RecordedResponse m_current;
    int m_attempt = 0;
    std::int64_t m_startNs = 0;
};

/// Plays a recording's bytes by turn number. pace scales the recorded pauses (0: none); a pause is
/// 100 ms at most.
std::unique_ptr<Transport> makeReplayTransport(boost::asio::io_context& io,
                                               std::shared_ptr<const Recording> recording,
                                               double pace);

} // namespace lathe::llm
