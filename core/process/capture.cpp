// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/process/spawn.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::process {
namespace {

/// Blocks SIGPIPE in this thread and swallows the one a write may have raised: a library cannot
/// know whether the program ignores it.
class SigpipeGuard
{
public:
    SigpipeGuard()
    {
        sigset_t pending;
        sigpending(&pending);
        m_wasPending = sigismember(&pending, SIGPIPE) == 1;
        sigemptyset(&m_set);
        sigaddset(&m_set, SIGPIPE);
        ::pthread_sigmask(SIG_BLOCK, &m_set, &m_before);
    }
    ~SigpipeGuard()
    {
        if (!m_wasPending) {
            const timespec now = {};
            while (::sigtimedwait(&m_set, nullptr, &now) < 0 && errno == EINTR) {
            }
        }
        ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
    }
    SigpipeGuard(const SigpipeGuard&) = delete;
    SigpipeGuard& operator=(const SigpipeGuard&) = delete;

private:
    sigset_t m_set = {};
    sigset_t m_before = {};
    bool m_wasPending = false;
};

void setNonBlocking(int fd)
{
    if (fd >= 0) {
        ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    }
}

/// One run's state: what poll() waits for and what was read so far.
class Capture
{
public:
    Capture(Child& child,
            std::string_view stdinText,
            std::size_t maxOutputBytes,
            CaptureResult& result)
        : m_child(child)
        , m_stdin(stdinText)
        , m_maxOutputBytes(maxOutputBytes)
        , m_result(result)
    {
        setNonBlocking(child.stdinFd.get());
        setNonBlocking(child.stdoutFd.get());
        setNonBlocking(child.stderrFd.get());
        writeInput();
    }

    /// True when the child has exited (status filled), false at the deadline or on cancel, after
    /// killing the group.
    bool runUntil(std::int64_t deadlineNs, int cancelFd, int& status)
    {
        while (true) {
            if (m_child.tryWait(status)) {
                drain(m_child.stdoutFd, m_result.out);
                drain(m_child.stderrFd, m_result.err);
                return true;
            }
            const std::int64_t left = deadlineNs - monotonicNs();
            if (left <= 0) {
                m_result.timedOut = true;
                return false;
            }
            if (!waitOnce(left, cancelFd)) {
                m_result.cancelled = true;
                return false;
            }
        }
    }

    void drainAll()
    {
        drain(m_child.stdoutFd, m_result.out);
        drain(m_child.stderrFd, m_result.err);
    }

private:
    bool waitOnce(std::int64_t leftNs, int cancelFd)
    {
        std::array<pollfd, 5> entries = {{{cancelFd, POLLIN, 0},
                                          {m_child.pidFd.get(), POLLIN, 0},
                                          {m_child.stdoutFd.get(), POLLIN, 0},
                                          {m_child.stderrFd.get(), POLLIN, 0},
                                          {m_child.stdinFd.get(), POLLOUT, 0}}};
        constexpr std::int64_t kMs = 1'000'000;
        const std::int64_t limit = m_child.pidFd.valid() ? 3'600'000 : 10;
        const int ms = static_cast<int>(std::min<std::int64_t>(leftNs / kMs + 1, limit));
        if (::poll(entries.data(), entries.size(), ms) <= 0) {
            return true;
        }
        if (entries[0].revents != 0) {
            return false;
        }
        if (entries[2].revents != 0) {
            drain(m_child.stdoutFd, m_result.out);
        }
        if (entries[3].revents != 0) {
            drain(m_child.stderrFd, m_result.err);
        }
        if (entries[4].revents != 0) {
            writeInput();
        }
        return true;
    }

    /// Reads at most 1 MiB at a time, so that an endless writer cannot keep the deadline from being
    /// looked at.
    void drain(UniqueFd& fd, std::string& text)
    {
        std::array<char, 65536> buffer;
        for (int round = 0; fd.valid() && round < 16; ++round) {
            const ssize_t bytes = ::read(fd.get(), buffer.data(), buffer.size());
            if (bytes < 0 && errno == EINTR) {
                continue;
            }
            if (bytes < 0 && errno == EAGAIN) {
                return;
            }
            if (bytes <= 0) {
                fd.reset();
                return;
            }
            const std::size_t room = m_maxOutputBytes - std::min(m_maxOutputBytes, text.size());
            const auto read = static_cast<std::size_t>(bytes);
            text.append(buffer.data(), std::min(room, read));
            m_result.truncated = m_result.truncated || read > room;
        }
    }

    void writeInput()
    {
        while (m_child.stdinFd.valid()) {
            if (m_stdin.empty()) {
                m_child.stdinFd.reset();
                return;
            }
            const ssize_t bytes = ::write(m_child.stdinFd.get(), m_stdin.data(), m_stdin.size());
            if (bytes < 0 && errno == EINTR) {
                continue;
            }
            if (bytes < 0 && errno == EAGAIN) {
                return;
            }
            if (bytes < 0) {
                m_stdin = {}; // the child does not want it: not an error
                continue;
            }
            m_stdin.remove_prefix(static_cast<std::size_t>(bytes));
        }
    }

    Child& m_child;
    std::string_view m_stdin;
    std::size_t m_maxOutputBytes;
    CaptureResult& m_result;
};

} // namespace

Result<CaptureResult> runCaptured(SpawnOptions options,
                                  double timeoutSeconds,
                                  std::size_t maxOutputBytes,
                                  int cancelFd,
                                  std::string_view stdinText)
{
    options.pipeStdin = !stdinText.empty();
    options.pipeStdout = true;
    options.pipeStderr = !options.mergeStderr;
    auto child = spawn(options);
    if (!child) {
        return tl::unexpected(child.error());
    }
    return captureChild(*child, timeoutSeconds, maxOutputBytes, cancelFd, stdinText);
}

CaptureResult captureChild(Child& child,
                           double timeoutSeconds,
                           std::size_t maxOutputBytes,
                           int cancelFd,
                           std::string_view stdinText)
{
    const SigpipeGuard guard;
    const std::int64_t start = monotonicNs();
    CaptureResult result;
    constexpr double kMaxSeconds = 1e8; // keeps the sum below within 64 bits
    const auto deadline =
        start + static_cast<std::int64_t>(std::clamp(timeoutSeconds, 0.0, kMaxSeconds) * 1e9);
    Capture capture(child, stdinText, maxOutputBytes, result);
    int status = 0;
    if (capture.runUntil(deadline, cancelFd, status)) {
        result.exitCode = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    } else {
        child.kill();
        result.exitCode = 128 + SIGKILL;
        capture.drainAll();
    }
    result.seconds = static_cast<double>(monotonicNs() - start) * 1e-9;
    return result;
}

} // namespace lathe::process
