// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/worker/arm_host.h>

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace lathe::worker {

/// An arm process without a process: answers from a function, or fails the way a real one does.
class FakeArmProcess final : public ArmProcess
{
public:
    using Answer = std::function<Result<protocol::ArmWriter>(protocol::ArmMessage)>;
    explicit FakeArmProcess(Answer answer)
        : m_answer(std::move(answer))
    {}
    Result<ArmReply> call(const protocol::ArmWriter& request,
                          const std::vector<int>& fds,
                          double seconds,
                          int cancelFd) override
    {
        if (auto sent = send(request, fds); !sent) {
            return tl::unexpected(sent.error());
        }
        return receive(seconds, cancelFd);
    }
    Result<void> send(const protocol::ArmWriter& request, const std::vector<int>&) override
    {
        last = protocol::ArmReader::parse(request.packet(1).value()).value();
        asked.push_back(last->type());
        return {};
    }
    Result<ArmReply> receive(double, int) override
    {
        auto answer = m_answer(asked.back());
        if (!answer) {
            return tl::unexpected(answer.error());
        }
        return ArmReply{
            protocol::ArmReader::parse(answer->packet(1).value()).value(), {}, roundTripNs(*this)};
    }
    [[nodiscard]] bool replyReady() const override { return ready; }
    ArmExit exitState() override { return exit; }
    void kill() override { killed = true; }
    std::string takeOutput() override { return output; }
    void pause(bool) override {}
    [[nodiscard]] std::vector<LiveProcess> liveProcesses() override { return live(); }

    std::function<std::int64_t(FakeArmProcess&)> roundTripNs = [](FakeArmProcess&) { return 1000; };
    std::function<std::vector<LiveProcess>()> live = [] { return std::vector<LiveProcess>(); };
    std::vector<protocol::ArmMessage> asked;
    std::optional<protocol::ArmReader> last;
    bool ready = true;
    bool killed = false;
    ArmExit exit;
    std::string output;

private:
    Answer m_answer;
};

} // namespace lathe::worker
