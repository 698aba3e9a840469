// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "outbox.h"

#include <lathe/protocol/messages.h>

#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

namespace lathe::worker {
namespace {
constexpr std::size_t kMaxQueuedBytes = 64u << 20;
}

Outbox::Outbox()
    : m_wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{}

void Outbox::post(const protocol::Frame& frame)
{
    put(frame, true);
}

void Outbox::postNow(const protocol::Frame& frame)
{
    put(frame, false);
}

void Outbox::put(const protocol::Frame& frame, bool mayWait)
{
    auto bytes = protocol::encodeFrame(frame);
    if (!bytes) {
        bytes = protocol::encodeFrame(protocol::encodeFailure(frame.request, bytes.error()));
    }
    if (!bytes) {
        return; // a failure's text is short: this cannot happen
    }
    std::unique_lock lock(m_mutex);
    if (mayWait) {
        m_room.wait(lock, [this] { return m_closed || m_bytes < kMaxQueuedBytes; });
    }
    if (m_closed) {
        return;
    }
    m_bytes += bytes->size();
    m_frames.push_back(std::move(*bytes));
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(m_wake.get(), &one, sizeof one);
}

bool Outbox::pending()
{
    const std::lock_guard lock(m_mutex);
    std::uint64_t count = 0;
    [[maybe_unused]] const auto cleared = ::read(m_wake.get(), &count, sizeof count);
    return !m_frames.empty();
}

bool Outbox::writeTo(int fd)
{
    std::unique_lock lock(m_mutex);
    while (!m_frames.empty()) {
        // Only this thread takes frames off, and deque::push_back moves none: the front stays put
        // while unlocked.
        const std::string& front = m_frames.front();
        lock.unlock();
        const ssize_t written = ::write(fd, front.data() + m_offset, front.size() - m_offset);
        const int error = errno;
        lock.lock();
        if (written < 0 && error == EINTR) {
            continue;
        }
        if (written < 0) {
            return error == EAGAIN;
        }
        m_offset += static_cast<std::size_t>(written);
        if (m_offset == front.size()) {
            m_bytes -= front.size();
            m_offset = 0;
            m_frames.pop_front();
            m_room.notify_all();
        }
    }
    return true;
}

void Outbox::close()
{
    const std::lock_guard lock(m_mutex);
    m_closed = true;
    m_room.notify_all();
}

} // namespace lathe::worker
