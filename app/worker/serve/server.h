// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "outbox.h"

#include <lathe/process/cancel.h>
#include <lathe/protocol/frame.h>
#include <lathe/protocol/messages.h>
#include <lathe/worker/judge.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace lathe::worker {

/// What the evaluation thread owns: the sandbox, the builder and the judge, made and destroyed on
/// that thread, because everything they start dies with it.
class Bench
{
public:
    virtual ~Bench() = default;
    [[nodiscard]] virtual protocol::WorkerHello hello() = 0;
    virtual Judge& judge() = 0;
};

/// The worker's end of the protocol: a poll loop on two descriptors and one evaluation thread.
class Server
{
public:
    using BenchFactory = std::function<Result<std::unique_ptr<Bench>>()>;
    /// in and out stay the caller's; signalFd (-1: none) becoming readable ends the server like
    /// Shutdown.
    Server(int in, int out, int signalFd, BenchFactory makeBench);
    ~Server();
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    /// Until Shutdown, end of input or a broken stream; returns the exit status. Everything started
    /// is gone then.
    int run();

private:
    struct Job
    {
        std::uint64_t id = 0;
        std::string method;
        protocol::Frame frame;
        process::CancelSource cancel;
        std::int64_t deadlineNs = -1;
        bool deadlinePassed = false;
    };

    // poll loop
    bool readInput();
    void dispatch(protocol::Frame frame);
    void enqueue(protocol::Frame frame);
    void cancelRequest(std::uint64_t id, const std::string& why);
    void fail(std::uint64_t id, ErrorCode code, std::string message);
    int pollTimeoutMs();

    // evaluation thread
    void evaluationThread();
    void work(Bench& bench);
    void execute(Judge& judge, Job& job);
    Result<protocol::EvaluateDone> answer(Judge& judge, Job& job);

    int m_in;
    int m_out;
    int m_signalFd;
    BenchFactory m_makeBench;
    Outbox m_outbox;
    protocol::FrameDecoder m_decoder;
    std::atomic<int> m_exitStatus = 0;
    bool m_stop = false; ///< poll loop

    std::mutex m_mutex;
    std::condition_variable m_changed;
    std::deque<std::shared_ptr<Job>> m_queue;
    std::shared_ptr<Job> m_running;
    bool m_stopping = false;
    bool m_finished = false; ///< the evaluation thread is done
    process::CancelSource m_threadDone;
};

} // namespace lathe::worker
