// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/llm/recording.h>

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace lathe::llm {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "lathe.recording/1";

std::string toHex(std::string_view bytes)
{
    static constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    out.reserve(bytes.size() * 2);
    for (const char c : bytes) {
        const auto b = static_cast<unsigned char>(c);
        out += kDigits[b >> 4u];
        out += kDigits[b & 15u];
    }
    return out;
}

std::string fromHex(std::string_view hex)
{
    std::string out;
    const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
    for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
        out += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
    }
    return out;
}

/// Overwrites every occurrence of the secret in the chunks' concatenation, keeping the boundaries.
void mask(std::vector<RecordedChunk>& chunks, const std::string& secret)
{
    if (secret.empty()) {
        return;
    }
    std::string all;
    for (const auto& chunk : chunks) {
        all += chunk.bytes;
    }
    bool found = false;
    for (auto at = all.find(secret); at != std::string::npos;
         at = all.find(secret, at + secret.size())) {
        all.replace(at, secret.size(), secret.size(), '*');
        found = true;
    }
    std::size_t from = 0;
    for (auto& chunk : chunks) {
        if (found) {
            chunk.bytes = all.substr(from, chunk.bytes.size());
        }
        from += chunk.bytes.size();
    }
}

void readResponse(const nlohmann::json& json, Recording& recording)
{
    RecordedResponse response;
    response.turn = static_cast<int>(intOr(json, "turn", 0));
    response.head.status = static_cast<int>(intOr(json, "status", 200));
    if (const auto it = json.find("headers"); it != json.end() && it->is_object()) {
        for (const auto& [name, value] : it->items()) {
            response.head.headers.push_back(
                {name, value.is_string() ? value.get<std::string>() : ""});
        }
    }
    if (const auto it = json.find("chunks"); it != json.end() && it->is_array()) {
        for (const auto& chunk : *it) {
            const auto hex = stringOr(chunk, "hex");
            response.chunks.push_back(
                {numberOr(chunk, "at", 0), hex.empty() ? stringOr(chunk, "text") : fromHex(hex)});
        }
    }
    recording.responses[response.turn] = std::move(response);
}

void readTools(const nlohmann::json& json, Recording& recording)
{
    std::vector<RecordedTool> tools;
    if (const auto it = json.find("tools"); it != json.end() && it->is_array()) {
        for (const auto& tool : *it) {
            tools.push_back({stringOr(tool, "name"), stringOr(tool, "status")});
        }
    }
    recording.tools[static_cast<int>(intOr(json, "turn", 0))] = std::move(tools);
}

} // namespace

Result<Recording> parseRecording(std::string_view jsonl)
{
    Recording recording;
    bool haveHeader = false;
    while (!jsonl.empty()) {
        const auto end = jsonl.find('\n');
        if (end == std::string_view::npos) {
            break; // half-written
        }
        const std::string_view line = trimmed(jsonl.substr(0, end));
        jsonl.remove_prefix(end + 1);
        if (line.empty()) {
            continue;
        }
        auto json = parseJson(line);
        if (!json) {
            return fail(ErrorCode::Parse,
                        "the recording holds a line that is not JSON",
                        json.error().detail);
        }
        if (!haveHeader) {
            if (stringOr(*json, "schema") != kSchema) {
                return fail(ErrorCode::Parse, std::string("not a recording of schema ") + kSchema);
            }
            recording.header = {stringOr(*json, "title"),
                                stringOr(*json, "task"),
                                stringOr(*json, "device"),
                                stringOr(*json, "model"),
                                stringOr(*json, "origin"),
                                stringOr(*json, "recordedAt"),
                                stringOr(*json, "note")};
            haveHeader = true;
        } else if (stringOr(*json, "kind") == "response") {
            readResponse(*json, recording);
        } else if (stringOr(*json, "kind") == "tools") {
            readTools(*json, recording);
        }
    }
    if (!haveHeader) {
        return fail(ErrorCode::Parse, "the recording is empty");
    }
    return recording;
}

Result<Recording> readRecording(const std::filesystem::path& file)
{
    auto text = readFile(file);
    if (!text) {
        return tl::unexpected(text.error());
    }
    auto recording = parseRecording(*text);
    if (!recording) {
        return fail(recording.error().code,
                    file.string() + ": " + recording.error().message,
                    recording.error().detail);
    }
    return recording;
}

Result<std::unique_ptr<RecordingWriter>> RecordingWriter::create(const std::filesystem::path& file,
                                                                 const RecordingHeader& header,
                                                                 std::string secret)
{
    const int fd = ::open(
        file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return fail(ErrorCode::Io,
                    "cannot create the recording " + file.string() + ": "
                        + std::strerror(errno)); // NOLINT
    }
    std::unique_ptr<RecordingWriter> writer(new RecordingWriter(fd, std::move(secret)));
    Json json = {{"schema", kSchema},
                 {"title", header.title},
                 {"task", header.task},
                 {"device", header.device},
                 {"model", header.model},
                 {"origin", header.origin},
                 {"recordedAt", header.recordedAt.empty() ? utcNow() : header.recordedAt}};
    if (!header.note.empty()) {
        json["note"] = header.note;
    }
    writer->line(dumpJson(json));
    return writer;
}

RecordingWriter::RecordingWriter(int fd, std::string secret)
    : m_fd(fd)
    , m_secret(std::move(secret))
{}

RecordingWriter::~RecordingWriter()
{
    ::close(m_fd);
}

void RecordingWriter::line(const std::string& json) const
{
    const std::string text = json + "\n";
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto n = ::write(m_fd, rest.data(), rest.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return; // a recording that cannot be written does not stop the run; the trajectory is
                    // the truth
        }
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    ::fsync(m_fd);
}

void RecordingWriter::begin(int turn, int attempt)
{
    m_current = {};
    m_current.turn = turn;
    m_attempt = attempt;
    m_startNs = monotonicNs();
}

void RecordingWriter::head(const HttpHead& head)
{
    m_current.head = head;
}

void RecordingWriter::bytes(std::string_view chunk)
{
    const double ms = static_cast<double>(monotonicNs() - m_startNs) / 1e6;
    m_current.chunks.push_back({std::round(ms * 10) / 10, std::string(chunk)});
}

void RecordingWriter::end(std::string_view outcome)
{
    mask(m_current.chunks, m_secret);
    Json json = {{"kind", "response"},
                 {"turn", m_current.turn},
                 {"attempt", m_attempt},
                 {"outcome", outcome},
                 {"status", m_current.head.status}};
    json["headers"] = Json::object();
    for (const char* name : {"content-type", "retry-after", "retry-after-ms", "x-should-retry"}) {
        if (auto value = m_current.head.value(name); !value.empty()) {
            json["headers"][name] = value;
        }
    }
    json["chunks"] = Json::array();
    for (const auto& chunk : m_current.chunks) {
        Json entry = {{"at", chunk.atMs}};
        if (toValidUtf8(chunk.bytes) == chunk.bytes) {
            entry["text"] = chunk.bytes;
        } else { // cut inside a character, or not text at all
            entry["hex"] = toHex(chunk.bytes);
        }
        json["chunks"].push_back(std::move(entry));
    }
    line(dumpJson(json));
    m_current = {};
}

void RecordingWriter::tools(int turn, const std::vector<RecordedTool>& tools)
{
    Json json = {{"kind", "tools"}, {"turn", turn}, {"tools", Json::array()}};
    for (const auto& tool : tools) {
        json["tools"].push_back({{"name", tool.name}, {"status", tool.status}});
    }
    line(dumpJson(json));
}

} // namespace lathe::llm
