// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/base/id.h>
#include <lathe/base/unique_fd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe {
namespace {

std::string errnoText()
{
    return std::strerror(
        errno); // NOLINT(concurrency-mt-unsafe): glibc's is thread-safe for known errors
}

std::filesystem::path xdg(const char* variable, const char* below)
{
    if (const char* value = std::getenv(variable);
        value != nullptr && value[0] == '/') { // NOLINT(concurrency-mt-unsafe)
        return std::filesystem::path(value) / "lathe";
    }
    const char* home = std::getenv("HOME"); // NOLINT(concurrency-mt-unsafe)
    return std::filesystem::path(home != nullptr && home[0] != '\0' ? home : "/tmp") / below
           / "lathe";
}

Result<void> writeAll(int fd, std::string_view bytes, const std::filesystem::path& path)
{
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail(ErrorCode::Io, "cannot write " + path.string() + ": " + errnoText());
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

} // namespace

Result<std::string> readFile(const std::filesystem::path& path, std::uint64_t maxBytes)
{
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
    if (!fd.valid()) {
        return fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                    "cannot open " + path.string() + ": " + errnoText());
    }
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0 || S_ISDIR(info.st_mode)) {
        return fail(ErrorCode::Io, path.string() + " is not a readable file");
    }
    std::string bytes;
    std::string chunk(1u << 16, '\0');
    for (;;) {
        const ssize_t n = ::read(fd.get(), chunk.data(), chunk.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail(ErrorCode::Io, "cannot read " + path.string() + ": " + errnoText());
        }
        if (n == 0) {
            return bytes;
        }
        if (bytes.size() + static_cast<std::size_t>(n) > maxBytes) {
            return fail(ErrorCode::InvalidArgument,
                        path.string() + " is larger than " + std::to_string(maxBytes) + " bytes");
        }
        bytes.append(chunk.data(), static_cast<std::size_t>(n));
    }
}

Result<void>
writeFileAtomic(const std::filesystem::path& path, std::string_view bytes, unsigned mode)
{
    const std::filesystem::path temporary = path.string() + "." + newUuidV7().substr(24) + ".part";
    UniqueFd fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (!fd.valid()) {
        return fail(ErrorCode::Io, "cannot create " + temporary.string() + ": " + errnoText());
    }
    Result<void> written = writeAll(fd.get(), bytes, path);
    if (written && ::fsync(fd.get()) != 0) {
        written = fail(ErrorCode::Io, "cannot sync " + path.string() + ": " + errnoText());
    }
    fd.reset();
    if (written && ::rename(temporary.c_str(), path.c_str()) != 0) {
        written = fail(ErrorCode::Io, "cannot rename to " + path.string() + ": " + errnoText());
    }
    if (!written) {
        ::unlink(temporary.c_str());
        return written;
    }
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const UniqueFd dir(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (dir.valid()) {
        ::fsync(dir.get());
    }
    return {};
}

Result<void> makeFolders(const std::filesystem::path& path)
{
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (error) {
        return fail(ErrorCode::Io,
                    "cannot create folder " + path.string() + ": " + error.message());
    }
    return {};
}

Result<std::filesystem::path> makeTempFolder(const std::filesystem::path& parent,
                                             std::string_view prefix)
{
    if (auto made = makeFolders(parent); !made) {
        return tl::unexpected(made.error());
    }
    std::string pattern = (parent / (std::string(prefix) + "XXXXXX")).string();
    if (::mkdtemp(pattern.data()) == nullptr) {
        return fail(ErrorCode::Io,
                    "cannot create a folder in " + parent.string() + ": " + errnoText());
    }
    return std::filesystem::path(pattern);
}

bool isSafeRelativePath(std::string_view path)
{
    if (path.empty() || path.front() == '/' || path.find('\0') != std::string_view::npos) {
        return false;
    }
    while (!path.empty()) {
        const auto end = path.find('/');
        const std::string_view part = path.substr(0, end);
        if (part.empty() || part == "." || part == "..") {
            return false;
        }
        if (end == std::string_view::npos) {
            return true;
        }
        path = path.substr(end + 1);
    }
    return false;
}

std::filesystem::path cacheFolder()
{
    return xdg("XDG_CACHE_HOME", ".cache");
}

std::filesystem::path dataFolder()
{
    return xdg("XDG_DATA_HOME", ".local/share");
}

std::filesystem::path configFolder()
{
    return xdg("XDG_CONFIG_HOME", ".config");
}

std::filesystem::path executableFolder()
{
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::filesystem::current_path(error) : self.parent_path();
}

} // namespace lathe
