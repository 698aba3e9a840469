// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/agent_run.h>
#include <lathe/agent/trajectory_log.h>
#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/sha256.h>
#include <lathe/base/text.h>

#include <nlohmann/json.hpp>

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace lathe::agent {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "lathe.trajectory/1";

/// Lines that only machines read.
bool forMachines(std::string_view kind)
{
    return kind == "model_turn" || kind == "prompt";
}

void cleanStrings(Json& json, const Scrubber& scrubber)
{
    if (json.is_string()) {
        json = scrubber.clean(toValidUtf8(json.get<std::string>()));
    } else if (json.is_structured()) {
        for (auto& element : json) {
            cleanStrings(element, scrubber);
        }
    }
}

} // namespace

Result<TrajectoryLog> TrajectoryLog::create(const std::filesystem::path& file,
                                            const std::filesystem::path& blobFolder,
                                            const Json& header,
                                            Scrubber scrubber)
{
    for (const auto& folder : {file.parent_path(), blobFolder}) {
        if (auto made = makeFolders(folder); !made) {
            return tl::unexpected(made.error());
        }
    }
    UniqueFd fd(::open(
        file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) {
        return fail(ErrorCode::Io,
                    "cannot create the trajectory " + file.string() + ": "
                        + std::strerror(errno)); // NOLINT
    }
    TrajectoryLog log(std::move(fd), blobFolder, std::move(scrubber));
    Json first = {{"schema", kSchema}};
    first.update(header);
    if (auto written = log.line(dumpJson(first)); !written) {
        return tl::unexpected(written.error());
    }
    return log;
}

TrajectoryLog::TrajectoryLog(UniqueFd fd, std::filesystem::path blobFolder, Scrubber scrubber)
    : m_fd(std::move(fd))
    , m_blobFolder(std::move(blobFolder))
    , m_scrubber(std::move(scrubber))
{}

Result<void> TrajectoryLog::line(const std::string& json) const
{
    const std::string text = json + "\n";
    std::string_view rest = text;
    while (!rest.empty()) {
        const auto n = ::write(m_fd.get(), rest.data(), rest.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail(ErrorCode::Io,
                        std::string("cannot write the trajectory: ")
                            + std::strerror(errno)); // NOLINT
        }
        rest.remove_prefix(static_cast<std::size_t>(n));
    }
    if (::fsync(m_fd.get()) != 0) {
        return fail(ErrorCode::Io,
                    std::string("cannot sync the trajectory: ") + std::strerror(errno)); // NOLINT
    }
    return {};
}

Result<void> TrajectoryLog::append(TrajectoryItem& item)
{
    return append(item, Json());
}

Result<void> TrajectoryLog::append(TrajectoryItem& item, const Json& data)
{
    item.seq = ++m_seq;
    item.at = utcNow();
    item.text = m_scrubber.clean(toValidUtf8(item.text));
    item.title = m_scrubber.clean(toValidUtf8(item.title));
    Json json = {{"seq", item.seq}, {"step", item.step}, {"kind", item.kind}, {"at", item.at}};
    const auto put = [&](const char* key, const std::string& value) {
        if (!value.empty()) {
            json[key] = value;
        }
    };
    put("title", item.title);
    put("text", item.text);
    put("status", item.status);
    put("candidate", item.candidate);
    if (item.headJson != "{}" && !item.headJson.empty()) {
        if (auto head = parseOrderedJson(item.headJson)) {
            cleanStrings(*head, m_scrubber);
            item.headJson = dumpJson(*head);
            json["head"] = std::move(*head);
        }
    }
    if (item.seconds > 0) {
        json["seconds"] = item.seconds;
    }
    if (!data.is_null()) {
        json["data"] = data;
        cleanStrings(json["data"], m_scrubber);
    }
    return line(dumpJson(json));
}

Result<std::string> TrajectoryLog::storeBlob(std::string_view text) const
{
    const std::string clean = m_scrubber.clean(text);
    const std::string hash = sha256Hex(clean);
    const auto folder = m_blobFolder / hash.substr(0, 2);
    const auto file = folder / hash;
    std::error_code error;
    if (std::filesystem::exists(file, error)) {
        return hash;
    }
    if (auto made = makeFolders(folder); !made) {
        return tl::unexpected(made.error());
    }
    if (auto written = writeFileAtomic(file, clean, 0600); !written) {
        return tl::unexpected(written.error());
    }
    return hash;
}

Result<std::vector<TrajectoryItem>> readTrajectory(const std::filesystem::path& file)
{
    const auto text = readFile(file, 1u << 30);
    if (!text) {
        return tl::unexpected(text.error());
    }
    std::string_view rest = *text;
    std::vector<TrajectoryItem> items;
    std::string run;
    bool haveHeader = false;
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
        const std::string_view line = rest.substr(0, end);
        rest.remove_prefix(end + 1);
        const auto json = parseJson(line);
        if (!json) {
            if (rest.empty()) {
                break; // cut off in the middle by a crash, then ended by a later writer
            }
            return fail(ErrorCode::Parse,
                        file.string() + " holds a line that is not JSON",
                        json.error().detail);
        }
        if (!haveHeader) {
            const auto schema = stringOr(*json, "schema");
            if (!schema.starts_with("lathe.trajectory/")) {
                return fail(ErrorCode::Parse, file.string() + " is not a trajectory");
            }
            if (schema != kSchema) {
                return fail(ErrorCode::Unsupported,
                            file.string() + " was written by a newer version (" + schema + ")");
            }
            run = stringOr(*json, "run");
            haveHeader = true;
            continue;
        }
        TrajectoryItem item;
        item.run = run;
        item.kind = stringOr(*json, "kind");
        if (forMachines(item.kind)) {
            continue;
        }
        item.step = static_cast<int>(intOr(*json, "step", 0));
        item.seq = intOr(*json, "seq", 0);
        item.title = stringOr(*json, "title");
        item.text = stringOr(*json, "text");
        item.status = stringOr(*json, "status");
        item.candidate = stringOr(*json, "candidate");
        item.seconds = numberOr(*json, "seconds", 0);
        item.at = stringOr(*json, "at");
        if (const auto head = json->find("head"); head != json->end() && head->is_object()) {
            item.headJson = dumpJson(*head);
        }
        items.push_back(std::move(item));
    }
    if (!haveHeader) {
        return fail(ErrorCode::Parse,
                    file.string()
                        + (text->empty() ? " is empty" : " holds no whole line of a trajectory"));
    }
    return items;
}

} // namespace lathe::agent
