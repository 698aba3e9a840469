// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_state.h"
#include "separation.h"

#include <lathe/base/clock.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmReader;
using protocol::FieldTag;

std::int64_t deadlineIn(double seconds)
{
    constexpr double kMaxSeconds = 1e8;
    return monotonicNs() + static_cast<std::int64_t>(std::clamp(seconds, 0.0, kMaxSeconds) * 1e9);
}

void ArmState::note(const ArmReader& message)
{
    if (message.type() == ArmMessage::ChildExited) {
        const std::int64_t pid = message.integer(FieldTag::Int);
        if (livePhases.erase(pid) != 0) {
            endedPhases[pid] = static_cast<int>(message.integer(FieldTag::Int2));
        }
    } else if (message.type() == ArmMessage::Ready) {
        readyText =
            "torch " + message.text(FieldTag::Text) + ", Python " + message.text(FieldTag::Text2);
    }
}

Result<ArmReader> ArmState::await(ArmMessage wanted,
                                  std::uint32_t wantedSerial,
                                  std::int64_t deadlineNs,
                                  int cancelFd)
{
    while (!controlLost) {
        auto packet = protocol::receivePacket(control.get(), deadlineNs, cancelFd);
        if (!packet) {
            controlLost = packet.error().code == ErrorCode::Protocol;
            return tl::unexpected(packet.error());
        }
        auto message = ArmReader::parse(packet->bytes);
        if (!message) {
            controlLost = true;
            return tl::unexpected(message.error());
        }
        note(*message);
        const bool answers = message->type() == wanted || message->type() == ArmMessage::Failed;
        if (answers && (wantedSerial == 0 || message->serial() == wantedSerial)) {
            return std::move(*message);
        }
    }
    return fail(ErrorCode::Protocol, "The arm is gone");
}

std::optional<int> ArmState::waitStatus(std::int64_t pid, std::int64_t deadlineNs)
{
    while (!endedPhases.contains(pid)) {
        // Nothing carries this serial: it reads until the deadline, or one message further.
        const auto message = await(ArmMessage::ChildExited, 0, deadlineNs, -1);
        if (!message) {
            break;
        }
    }
    const auto found = endedPhases.find(pid);
    return found == endedPhases.end() ? std::nullopt : std::optional(found->second);
}

bool ArmState::alive() const
{
    if (!sandbox.running() || controlLost) {
        return false;
    }
    pollfd entry = {sandbox.pidFd.get(), POLLIN, 0};
    return !sandbox.pidFd.valid() || ::poll(&entry, 1, 0) == 0;
}

std::vector<TreeProcess> ArmState::processesOf(std::int64_t pid, unsigned uid) const
{
    constexpr pid_t kZygoteInnerPid =
        2; // bubblewrap is the namespace's first process, its command the second
    const auto processes = tree();
    std::vector<pid_t> spared;
    for (const TreeProcess& process : processes) {
        const bool other = process.innerPid != pid && livePhases.contains(process.innerPid);
        const bool trusted = process.pid == sandbox.pid() || process.innerPid == 1
                             || process.innerPid == kZygoteInnerPid;
        if (trusted) {
            spared.push_back(process.pid);
        } else if (other) {
            for (const TreeProcess& below : subtree(processes, process.pid)) {
                spared.push_back(below.pid);
            }
        }
    }
    std::vector<TreeProcess> found;
    for (const TreeProcess& process : processes) {
        const bool ours = uid == 0 || process.uid == uid || process.innerPid == pid;
        if (ours && std::find(spared.begin(), spared.end(), process.pid) == spared.end()) {
            found.push_back(process);
        }
    }
    return found;
}

void ArmState::killPhase(std::int64_t pid, unsigned uid)
{
    constexpr int kRounds = 200;
    for (int round = 0; round < kRounds && alive(); ++round) {
        const auto found = processesOf(pid, uid);
        if (found.empty()) {
            return;
        }
        for (const TreeProcess& process : found) {
            ::kill(process.pid, SIGKILL);
        }
        ::usleep(static_cast<useconds_t>(round < 5 ? 200 : 2000));
    }
    if (alive()) {
        stopAll();
    }
}

void ArmState::pause(bool stopped) const
{
    for (const TreeProcess& process : tree()) {
        // bubblewrap's own two only wait, and must notice when the worker dies.
        if (process.pid == sandbox.pid() ? !isolated : process.innerPid != 1) {
            ::kill(process.pid, stopped ? SIGSTOP : SIGCONT);
        }
    }
}

void ArmState::stopAll()
{
    // The namespace's first process ends only after all others have, and bubblewrap after it: when
    // that is reaped, nothing is left that could disturb a measurement or count against a limit.
    for (const TreeProcess& process : isolated ? tree() : std::vector<TreeProcess>()) {
        if (process.innerPid == 1) {
            constexpr double kPatienceSeconds = 5;
            int status = 0;
            ::kill(process.pid, SIGKILL);
            sandbox.wait(status, deadlineIn(kPatienceSeconds));
            break;
        }
    }
    sandbox.kill();
    livePhases.clear();
}

PhaseProcess::PhaseProcess(std::shared_ptr<ArmState> state,
                           std::int64_t pid,
                           unsigned uid,
                           UniqueFd socket,
                           std::shared_ptr<OutputTail> output)
    : m_state(std::move(state))
    , m_pid(pid)
    , m_uid(uid)
    , m_socket(std::move(socket))
    , m_output(std::move(output))
{}

PhaseProcess::~PhaseProcess()
{
    kill();
    m_state->endedPhases.erase(m_pid);
}

Result<void> PhaseProcess::send(const protocol::ArmWriter& request, const std::vector<int>& fds)
{
    auto packet = request.packet(++m_serial);
    if (!packet) {
        return tl::unexpected(packet.error());
    }
    m_sentNs = monotonicNs();
    return protocol::sendPacket(m_socket.get(), *packet, fds);
}

Result<ArmReply> PhaseProcess::receive(double timeoutSeconds, int cancelFd)
{
    const std::int64_t deadline = deadlineIn(timeoutSeconds);
    auto packet = protocol::receivePacket(m_socket.get(), deadline, cancelFd);
    std::int64_t now = monotonicNs();
    auto message = packet ? ArmReader::parse(packet->bytes)
                          : Result<ArmReader>(tl::unexpected(packet.error()));
    // Answers to requests that were cancelled while they were under way.
    while (message && m_owed > 0 && message->serial() < m_serial) {
        --m_owed;
        packet = protocol::receivePacket(m_socket.get(), deadline, cancelFd);
        now = monotonicNs();
        message = packet ? ArmReader::parse(packet->bytes)
                         : Result<ArmReader>(tl::unexpected(packet.error()));
    }
    if (!packet) {
        if (packet.error().code == ErrorCode::Timeout) {
            kill();
        } else if (packet.error().code == ErrorCode::Cancelled) {
            ++m_owed;
        }
        return tl::unexpected(packet.error());
    }
    if (message && message->serial() != m_serial) {
        message =
            fail(ErrorCode::Protocol, "The arm answered another request than the one it was asked");
    }
    if (!message) {
        m_lied = true;
        kill();
        return tl::unexpected(message.error());
    }
    return ArmReply{std::move(*message), std::move(packet->fds), now - m_sentNs};
}

Result<ArmReply> PhaseProcess::call(const protocol::ArmWriter& request,
                                    const std::vector<int>& fds,
                                    double timeoutSeconds,
                                    int cancelFd)
{
    if (auto sent = send(request, fds); !sent) {
        return tl::unexpected(sent.error());
    }
    return receive(timeoutSeconds, cancelFd);
}

bool PhaseProcess::replyReady() const
{
    pollfd entry = {m_socket.get(), POLLIN, 0};
    return ::poll(&entry, 1, 0) > 0;
}

ArmExit PhaseProcess::exitState()
{
    if (m_lied) {
        return {}; // it did not end by itself: that it was killed for its answer is no news
    }
    if (!m_status) {
        constexpr double kPatienceSeconds = 1;
        m_status = m_state->waitStatus(m_pid, deadlineIn(kPatienceSeconds));
    }
    ArmExit exit;
    if (m_status) {
        exit.exited = true;
        exit.signal = WIFSIGNALED(*m_status) ? WTERMSIG(*m_status) : 0;
        exit.code = WIFEXITED(*m_status) ? WEXITSTATUS(*m_status) : 0;
    } else if (!m_state->alive()) {
        exit.exited = true; // with its whole sandbox
        exit.signal = SIGKILL;
    }
    return exit;
}

void PhaseProcess::kill()
{
    if (!m_killed) {
        m_killed = true;
        m_state->killPhase(m_pid, m_uid);
    }
}

std::string PhaseProcess::takeOutput()
{
    return m_output->take();
}

void PhaseProcess::pause(bool stopped)
{
    m_state->pause(stopped);
}

std::vector<LiveProcess> PhaseProcess::liveProcesses()
{
    std::vector<LiveProcess> found;
    for (const TreeProcess& process : m_state->processesOf(m_pid, m_uid)) {
        UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
        if (fd.valid()) {
            found.push_back({process.pid, process.startTicks, std::move(fd)});
        }
    }
    return found;
}

std::vector<std::string> PhaseProcess::openings()
{
    std::vector<std::string> found;
    if (!m_state->isolated) {
        return found;
    }
    bool seen = false;
    for (const TreeProcess& process : m_state->processesOf(m_pid, m_uid)) {
        const bool phase = process.innerPid == m_pid;
        seen = seen || phase;
        if (phase && m_uid != 0 && process.uid != m_uid) {
            found.push_back("it runs as user " + std::to_string(process.uid) + " instead of "
                            + std::to_string(m_uid));
        }
        const auto more = lathe::worker::openings(process.pid);
        found.insert(found.end(), more.begin(), more.end());
    }
    // One that has ended has nothing open; its end may still be on its way to the judge.
    if (!seen && !m_killed && !m_state->waitStatus(m_pid, deadlineIn(0.2)) && m_state->alive()) {
        found.emplace_back("its process cannot be found from outside");
    }
    return found;
}

std::string ArmExit::describe() const
{
    if (!exited) {
        return "still running";
    }
    if (signal != 0) {
        const char* name = ::sigabbrev_np(signal);
        const std::string text =
            name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
        return "killed by " + text;
    }
    return "exited with code " + std::to_string(code) + " without an answer";
}

} // namespace lathe::worker
