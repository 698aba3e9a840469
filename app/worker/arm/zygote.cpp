// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "zygote.h"

#include "confine.h"
#include "phase.h"
#include "python/interpreter.h"

#include <lathe/protocol/arm_wire.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::arm {
namespace {

using protocol::ArmMessage;
using protocol::ArmReader;
using protocol::ArmWriter;
using protocol::FieldTag;

/// The trusted process that phases are forked from.
class Zygote
{
public:
    explicit Zygote(const ZygoteOptions& options)
        : m_options(options)
        , m_control(options.controlFd)
    {}
    int run();

private:
    bool start();
    bool serveOne();
    void forkPhase(const ArmReader& request, std::vector<UniqueFd> fds);
    [[noreturn]] void becomePhase(const ArmReader& request,
                                  std::vector<UniqueFd> fds,
                                  const std::vector<std::int64_t>& cores);
    bool reap();
    bool send(const ArmWriter& message, std::uint32_t serial);
    void refuse(std::uint32_t serial, const std::string& why);

    ZygoteOptions m_options;
    UniqueFd m_control;
    UniqueFd m_signals;
    sigset_t m_before{};
    std::set<pid_t> m_children;
};

bool Zygote::send(const ArmWriter& message, std::uint32_t serial)
{
    auto packet = message.packet(serial);
    return packet && protocol::sendPacket(m_control.get(), *packet).has_value();
}

void Zygote::refuse(std::uint32_t serial, const std::string& why)
{
    ArmWriter message(ArmMessage::Failed);
    message.text(FieldTag::Text, "wire").text(FieldTag::Text2, why);
    send(message, serial);
}

bool Zygote::start()
{
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigprocmask(SIG_BLOCK, &mask, &m_before);
    m_signals = UniqueFd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
    auto versions = startInterpreter(m_options.python);
    if (!versions) {
        std::fprintf(stderr, "lathe-arm: %s\n", versions.error().message.c_str());
        refuse(0, versions.error().message);
        return false;
    }
    // Only now: reading its own /proc entries is part of the interpreter's start.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    ArmWriter ready(ArmMessage::Ready);
    ready.text(FieldTag::Text, versions->torch).text(FieldTag::Text2, versions->python);
    return send(ready, 0);
}

int Zygote::run()
{
    if (!start())
        return 1;
    while (true) {
        pollfd waiting[2] = {{m_control.get(), POLLIN, 0}, {m_signals.get(), POLLIN, 0}};
        if (poll(waiting, 2, -1) < 0 && errno != EINTR)
            break;
        if (waiting[1].revents != 0 && !reap())
            break;
        if (waiting[0].revents != 0 && !serveOne())
            break;
    }
    for (const pid_t child : m_children)
        kill(child, SIGKILL);
    return 0;
}

bool Zygote::reap()
{
    signalfd_siginfo drained;
    while (read(m_signals.get(), &drained, sizeof drained)
           == static_cast<ssize_t>(sizeof drained)) {
    }
    // Orphans of phases end up here too when the zygote is the sandbox's first process; only phases
    // are reported.
    int status = 0;
    for (pid_t pid = waitpid(-1, &status, WNOHANG); pid > 0; pid = waitpid(-1, &status, WNOHANG)) {
        if (m_children.erase(pid) == 0)
            continue;
        ArmWriter exited(ArmMessage::ChildExited);
        exited.integer(FieldTag::Int, pid).integer(FieldTag::Int2, status);
        if (!send(exited, 0))
            return false;
    }
    return true;
}

bool Zygote::serveOne()
{
    auto packet = protocol::receivePacket(m_control.get(), -1);
    if (!packet)
        return false;
    auto request = ArmReader::parse(packet->bytes);
    if (!request) {
        refuse(0, request.error().message);
        return true;
    }
    if (request->type() == ArmMessage::Exit)
        return false;
    if (request->type() != ArmMessage::Fork || packet->fds.empty()) {
        refuse(request->serial(), "The zygote answers Fork with a socket and nothing else.");
        return true;
    }
    forkPhase(*request, std::move(packet->fds));
    return true;
}

void Zygote::forkPhase(const ArmReader& request, std::vector<UniqueFd> fds)
{
    const auto cores = request.integers(FieldTag::Ints);
    if (!cores) {
        refuse(request.serial(), cores.error().message);
        return;
    }
    const int pid = forkInterpreter();
    if (pid == 0)
        becomePhase(request, std::move(fds), *cores);
    if (pid < 0) {
        refuse(request.serial(),
               "The phase could not be forked; the sandbox's process limit may be reached.");
        return;
    }
    m_children.insert(pid);
    ArmWriter forked(ArmMessage::Forked);
    forked.integer(FieldTag::Int, pid);
    send(forked, request.serial());
}

void Zygote::becomePhase(const ArmReader& request,
                         std::vector<UniqueFd> fds,
                         const std::vector<std::int64_t>& cores)
{
    m_control.reset();
    m_signals.reset();
    sigprocmask(SIG_SETMASK, &m_before, nullptr);
    if (fds.size() > 1)
        if (auto done = redirectOutput(std::move(fds[1])); !done)
            _exit(70);
    auto confined = confineSelf({request.integer(FieldTag::Int), cores, m_options.maxProcesses});
    if (!confined) {
        std::fprintf(stderr, "lathe-arm: %s\n", confined.error().message.c_str());
        _exit(70);
    }
    servePhase(fds[0].get(),
               request.text(FieldTag::Text2),
               static_cast<int>(request.integer(FieldTag::Int2)),
               request.text(FieldTag::Text));
}

} // namespace

int runZygote(const ZygoteOptions& options)
{
    return Zygote(options).run();
}

} // namespace lathe::arm
