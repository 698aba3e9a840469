// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "folder_watch.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <sys/inotify.h>
#include <unistd.h>

namespace lathe::cli {

Result<FolderWatch> FolderWatch::open(const std::filesystem::path& folder)
{
    FolderWatch watch;
    watch.m_fd = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    watch.add(folder);
    if (!watch.m_fd.valid() || watch.m_folders.empty()) {
        return fail(ErrorCode::Io,
                    folder.string() + " cannot be watched: "
                        + std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    return watch;
}

void FolderWatch::add(const std::filesystem::path& folder)
{
    const int id = ::inotify_add_watch(m_fd.get(),
                                       folder.c_str(),
                                       IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE
                                           | IN_CREATE | IN_ONLYDIR);
    if (id < 0)
        return;
    m_folders[id] = folder;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
        if (entry.is_directory(ignored) && !entry.is_symlink(ignored)
            && !entry.path().filename().string().starts_with('.'))
            add(entry.path());
}

bool FolderWatch::drain()
{
    bool changed = false;
    alignas(inotify_event) std::array<char, 16384> buffer{};
    for (;;) {
        const ssize_t bytes = ::read(m_fd.get(), buffer.data(), buffer.size());
        if (bytes <= 0)
            return changed;
        for (ssize_t at = 0; at < bytes;) {
            inotify_event event{};
            std::memcpy(&event, buffer.data() + at, sizeof event);
            const std::string name = event.len > 0 ? buffer.data() + at + sizeof event : "";
            at += static_cast<ssize_t>(sizeof event + event.len);
            if (event.mask & IN_Q_OVERFLOW)
                changed = true;
            if (name.empty() || name.starts_with('.') || name.ends_with('~'))
                continue;
            if (event.mask & IN_ISDIR) {
                if (const auto parent = m_folders.find(event.wd); parent != m_folders.end())
                    add(std::filesystem::path(parent->second) / name);
                changed = true;
            } else if (!(event.mask & IN_CREATE)) { // its content follows
                changed = true;
            }
        }
    }
}

} // namespace lathe::cli
