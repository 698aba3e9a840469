// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include <lathe/base/clock.h>
#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <poll.h>
#include <thread>
#include <unistd.h>

namespace lathe::worker {
namespace {

using protocol::Frame;
using protocol::FrameType;

constexpr std::size_t kMaxQueued = 8;
constexpr std::int64_t kSecond = 1'000'000'000;
/// The judge keeps its own deadlines; this one is for a judge that does not.
constexpr std::int64_t kGraceSeconds = 10;
constexpr std::int64_t kStopSeconds = 5;
constexpr std::int64_t kIdleMs = 200;

/// Sets a descriptor non-blocking and back: it may be shared with the program that started us.
class NonBlocking
{
public:
    explicit NonBlocking(int fd)
        : m_fd(fd)
        , m_flags(::fcntl(fd, F_GETFL))
    {
        ::fcntl(fd, F_SETFL, m_flags | O_NONBLOCK);
    }
    ~NonBlocking() { ::fcntl(m_fd, F_SETFL, m_flags); }
    NonBlocking(const NonBlocking&) = delete;
    NonBlocking& operator=(const NonBlocking&) = delete;

private:
    int m_fd;
    int m_flags;
};

} // namespace

Server::Server(int in, int out, int signalFd, BenchFactory makeBench)
    : m_in(in)
    , m_out(out)
    , m_signalFd(signalFd)
    , m_makeBench(std::move(makeBench))
{}

Server::~Server() = default;

int Server::run()
{
    const NonBlocking in(m_in);
    const NonBlocking out(m_out);
    std::thread thread([this] { evaluationThread(); });
    while (!m_stop) {
        const bool pending = m_outbox.pending();
        std::array<pollfd, 5> entries = {{{m_in, POLLIN, 0},
                                          {m_outbox.wakeFd(), POLLIN, 0},
                                          {pending ? m_out : -1, POLLOUT, 0},
                                          {m_signalFd, POLLIN, 0},
                                          {m_threadDone.fd(), POLLIN, 0}}};
        if (::poll(entries.data(), entries.size(), pollTimeoutMs()) < 0 && errno != EINTR) {
            break;
        }
        if (entries[0].revents != 0 && !readInput()) {
            m_stop = true;
        }
        if (entries[2].revents != 0 && !m_outbox.writeTo(m_out)) {
            m_stop = true;
        }
        m_stop = m_stop || entries[3].revents != 0 || entries[4].revents != 0;
    }
    {
        const std::lock_guard lock(m_mutex);
        m_stopping = true;
        m_queue.clear();
        if (m_running) {
            m_running->cancel.cancel();
        }
        m_changed.notify_all();
    }
    m_outbox.writeTo(m_out); // what the peer still takes, such as why we stop
    m_outbox.close();
    std::unique_lock lock(m_mutex);
    if (!m_changed.wait_for(
            lock, std::chrono::seconds(kStopSeconds), [this] { return m_finished; })) {
        // A judge that does not stop: its processes die with this one.
        ::_exit(m_exitStatus == 0 ? 1 : m_exitStatus.load());
    }
    lock.unlock();
    thread.join();
    return m_exitStatus;
}

int Server::pollTimeoutMs()
{
    const std::lock_guard lock(m_mutex);
    if (!m_running || m_running->deadlineNs < 0 || m_running->deadlinePassed) {
        return -1;
    }
    const std::int64_t left = m_running->deadlineNs - monotonicNs();
    if (left <= 0) {
        m_running->deadlinePassed = true;
        m_running->cancel.cancel();
        return -1;
    }
    return static_cast<int>(std::min<std::int64_t>(left / 1'000'000 + 1, 3'600'000));
}

bool Server::readInput()
{
    std::array<char, 65536> buffer;
    const ssize_t bytes = ::read(m_in, buffer.data(), buffer.size());
    if (bytes < 0) {
        return errno == EINTR || errno == EAGAIN;
    }
    if (bytes == 0) {
        return false;
    }
    m_decoder.feed({buffer.data(), static_cast<std::size_t>(bytes)});
    while (true) {
        Frame frame;
        const auto complete = m_decoder.next(frame);
        if (!complete) {
            fail(0, ErrorCode::Protocol, complete.error().message);
            m_exitStatus = 3;
            return false;
        }
        if (!*complete) {
            return true;
        }
        if (frame.type == FrameType::Shutdown) {
            return false;
        }
        dispatch(std::move(frame));
    }
}

void Server::dispatch(Frame frame)
{
    switch (frame.type) {
    case FrameType::Hello: {
        const auto hello = protocol::decodeHello(frame);
        if (hello && hello->version != protocol::kProtocolVersion) {
            fail(0,
                 ErrorCode::Protocol,
                 "this worker speaks protocol version " + std::to_string(protocol::kProtocolVersion)
                     + ", not " + std::to_string(hello->version));
        }
        return;
    }
    case FrameType::Request:
        enqueue(std::move(frame));
        return;
    case FrameType::Cancel:
        cancelRequest(frame.request, "cancelled");
        return;
    default:
        fail(frame.request,
             ErrorCode::Protocol,
             "frame type " + std::to_string(static_cast<int>(frame.type)) + " is not for a worker");
    }
}

void Server::enqueue(Frame frame)
{
    const std::uint64_t id = frame.request;
    const auto method = protocol::requestMethod(frame);
    if (!method) {
        return fail(id, method.error().code, method.error().message);
    }
    constexpr std::array<std::string_view, 4> kMethods = {
        "evaluate", "baseline", "prepare", "exec"};
    if (std::find(kMethods.begin(), kMethods.end(), *method) == kMethods.end()) {
        return fail(
            id, ErrorCode::Unsupported, "this worker does not know the method \"" + *method + "\"");
    }
    const auto json = parseJson(frame.json);
    const auto superseded = json ? intOr(*json, "supersedes", 0) : 0;
    auto job = std::make_shared<Job>();
    job->id = id;
    job->method = *method;
    job->frame = std::move(frame);
    if (superseded > 0) {
        cancelRequest(static_cast<std::uint64_t>(superseded),
                      "superseded by request " + std::to_string(id));
    }
    const std::lock_guard lock(m_mutex);
    const auto same = [&](const auto& other) { return other && other->id == id; };
    if (id == 0 || same(m_running) || std::any_of(m_queue.begin(), m_queue.end(), same)) {
        return fail(id, ErrorCode::Protocol, "request ids must be new and not 0");
    }
    if (m_queue.size() >= kMaxQueued) {
        return fail(id,
                    ErrorCode::Refused,
                    "the worker is busy: " + std::to_string(kMaxQueued) + " requests wait already");
    }
    m_queue.push_back(std::move(job));
    m_changed.notify_all();
}

void Server::cancelRequest(std::uint64_t id, const std::string& why)
{
    const std::lock_guard lock(m_mutex);
    if (m_running && m_running->id == id) {
        m_running->cancel.cancel(); // its end is told when it has ended
        return;
    }
    const auto found = std::find_if(
        m_queue.begin(), m_queue.end(), [&](const auto& job) { return job->id == id; });
    if (found != m_queue.end()) {
        m_queue.erase(found);
        fail(id, ErrorCode::Cancelled, why);
    }
}

void Server::fail(std::uint64_t id, ErrorCode code, std::string message)
{
    m_outbox.postNow(protocol::encodeFailure(id, Error{code, std::move(message), {}}));
}

void Server::evaluationThread()
{
    auto bench = m_makeBench();
    if (!bench) {
        m_exitStatus = 1;
        m_outbox.post(protocol::encodeFailure(0, bench.error()));
    } else {
        m_outbox.post(protocol::encodeHello((*bench)->hello()));
        work(**bench);
        bench->reset();
    }
    {
        const std::lock_guard lock(m_mutex);
        m_finished = true;
        m_changed.notify_all();
    }
    m_threadDone.cancel();
}

void Server::work(Bench& bench)
{
    while (true) {
        std::shared_ptr<Job> job;
        {
            std::unique_lock lock(m_mutex);
            m_changed.wait_for(lock, std::chrono::milliseconds(kIdleMs), [this] {
                return m_stopping || !m_queue.empty();
            });
            if (m_stopping) {
                return;
            }
            if (!m_queue.empty()) {
                job = m_queue.front();
                m_queue.pop_front();
                m_running = job;
            }
        }
        if (job) {
            execute(bench.judge(), *job);
            const std::lock_guard lock(m_mutex);
            m_running.reset();
        } else {
            bench.judge().idle();
        }
    }
}

void Server::execute(Judge& judge, Job& job)
{
    auto done = answer(judge, job);
    if (done) {
        m_outbox.post(protocol::encodeDone(job.id, *done));
        return;
    }
    Error error = done.error();
    const std::lock_guard lock(m_mutex);
    if (job.deadlinePassed) {
        error =
            Error{ErrorCode::Timeout, "the request did not end within its deadline", error.message};
    }
    m_outbox.postNow(protocol::encodeFailure(job.id, error));
}

Result<protocol::EvaluateDone> Server::answer(Judge& judge, Job& job)
{
    const EventSink sink = [&](const protocol::Event& event) {
        m_outbox.post(protocol::encodeEvent(job.id, event));
    };
    const auto setDeadline = [&](double seconds) {
        {
            const std::lock_guard lock(m_mutex);
            constexpr double kMaxSeconds = 1e8;
            job.deadlineNs =
                monotonicNs()
                + static_cast<std::int64_t>(std::clamp(seconds, 0.0, kMaxSeconds) * 1e9)
                + kGraceSeconds * kSecond;
        }
        const std::uint64_t one = 1; // the poll loop must look at it
        [[maybe_unused]] const auto written = ::write(m_outbox.wakeFd(), &one, sizeof one);
    };
    if (job.method == "exec") {
        auto request = protocol::decodeExecRequest(job.frame);
        if (!request) {
            return tl::unexpected(request.error());
        }
        setDeadline(request->what.timeoutSeconds);
        return judge.exec(*request, sink, job.cancel);
    }
    auto request = protocol::decodeEvaluateRequest(job.frame);
    if (!request) {
        return tl::unexpected(request.error());
    }
    if (job.method == "prepare") {
        const auto prepared = judge.prepare(*request);
        return prepared ? Result<protocol::EvaluateDone>(protocol::EvaluateDone{})
                        : tl::unexpected(prepared.error());
    }
    setDeadline(request->timeoutSeconds);
    return judge.evaluate(*request, sink, job.cancel);
}

} // namespace lathe::worker
