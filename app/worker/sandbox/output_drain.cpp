// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "output_drain.h"

#include <lathe/base/text.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace lathe::worker {

OutputTail::OutputTail(UniqueFd readEnd)
    : m_fd(std::move(readEnd))
{
    ::fcntl(m_fd.get(), F_SETFL, ::fcntl(m_fd.get(), F_GETFL) | O_NONBLOCK);
}

int OutputTail::fd() const
{
    const std::lock_guard lock(m_mutex);
    return m_fd.get();
}

bool OutputTail::drain()
{
    const std::lock_guard lock(m_mutex);
    std::array<char, 65536> buffer;
    // Bounded, so that an endless writer cannot hold the lock.
    for (int round = 0; m_fd.valid() && round < 32; ++round) {
        const ssize_t bytes = ::read(m_fd.get(), buffer.data(), buffer.size());
        if (bytes < 0 && errno == EINTR) {
            continue;
        }
        if (bytes < 0 && errno == EAGAIN) {
            break;
        }
        if (bytes <= 0) {
            m_fd.reset();
            break;
        }
        m_tail.append(buffer.data(), static_cast<std::size_t>(bytes));
        if (m_tail.size() > 2 * kKeepBytes) {
            m_tail.erase(0, m_tail.size() - kKeepBytes);
        }
    }
    return m_fd.valid();
}

std::string OutputTail::take()
{
    drain();
    const std::lock_guard lock(m_mutex);
    if (m_tail.size() > kKeepBytes) {
        m_tail.erase(0, m_tail.size() - kKeepBytes);
    }
    std::string text = toValidUtf8(m_tail);
    m_tail.clear();
    return text;
}

OutputDrain::OutputDrain()
    : m_wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
    , m_thread([this] { run(); })
{}

OutputDrain::~OutputDrain()
{
    m_stop = true;
    wake();
    m_thread.join();
}

void OutputDrain::wake() const
{
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(m_wake.get(), &one, sizeof one);
}

Result<OutputDrain::Pipe> OutputDrain::open()
{
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) {
        return fail(ErrorCode::Io, "Cannot make a pipe for an arm's output");
    }
    Pipe pipe{std::make_shared<OutputTail>(UniqueFd(fds[0])), UniqueFd(fds[1])};
    {
        const std::lock_guard lock(m_mutex);
        m_tails.push_back(pipe.tail);
    }
    wake();
    return pipe;
}

void OutputDrain::run()
{
    while (!m_stop) {
        std::vector<std::shared_ptr<OutputTail>> tails;
        {
            const std::lock_guard lock(m_mutex);
            // Nobody but this list knows it any more, or its writers are gone.
            std::erase_if(m_tails,
                          [](const auto& tail) { return tail.use_count() == 1 || tail->fd() < 0; });
            tails = m_tails;
        }
        std::vector<pollfd> entries = {{m_wake.get(), POLLIN, 0}};
        for (const auto& tail : tails) {
            entries.push_back({tail->fd(), POLLIN, 0});
        }
        // No timeout: a waking thread would disturb timing. Ended writers and new pipes wake it.
        if (::poll(entries.data(), entries.size(), -1) <= 0) {
            continue;
        }
        std::uint64_t count = 0;
        [[maybe_unused]] const auto cleared = ::read(m_wake.get(), &count, sizeof count);
        for (std::size_t i = 0; i < tails.size(); ++i) {
            if (entries[i + 1].revents != 0) {
                tails[i]->drain();
            }
        }
    }
}

} // namespace lathe::worker
