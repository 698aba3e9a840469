// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.h"
#include "python/model_host.h"

#include <lathe/protocol/arm_wire.h>

#include <string>
#include <vector>

namespace lathe::arm {

/// An answer to the judge.
struct Reply
{
    protocol::ArmWriter message;
    std::vector<UniqueFd> fds;
};

/// One phase's requests, from the wire's types to the model and back. Whatever a request holds, the
/// answer is a Reply.
class Phase
{
public:
    /// device must outlive the phase.
    Phase(Device& device, std::string name)
        : m_host(device, std::move(name))
        , m_device(device)
    {}
    Reply handle(const protocol::ArmReader& request, std::vector<UniqueFd> fds);

private:
    Outcome<Reply> dispatch(const protocol::ArmReader& request, std::vector<UniqueFd> fds);
    Outcome<Reply> loadReference(const protocol::ArmReader& request);
    Outcome<Reply> loadCandidate(const protocol::ArmReader& request, std::vector<UniqueFd> fds);
    Outcome<Reply> discover(const protocol::ArmReader& request);
    Outcome<Reply> makeInputs(const protocol::ArmReader& request);
    Outcome<Reply> bindInputs(const protocol::ArmReader& request, std::vector<UniqueFd> fds);
    Outcome<Reply> replaceWeights(const protocol::ArmReader& request, std::vector<UniqueFd> fds);
    Outcome<Reply> fill(const protocol::ArmReader& request, std::vector<UniqueFd> fds);
    Outcome<Reply> time(const protocol::ArmReader& request);
    Outcome<Reply> trace(const protocol::ArmReader& request);
    Outcome<Reply> flush(const protocol::ArmReader& request);

    ModelHost m_host;
    Device& m_device;
};

/// Answers requests on the socket until the judge says Exit or goes away; then the process ends
/// with _exit.
[[noreturn]] void
servePhase(int socket, const std::string& deviceName, int threads, const std::string& phase);

} // namespace lathe::arm
