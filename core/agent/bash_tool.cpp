// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/bash_tool.h>
#include <lathe/base/clock.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/process/spawn.h>

#include <nlohmann/json.hpp>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <fmt/format.h>
#include <sys/wait.h>

namespace lathe::agent {
namespace {

std::vector<std::string> sandboxCommand(const BashOptions& options)
{
    std::vector<std::string> command = {options.sandboxProgram,
                                        "--unshare-all",
                                        "--die-with-parent",
                                        "--new-session",
                                        "--hostname",
                                        "lathe",
                                        "--ro-bind",
                                        "/usr",
                                        "/usr",
                                        "--proc",
                                        "/proc",
                                        "--dev",
                                        "/dev",
                                        "--tmpfs",
                                        "/tmp",
                                        "--dir",
                                        "/etc",
                                        "--ro-bind-try",
                                        "/etc/ld.so.cache",
                                        "/etc/ld.so.cache",
                                        "--ro-bind-try",
                                        "/etc/alternatives",
                                        "/etc/alternatives",
                                        "--bind",
                                        options.workdir.string(),
                                        "/work",
                                        "--chdir",
                                        "/work",
                                        "--clearenv",
                                        "--setenv",
                                        "PATH",
                                        "/usr/local/cuda/bin:/usr/local/bin:/usr/bin:/bin",
                                        "--setenv",
                                        "HOME",
                                        "/work",
                                        "--setenv",
                                        "LANG",
                                        "C.UTF-8",
                                        "--setenv",
                                        "TERM",
                                        "dumb"};
    for (const char* name : {"/lib", "/lib64", "/lib32", "/bin", "/sbin"}) {
        std::error_code error;
        if (std::filesystem::is_symlink(name, error)) {
            command.insert(
                command.end(),
                {"--symlink", std::filesystem::read_symlink(name, error).string(), name});
        } else if (std::filesystem::is_directory(name, error)) {
            command.insert(command.end(), {"--ro-bind", name, name});
        }
    }
    if (!options.includeFolder.empty()) {
        command.insert(command.end(),
                       {"--ro-bind-try", options.includeFolder.string(), "/lathe/include"});
    }
    // Address space and file size are bounded so that a runaway command cannot take the machine
    // with it.
    command.insert(command.end(),
                   {"--",
                    "bash",
                    "-c",
                    "ulimit -v 16777216 -f 2097152; eval \"$1\"",
                    "bash",
                    options.command});
    return command;
}

class BashToolImpl final : public BashTool
{
private:
    template <class Call>
    auto guarded(Call call)
    {
        return [alive = std::weak_ptr(m_alive), call](const boost::system::error_code& error,
                                                      auto&&... rest) {
            if (!alive.expired() && error != boost::asio::error::operation_aborted) {
                call(error, rest...);
            }
        };
    }

public:
    BashToolImpl(boost::asio::io_context& io, const BashOptions& options, Done done)
        : m_io(io)
        , m_options(options)
        , m_done(std::move(done))
        , m_output(io)
        , m_exit(io)
        , m_timer(io)
    {
        process::SpawnOptions spawn;
        spawn.command = sandboxCommand(options);
        spawn.pipeStdout = true;
        spawn.mergeStderr = true;
        m_startNs = monotonicNs();
        auto child = process::spawn(spawn);
        if (!child) {
            const bool absent = child.error().code == ErrorCode::NotFound;
            later(toolFailure(absent
                                  ? "bash is not available: bubblewrap (" + options.sandboxProgram
                                        + ") is not installed, and commands run only inside it. Go "
                                          "on with the other tools."
                                  : "bash could not be started: " + child.error().message));
            return;
        }
        m_child = std::move(*child);
        m_output.assign(m_child.stdoutFd.get());
        m_exit.assign(m_child.pidFd.get());
        m_timer.expires_after(
            std::chrono::milliseconds(static_cast<std::int64_t>(options.timeoutSeconds * 1000)));
        m_timer.async_wait(guarded([this](const boost::system::error_code&) {
            m_timedOut = true;
            m_child.signalGroup(SIGKILL);
        }));
        read();
        m_exit.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                          guarded([this](const boost::system::error_code&) {
                              m_exited = true;
                              m_child.tryWait(m_status);
                              m_child.signalGroup(SIGKILL); // whatever it left behind
                              finishIfOver();
                          }));
    }

    ~BashToolImpl() override
    {
        if (m_output.is_open()) {
            m_output.release();
            m_exit.release();
        }
        m_child.kill();
    }
    BashToolImpl(const BashToolImpl&) = delete;
    BashToolImpl& operator=(const BashToolImpl&) = delete;

private:
    void later(ToolResult result)
    {
        boost::asio::post(
            m_io, [alive = std::weak_ptr(m_alive), this, result = std::move(result)]() mutable {
                if (!alive.expired()) {
                    const auto done = std::move(m_done);
                    done(std::move(result)); // may destroy this
                }
            });
    }

    void read()
    {
        m_output.async_read_some(
            boost::asio::buffer(m_buffer),
            guarded([this](const boost::system::error_code& error, std::size_t bytes = 0) {
                m_total += bytes;
                const std::size_t room =
                    m_options.maxOutputBytes - std::min(m_options.maxOutputBytes, m_text.size());
                m_text.append(m_buffer.data(), std::min(room, bytes));
                if (error) {
                    m_eof = true;
                    finishIfOver();
                } else {
                    read();
                }
            }));
    }

    void finishIfOver()
    {
        if (!m_exited || !m_eof || !m_done) {
            return;
        }
        m_timer.cancel();
        const int code = WIFEXITED(m_status) ? WEXITSTATUS(m_status) : 128 + WTERMSIG(m_status);
        ToolResult result;
        result.success = code == 0 && !m_timedOut;
        result.status = m_timedOut ? "timeout" : result.success ? "ok" : "failed";
        const double seconds = static_cast<double>(monotonicNs() - m_startNs) / 1e9;
        nlohmann::ordered_json head = {
            {"status", result.status}, {"exitCode", code}, {"outputBytes", m_total}};
        result.headJson = dumpJson(head);
        result.text = toValidUtf8(m_text);
        if (m_total > m_text.size()) {
            result.text +=
                fmt::format("\n[{} more bytes of output were dropped]", m_total - m_text.size());
        }
        if (m_timedOut) {
            result.text += fmt::format("\n[killed after {:.0f} s]", seconds);
        }
        later(std::move(result));
    }

    boost::asio::io_context& m_io;
    BashOptions m_options;
    Done m_done;
    process::Child m_child;
    boost::asio::posix::stream_descriptor m_output;
    boost::asio::posix::stream_descriptor m_exit;
    boost::asio::steady_timer m_timer;
    std::array<char, 16384> m_buffer{};
    std::string m_text;
    std::size_t m_total = 0;
    std::int64_t m_startNs = 0;
    int m_status = 0;
    bool m_exited = false;
    bool m_eof = false;
    bool m_timedOut = false;
    std::shared_ptr<char> m_alive = std::make_shared<char>();
};

} // namespace

std::unique_ptr<BashTool>
BashTool::start(boost::asio::io_context& io, const BashOptions& options, Done done)
{
    return std::make_unique<BashToolImpl>(io, options, std::move(done));
}

} // namespace lathe::agent
