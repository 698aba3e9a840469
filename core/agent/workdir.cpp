// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/workdir.h>
#include <lathe/base/files.h>
#include <lathe/base/id.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::agent {
namespace {

constexpr std::size_t kMaxFileBytes = 1u << 20;
constexpr std::size_t kMaxFiles = 64;
constexpr std::string_view kModelFile = "model_new.py";
constexpr std::string_view kKernelFolder = "kernels/";

Result<void> writeAt(int folder, const std::string& name, std::string_view text)
{
    const std::string temporary = "." + name + "." + newUuidV7().substr(24);
    UniqueFd fd(::openat(
        folder, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fd.valid()) {
        return fail(ErrorCode::Io,
                    "cannot write " + name + ": "
                        + std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    while (!text.empty()) {
        const auto n = ::write(fd.get(), text.data(), text.size());
        if (n < 0 && errno != EINTR) {
            ::unlinkat(folder, temporary.c_str(), 0);
            return fail(ErrorCode::Io,
                        "cannot write " + name + ": "
                            + std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
        }
        text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    if (::renameat(folder, temporary.c_str(), folder, name.c_str()) != 0) {
        ::unlinkat(folder, temporary.c_str(), 0);
        return fail(ErrorCode::Io,
                    "cannot write " + name + ": it is a folder"); // a link would have been replaced
    }
    return {};
}

Result<std::string> readAt(int folder, const std::string& name)
{
    const UniqueFd fd(
        ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY));
    struct stat info = {};
    if (!fd.valid() || ::fstat(fd.get(), &info) != 0) {
        return fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::Io,
                    errno == ENOENT ? "there is no file " + name
                                    : name + " cannot be read (a link?)");
    }
    if (!S_ISREG(info.st_mode) || info.st_size > static_cast<off_t>(kMaxFileBytes)) {
        return fail(ErrorCode::InvalidArgument, name + " is not a plain file of at most 1 MiB");
    }
    std::string text;
    std::array<char, 65536> buffer{};
    for (;;) {
        const auto n = ::read(fd.get(), buffer.data(), buffer.size());
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail(ErrorCode::Io, "cannot read " + name);
        }
        if (n == 0) {
            return text;
        }
        text.append(buffer.data(), static_cast<std::size_t>(n));
        if (text.size() > kMaxFileBytes) {
            return fail(ErrorCode::InvalidArgument, name + " is larger than 1 MiB");
        }
    }
}

std::string baseName(std::string_view path)
{
    return std::string(
        path.substr(path.rfind('/') == std::string_view::npos ? 0 : path.rfind('/') + 1));
}

} // namespace

bool isCandidatePath(std::string_view path)
{
    if (path == kModelFile) {
        return true;
    }
    if (!isSafeRelativePath(path) || !path.starts_with(kKernelFolder)) {
        return false;
    }
    path.remove_prefix(kKernelFolder.size());
    static constexpr std::array<std::string_view, 7> kSuffixes = {
        ".cpp", ".cu", ".h", ".hpp", ".cuh", ".cc", ".inc"};
    return path.find('/') == std::string_view::npos && !path.starts_with('.')
           && std::any_of(kSuffixes.begin(), kSuffixes.end(), [&](std::string_view s) {
                  return path.ends_with(s);
              });
}

Result<Workdir> Workdir::create(const std::filesystem::path& folder,
                                const protocol::CandidateSpec& start,
                                std::string reference)
{
    if (auto made = makeFolders(folder); !made) {
        return tl::unexpected(made.error());
    }
    UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd.valid()) {
        return fail(ErrorCode::Io, "cannot open " + folder.string());
    }
    if (auto written = writeAt(fd.get(), "reference.py", reference); !written) {
        return tl::unexpected(written.error());
    }
    Workdir workdir(folder, std::move(fd), std::move(reference), start.format, start.flags);
    for (const auto& file : start.files) {
        if (auto written = workdir.write(file.path, file.text); !written) {
            return tl::unexpected(written.error());
        }
    }
    return workdir;
}

Workdir::Workdir(std::filesystem::path folder,
                 UniqueFd fd,
                 std::string reference,
                 std::string format,
                 std::vector<std::string> flags)
    : m_folder(std::move(folder))
    , m_fd(std::move(fd))
    , m_reference(std::move(reference))
    , m_format(std::move(format))
    , m_flags(std::move(flags))
{}

Result<UniqueFd> Workdir::folderOf(std::string_view path, bool create) const
{
    if (!path.starts_with(kKernelFolder)) {
        return UniqueFd(::fcntl(m_fd.get(), F_DUPFD_CLOEXEC, 0));
    }
    if (create) {
        ::mkdirat(m_fd.get(), "kernels", 0755);
    }
    UniqueFd fd(::openat(m_fd.get(), "kernels", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    if (!fd.valid()) {
        return fail(errno == ENOENT ? ErrorCode::NotFound : ErrorCode::InvalidArgument,
                    "kernels is not a folder");
    }
    return fd;
}

Result<std::string> Workdir::read(std::string_view path) const
{
    if (path == "reference.py") {
        return m_reference;
    }
    if (!isCandidatePath(path)) {
        return fail(
            ErrorCode::InvalidArgument,
            std::string(path)
                + " is not readable here: there are reference.py, model_new.py and kernels/*");
    }
    const auto folder = folderOf(path, false);
    if (!folder) {
        return fail(ErrorCode::NotFound, "there is no file " + std::string(path));
    }
    return readAt(folder->get(), baseName(path));
}

Result<void> Workdir::write(std::string_view path, std::string_view text)
{
    if (!isCandidatePath(path)) {
        return fail(ErrorCode::InvalidArgument,
                    std::string(path)
                        + " may not be written: only model_new.py and sources directly in kernels/ "
                          "(.cpp, .cu, .h, .hpp, .cuh)");
    }
    if (text.size() > kMaxFileBytes) {
        return fail(ErrorCode::InvalidArgument, std::string(path) + " would be larger than 1 MiB");
    }
    const auto folder = folderOf(path, true);
    if (!folder) {
        return tl::unexpected(folder.error());
    }
    return writeAt(folder->get(), baseName(path), text);
}

Result<std::vector<std::string>> Workdir::list() const
{
    std::vector<std::string> paths;
    struct stat info = {};
    if (::fstatat(m_fd.get(), std::string(kModelFile).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0
        && S_ISREG(info.st_mode)) {
        paths.emplace_back(kModelFile);
    }
    auto folder = folderOf(kKernelFolder, false);
    if (!folder) {
        return folder.error().code == ErrorCode::NotFound ? Result<std::vector<std::string>>(paths)
                                                          : tl::unexpected(folder.error());
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::fdopendir(folder->release()), &::closedir);
    while (const dirent* entry =
               dir ? ::readdir(dir.get()) : nullptr) { // NOLINT(concurrency-mt-unsafe): own stream
        const std::string path = std::string(kKernelFolder) + entry->d_name;
        if (isCandidatePath(path)) {
            paths.push_back(path);
        }
    }
    if (paths.size() > kMaxFiles) {
        return fail(ErrorCode::InvalidArgument, "there are more than 64 files in kernels/");
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

Result<protocol::CandidateSpec> Workdir::snapshot() const
{
    auto paths = list();
    if (!paths) {
        return tl::unexpected(paths.error());
    }
    protocol::CandidateSpec spec;
    spec.format = m_format;
    spec.flags = m_flags;
    for (const auto& path : *paths) {
        auto text = read(path);
        if (!text) {
            return tl::unexpected(text.error());
        }
        spec.files.push_back({path, std::move(*text)});
    }
    if (std::none_of(spec.files.begin(), spec.files.end(), [](const auto& f) {
            return f.path == kModelFile;
        })) {
        return fail(ErrorCode::InvalidArgument, "there is no model_new.py");
    }
    return spec;
}

Result<void> Workdir::restore(const protocol::CandidateSpec& spec)
{
    const auto present = list();
    if (!present) {
        return tl::unexpected(present.error());
    }
    for (const auto& path : *present) {
        if (const auto folder = folderOf(path, false)) {
            ::unlinkat(folder->get(), baseName(path).c_str(), 0);
        }
    }
    for (const auto& file : spec.files) {
        if (auto written = write(file.path, file.text); !written) {
            return written;
        }
    }
    return {};
}

} // namespace lathe::agent
