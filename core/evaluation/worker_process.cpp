// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "worker_process.h"

#include <lathe/base/clock.h>

#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::evaluation {
namespace {

constexpr std::size_t kStderrTailBytes = 64u << 10;

/// A write to a dead worker must be an error, not the end of the program.
void blockSigpipeInThisThread()
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

std::vector<std::string> environmentWith(const std::vector<std::string>& extra)
{
    std::vector<std::string> all;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        const std::string_view text(*entry);
        const auto name = text.substr(0, text.find('=') + 1);
        bool replaced = false;
        for (const auto& other : extra) {
            replaced = replaced || (!name.empty() && other.starts_with(name));
        }
        if (!replaced) {
            all.emplace_back(text);
        }
    }
    all.insert(all.end(), extra.begin(), extra.end());
    return all;
}

std::string exitText(int status)
{
    if (WIFSIGNALED(status)) {
        const int signal = WTERMSIG(status);
        const char* name = ::sigabbrev_np(signal);
        return "the worker was killed by signal " + std::to_string(signal)
               + (name != nullptr ? " (SIG" + std::string(name) + ")" : std::string());
    }
    return "the worker ended by itself with exit code " + std::to_string(WEXITSTATUS(status));
}

} // namespace

Result<std::shared_ptr<WorkerProcess>>
WorkerProcess::launch(boost::asio::io_context& io,
                      const std::vector<std::string>& command,
                      const std::vector<std::string>& environment,
                      Handlers handlers)
{
    blockSigpipeInThisThread();
    process::SpawnOptions options;
    options.command = command;
    options.pipeStdin = true;
    options.pipeStdout = true;
    options.pipeStderr = true;
    options.replaceEnvironment = !environment.empty();
    if (options.replaceEnvironment) {
        options.environment = environmentWith(environment);
    }
    auto child = process::spawn(options);
    if (!child) {
        return tl::unexpected(child.error());
    }
    auto self = std::make_shared<WorkerProcess>(io, std::move(*child), std::move(handlers));
    self->readStdout();
    self->readStderr();
    self->watchExit();
    return self;
}

WorkerProcess::WorkerProcess(boost::asio::io_context& io, process::Child child, Handlers handlers)
    : m_handlers(std::move(handlers))
    , m_child(std::move(child))
    , m_in(io, m_child.stdinFd.release())
    , m_out(io, m_child.stdoutFd.release())
    , m_err(io, m_child.stderrFd.release())
    , m_exit(io)
    , m_timer(io)
{
    if (m_child.pidFd.valid()) {
        m_exit.assign(::dup(m_child.pidFd.get()));
    }
}

void WorkerProcess::readStdout()
{
    m_out.async_read_some(
        boost::asio::buffer(m_outBuffer),
        [self = shared_from_this()](boost::system::error_code error, std::size_t bytes) {
            if (self->m_closed) {
                return;
            }
            if (error) {
                self->gone({});
                return;
            }
            self->m_decoder.feed({self->m_outBuffer.data(), bytes});
            self->takeFrames();
            if (!self->m_closed && !self->m_goneSeen) {
                self->readStdout();
            }
        });
}

void WorkerProcess::takeFrames()
{
    while (!m_closed && !m_goneSeen) {
        protocol::Frame frame;
        const auto complete = m_decoder.next(frame);
        if (!complete) {
            gone("the worker sent what is not its protocol: " + complete.error().message);
            return;
        }
        if (!*complete) {
            return;
        }
        const auto onFrame = m_handlers.onFrame; // a copy: the callee may kill() and so clear it
        onFrame(frame);
    }
}

void WorkerProcess::readStderr()
{
    m_err.async_read_some(
        boost::asio::buffer(m_errBuffer),
        [self = shared_from_this()](boost::system::error_code error, std::size_t bytes) {
            if (error || self->m_closed) {
                return;
            }
            self->m_stderr.append(self->m_errBuffer.data(), bytes);
            if (self->m_stderr.size() > 2 * kStderrTailBytes) {
                self->m_stderr.erase(0, self->m_stderr.size() - kStderrTailBytes);
            }
            self->readStderr();
        });
}

void WorkerProcess::watchExit()
{
    if (!m_exit.is_open()) {
        return; // no pidfd in this kernel: the end of stdout tells
    }
    m_exit.async_wait(Stream::wait_read,
                      [self = shared_from_this()](boost::system::error_code error) {
                          if (!error && !self->m_closed) {
                              self->gone({});
                          }
                      });
}

/// A moment passes before the end is reported, so that the last frames, stderr and the exit status
/// arrive.
void WorkerProcess::gone(const std::string& why)
{
    if (m_goneSeen || m_closed) {
        return;
    }
    if (!why.empty()) {
        m_goneSeen = true; // garbage: nothing after it is believed
    }
    m_timer.expires_after(std::chrono::milliseconds(why.empty() ? 100 : 0));
    m_timer.async_wait([self = shared_from_this(), why](boost::system::error_code error) {
        if (!error && !self->m_closed) {
            self->reportGone(why);
        }
    });
}

void WorkerProcess::reportGone(std::string why)
{
    int status = 0;
    constexpr std::int64_t kWaitNs = 50'000'000;
    if (why.empty()) {
        why = m_child.wait(status, monotonicNs() + kWaitNs) ? exitText(status)
                                                            : "the worker closed its output";
    }
    const Error error{ErrorCode::Protocol, why, m_stderr};
    const auto onGone = m_handlers.onGone;
    kill();
    onGone(error);
}

void WorkerProcess::send(const protocol::Frame& frame)
{
    auto bytes = protocol::encodeFrame(frame);
    if (!bytes || m_closed) {
        return; // over-long frames are refused before they come here
    }
    m_writes.push_back(std::move(*bytes));
    if (m_writes.size() == 1) {
        writeNext();
    }
}

void WorkerProcess::writeNext()
{
    boost::asio::async_write(
        m_in,
        boost::asio::buffer(m_writes.front()),
        [self = shared_from_this()](boost::system::error_code error, std::size_t) {
            if (self->m_closed) {
                return;
            }
            if (error) {
                self->gone({});
                return;
            }
            self->m_writes.pop_front();
            if (!self->m_writes.empty()) {
                self->writeNext();
            }
        });
}

void WorkerProcess::kill()
{
    if (m_closed) {
        return;
    }
    m_closed = true;
    m_child.kill();
    m_timer.cancel();
    boost::system::error_code ignored;
    for (Stream* stream : {&m_in, &m_out, &m_err, &m_exit}) {
        if (stream->is_open()) {
            stream->close(ignored); // NOLINT(bugprone-unused-return-value)
        }
    }
    m_handlers = {};
}

void WorkerProcess::shutdown(int graceMs)
{
    if (m_closed) {
        return;
    }
    protocol::Frame frame;
    frame.type = protocol::FrameType::Shutdown;
    frame.json = "{}";
    if (const auto bytes = protocol::encodeFrame(frame); bytes && m_writes.empty()) {
        [[maybe_unused]] const auto written =
            ::write(m_in.native_handle(), bytes->data(), bytes->size());
    }
    boost::system::error_code ignored;
    m_in.close(ignored); // NOLINT(bugprone-unused-return-value)
    int status = 0;
    m_child.wait(status, monotonicNs() + std::int64_t{graceMs} * 1'000'000);
    kill();
}

} // namespace lathe::evaluation
