// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/process/spawn.h>
#include <lathe/protocol/frame.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathe::evaluation {

/// One life of a worker process: frames in and out over its pipes, the tail of its stderr, its end.
/// Core thread; kept alive by its own pending operations until kill().
class WorkerProcess : public std::enable_shared_from_this<WorkerProcess>
{
public:
    struct Handlers
    {
        std::function<void(protocol::Frame&)> onFrame;
        /// Once, when it exits, closes its stdout or sends garbage; not after kill() or shutdown().
        std::function<void(const Error&)> onGone;
    };

    static Result<std::shared_ptr<WorkerProcess>>
    launch(boost::asio::io_context& io,
           const std::vector<std::string>& command,
           const std::vector<std::string>& environment,
           Handlers handlers);
    explicit WorkerProcess(boost::asio::io_context& io, process::Child child, Handlers handlers);
    ~WorkerProcess() = default;

    void send(const protocol::Frame& frame);
    /// SIGKILL of the whole group; no handler is called any more.
    void kill();
    /// Shutdown frame, a short wait for the exit (blocking, at most graceMs), then kill().
    void shutdown(int graceMs);
    [[nodiscard]] int pid() const { return static_cast<int>(m_child.pid()); }
    [[nodiscard]] const std::string& stderrTail() const { return m_stderr; }

private:
    using Stream = boost::asio::posix::stream_descriptor;
    void readStdout();
    void readStderr();
    void takeFrames();
    void watchExit();
    void writeNext();
    void gone(const std::string& why);
    void reportGone(std::string why);

    Handlers m_handlers;
    process::Child m_child;
    Stream m_in;
    Stream m_out;
    Stream m_err;
    Stream m_exit;
    boost::asio::steady_timer m_timer;
    protocol::FrameDecoder m_decoder;
    std::array<char, 1u << 16> m_outBuffer{};
    std::array<char, 1u << 12> m_errBuffer{};
    std::string m_stderr;
    std::deque<std::string> m_writes;
    bool m_closed = false;
    bool m_goneSeen = false;
};

} // namespace lathe::evaluation
