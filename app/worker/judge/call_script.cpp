// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "call_script.h"

#include <lathe/base/clock.h>

#include <algorithm>
#include <cstdint>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::FieldTag;

Stopwatch::Stopwatch(double& seconds)
    : m_seconds(seconds)
    , m_startedNs(monotonicNs())
{}

Stopwatch::~Stopwatch()
{
    m_seconds += static_cast<double>(monotonicNs() - m_startedNs) / 1e9;
}

Result<void> expectReply(const ArmReply& reply, ArmMessage expected)
{
    if (reply.message.type() == expected) {
        return {};
    }
    if (reply.message.type() != ArmMessage::Failed) {
        return fail(ErrorCode::Protocol, "an arm answered out of turn");
    }
    std::string sentence = reply.message.text(FieldTag::Text2);
    const std::string file = reply.message.text(FieldTag::Text4);
    const std::int64_t line = reply.message.integer(FieldTag::Int);
    // A SyntaxError says its place itself.
    if (line > 0 && !file.empty()
        && sentence.find("line " + std::to_string(line)) == std::string::npos) {
        sentence +=
            " (" + file.substr(file.rfind('/') + 1) + ", line " + std::to_string(line) + ")";
    }
    return fail(ErrorCode::Refused, sentence, reply.message.text(FieldTag::Text3));
}

void CallScript::add(std::string what, Begin begin, Finish finish)
{
    m_steps.push_back({std::move(what), std::move(begin), std::move(finish)});
}

std::string CallScript::what() const
{
    return m_steps.empty() ? std::string{} : m_steps.front().what;
}

void CallScript::clear()
{
    m_steps.clear();
    m_waitingFor = nullptr;
}

Result<bool> CallScript::step(bool wait, int cancelFd, Ledger& ledger)
{
    Step& current = m_steps.front();
    if (m_waitingFor == nullptr) {
        Result<Begun> begun;
        {
            const Stopwatch watch(ledger.armSeconds);
            begun = current.begin(wait, cancelFd);
        }
        if (!begun) {
            return tl::unexpected(begun.error());
        }
        if (begun->later) {
            return false;
        }
        if (!begun->call) {
            m_steps.pop_front();
            return true;
        }
        ArmCall& call = *begun->call;
        if (auto sent = call.process->send(call.request, call.fds); !sent) {
            return tl::unexpected(sent.error());
        }
        m_waitingFor = call.process;
        m_deadlineNs = monotonicNs() + static_cast<std::int64_t>(call.timeoutSeconds * 1e9);
    }
    const double left = static_cast<double>(m_deadlineNs - monotonicNs()) / 1e9;
    if (!wait && left > 0 && !m_waitingFor->replyReady()) {
        return false;
    }
    Result<ArmReply> reply = [&] {
        const Stopwatch watch(ledger.armSeconds);
        return m_waitingFor->receive(std::max(left, 0.0), cancelFd);
    }();
    if (!reply) {
        return tl::unexpected(reply.error());
    }
    m_waitingFor = nullptr;
    if (auto finished = current.finish(*reply); !finished) {
        return tl::unexpected(finished.error());
    }
    m_steps.pop_front();
    return true;
}

Result<bool> CallScript::advance(bool wait, int cancelFd, Ledger& ledger)
{
    while (!m_steps.empty()) {
        const auto moved = step(wait, cancelFd, ledger);
        if (!moved) {
            if (moved.error().code != ErrorCode::Cancelled) {
                Error error = moved.error();
                error.message = what() + ": " + error.message;
                clear();
                return tl::unexpected(error);
            }
            return tl::unexpected(moved.error());
        }
        if (!*moved) {
            return false;
        }
    }
    return true;
}

} // namespace lathe::worker
