// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output_drain.h"
#include "process_tree.h"

#include <lathe/process/spawn.h>
#include <lathe/protocol/arm_wire.h>
#include <lathe/worker/arm_host.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lathe::worker {

/// What an arm's host and its phase processes share: the sandbox's process, the zygote's control
/// socket and who lives. Used from the evaluation thread only; the drain has its own thread.
class ArmState
{
public:
    /// Reads control messages until wanted comes (with this serial, when not 0); the others are
    /// noted on the way.
    Result<protocol::ArmReader>
    await(protocol::ArmMessage wanted, std::uint32_t serial, std::int64_t deadlineNs, int cancelFd);
    /// What is waiting on the control socket, without waiting longer than until deadlineNs for
    /// pid's end.
    std::optional<int> waitStatus(std::int64_t pid, std::int64_t deadlineNs);
    [[nodiscard]] bool alive() const;
    [[nodiscard]] std::vector<TreeProcess> tree() const { return processesBelow(sandbox.pid()); }
    /// Kills the phase and everything it started, and returns when none is left; the whole sandbox
    /// if that fails.
    void killPhase(std::int64_t pid, unsigned uid);
    void pause(bool stopped) const;
    /// What killPhase would kill, as the host numbers it.
    [[nodiscard]] std::vector<TreeProcess> processesOf(std::int64_t pid, unsigned uid) const;
    void stopAll();

    process::Child sandbox;
    UniqueFd control;
    OutputDrain drain;
    std::shared_ptr<OutputTail> zygoteOutput;
    ArmSettings settings;
    /// Of the next phase; 0: it keeps the zygote's.
    std::function<unsigned()> nextUid;
    std::uint32_t serial = 0;
    bool controlLost = false;
    bool isolated = true;
    std::map<std::int64_t, unsigned> livePhases; ///< pid inside -> uid
    std::map<std::int64_t, int> endedPhases;     ///< pid inside -> wait status
    std::string readyText;

private:
    void note(const protocol::ArmReader& message);
};

/// A phase process on its socket.
class PhaseProcess final : public ArmProcess
{
public:
    PhaseProcess(std::shared_ptr<ArmState> state,
                 std::int64_t pid,
                 unsigned uid,
                 UniqueFd socket,
                 std::shared_ptr<OutputTail> output);
    ~PhaseProcess() override;
    Result<ArmReply> call(const protocol::ArmWriter& request,
                          const std::vector<int>& fds,
                          double timeoutSeconds,
                          int cancelFd) override;
    Result<void> send(const protocol::ArmWriter& request, const std::vector<int>& fds) override;
    Result<ArmReply> receive(double timeoutSeconds, int cancelFd) override;
    [[nodiscard]] bool replyReady() const override;
    ArmExit exitState() override;
    void kill() override;
    std::string takeOutput() override;
    void pause(bool stopped) override;
    [[nodiscard]] std::vector<LiveProcess> liveProcesses() override;
    [[nodiscard]] std::vector<std::string> openings() override;

private:
    std::shared_ptr<ArmState> m_state;
    std::int64_t m_pid;
    unsigned m_uid;
    UniqueFd m_socket;
    std::shared_ptr<OutputTail> m_output;
    std::uint32_t m_serial = 0;
    int m_owed = 0; ///< answers that nobody waits for any more
    std::int64_t m_sentNs = 0;
    std::optional<int> m_status;
    bool m_killed = false;
    bool m_lied = false; ///< killed because of what it sent
};

/// The deadline on CLOCK_MONOTONIC, this many seconds from now.
std::int64_t deadlineIn(double seconds);

} // namespace lathe::worker
