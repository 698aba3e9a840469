// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>
#include <lathe/protocol/frame.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>

namespace lathe::worker {

/// Frames on their way out: the evaluation thread puts, the poll loop writes when the peer takes. A
/// peer that does not read makes post() wait once 64 MiB are queued, so that memory stays bounded;
/// the poll loop never waits.
class Outbox
{
public:
    Outbox();
    /// Queues the frame; one that the protocol's limits refuse becomes a Failure frame of the same
    /// request.
    void post(const protocol::Frame& frame);
    /// From the poll loop: the same, without ever waiting.
    void postNow(const protocol::Frame& frame);
    [[nodiscard]] int wakeFd() const { return m_wake.get(); }
    [[nodiscard]] bool pending();
    /// Writes what the descriptor takes without waiting; false when the peer is gone.
    bool writeTo(int fd);
    /// Nobody waits in post() any more, and nothing more is queued.
    void close();

private:
    void put(const protocol::Frame& frame, bool mayWait);
    std::mutex m_mutex;
    std::condition_variable m_room;
    std::deque<std::string> m_frames;
    std::size_t m_bytes = 0;
    std::size_t m_offset = 0;
    bool m_closed = false;
    UniqueFd m_wake;
};

} // namespace lathe::worker
