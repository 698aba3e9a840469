// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/worker/device_lock.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

constexpr int kLookEveryMs = 20;

std::string holderOf(int file)
{
    std::array<char, 128> text{};
    const ssize_t bytes = ::pread(file, text.data(), text.size() - 1, 0);
    return bytes > 0 ? std::string(text.data(), static_cast<std::size_t>(bytes))
                     : std::string("another worker");
}

} // namespace

Result<DeviceLock> DeviceLock::acquire(const std::filesystem::path& folder,
                                       const std::string& device,
                                       double timeoutSeconds,
                                       int cancelFd,
                                       const std::function<void(const std::string&)>& onWait)
{
    std::error_code ignored;
    // Several users share the lock: the folder is like /tmp, the file is anybody's to lock. What
    // another user made is left as it is: it may be a link to something else.
    if (std::filesystem::create_directories(folder, ignored)) {
        (void)::chmod(folder.c_str(), 01777);
    }
    std::string name = device;
    for (char& c : name) {
        c = c == '/' || c == ':' ? '-' : c;
    }
    const auto path = folder / (name + ".lock");
    // Opened as it is where it is: in a folder like /tmp the kernel may refuse O_CREAT on another
    // user's file (fs.protected_regular), even one that may be written.
    constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
    UniqueFd file(::open(path.c_str(), kFlags));
    if (!file.valid() && errno == ENOENT) {
        file = UniqueFd(::open(path.c_str(), kFlags | O_CREAT | O_EXCL, 0666));
        if (!file.valid() && errno == EEXIST) { // another worker's, made in between
            file = UniqueFd(::open(path.c_str(), kFlags));
        }
    }
    if (!file.valid()) {
        return fail(
            ErrorCode::Io, "cannot open the device's lock " + path.string(), std::strerror(errno));
    }
    (void)::fchmod(file.get(), 0666);
    const std::int64_t deadline = monotonicNs() + static_cast<std::int64_t>(timeoutSeconds * 1e9);
    bool told = false;
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) {
            return fail(ErrorCode::Io, "cannot lock " + path.string(), std::strerror(errno));
        }
        if (!told && onWait) {
            told = true;
            onWait(holderOf(file.get()));
        }
        if (monotonicNs() > deadline) {
            return fail(ErrorCode::Timeout, "the device is in use by " + holderOf(file.get()));
        }
        pollfd wait{cancelFd, POLLIN, 0};
        if (::poll(&wait, cancelFd >= 0 ? 1 : 0, kLookEveryMs) > 0) {
            return fail(ErrorCode::Cancelled, "cancelled");
        }
    }
    const std::string holder = "lathe-worker " + std::to_string(::getpid());
    if (::ftruncate(file.get(), 0) == 0) {
        (void)!::pwrite(file.get(), holder.data(), holder.size(), 0);
    }
    return DeviceLock(std::move(file));
}

} // namespace lathe::worker
