// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "build_cache.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/protocol/types_json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kWorkPrefix = "work-";
/// A build that is being judged must not vanish; nobody judges one this long.
constexpr auto kInUse = std::chrono::minutes(15);

std::uint64_t folderBytes(const fs::path& folder)
{
    std::uint64_t bytes = 0;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
        if (entry.is_regular_file(error)) {
            const auto size = entry.file_size(error);
            bytes += error ? 0 : size;
        }
    }
    return bytes;
}

} // namespace

BuildCache::BuildCache(fs::path root, std::uint64_t maxBytes)
    : m_root(std::move(root))
    , m_maxBytes(maxBytes)
{}

std::optional<BuildCache::Entry> BuildCache::find(const std::string& key) const
{
    const auto text = readFile(m_root / key / "report.json");
    const auto json = text ? parseJson(*text) : tl::unexpected(text.error());
    auto report = json ? protocol::buildReportFromJson(*json) : tl::unexpected(json.error());
    if (!report || !fs::is_directory(m_root / key / "candidate")) {
        return std::nullopt;
    }
    report->log = stringOr(*json, "log");
    std::error_code ignored;
    fs::last_write_time(m_root / key, fs::file_time_type::clock::now(), ignored);
    return Entry{std::move(*report), m_root / key / "candidate"};
}

Result<fs::path> BuildCache::makeWorkFolder() const
{
    if (auto made = makeFolders(m_root); !made) {
        return tl::unexpected(made.error());
    }
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(m_root, ignored)) {
        const std::string name = entry.path().filename().string();
        int pid = 0;
        if (name.starts_with(kWorkPrefix)) {
            std::from_chars(name.data() + kWorkPrefix.size(), name.data() + name.size(), pid);
        }
        if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) {
            fs::remove_all(entry.path(), ignored);
        }
    }
    return makeTempFolder(m_root, std::string(kWorkPrefix) + std::to_string(::getpid()) + "-");
}

Result<BuildCache::Entry> BuildCache::publish(const std::string& key,
                                              const fs::path& prepared,
                                              const protocol::BuildReport& report) const
{
    auto json = protocol::toJson(report);
    json["log"] = report.log;
    if (auto written = writeFileAtomic(prepared / "report.json", dumpJson(json)); !written) {
        return tl::unexpected(written.error());
    }
    std::error_code error;
    fs::rename(prepared, m_root / key, error);
    if (error && !find(key)) {
        // What is there is not an entry (a file system that lost half of one): make room and try
        // once more.
        fs::remove_all(m_root / key, error);
        fs::rename(prepared, m_root / key, error);
        if (error) {
            return fail(
                ErrorCode::Io, "Cannot store the build in " + m_root.string(), error.message());
        }
    }
    prune(key);
    return Entry{report, m_root / key / "candidate"};
}

void BuildCache::prune(const std::string& keep) const
{
    struct Known
    {
        fs::path path;
        fs::file_time_type used;
        std::uint64_t bytes = 0;
    };
    std::vector<Known> entries;
    std::uint64_t total = 0;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(m_root, error)) {
        if (!entry.path().filename().string().starts_with(kWorkPrefix)) {
            entries.push_back(
                {entry.path(), entry.last_write_time(error), folderBytes(entry.path())});
            total += entries.back().bytes;
        }
    }
    std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
        return a.used < b.used;
    });
    const auto now = fs::file_time_type::clock::now();
    for (const Known& entry : entries) {
        if (total <= m_maxBytes) {
            return;
        }
        if (entry.path.filename() != keep && now - entry.used > kInUse) {
            fs::remove_all(entry.path, error);
            total -= entry.bytes;
        }
    }
}

} // namespace lathe::worker
