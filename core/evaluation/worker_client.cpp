// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "worker_process.h"

#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/evaluation/worker_client.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <list>

namespace lathe::evaluation {
namespace {

constexpr double kCancelReportSeconds = 0.9; ///< a cancelled job's caller hears of it by then
constexpr int kMaxBackoffMs = 10000;
constexpr int kShutdownGraceMs = 400;

std::chrono::milliseconds milliseconds(double seconds)
{
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

} // namespace

class WorkerClient::Impl : public std::enable_shared_from_this<WorkerClient::Impl>
{
public:
    Impl(boost::asio::io_context& io, WorkerClientOptions options)
        : m_io(io)
        , m_options(std::move(options))
        , m_startTimer(io)
        , m_jobTimer(io)
    {}

    void startWorker();
    void stopWorker(const std::string& why, bool polite);
    JobId enqueue(protocol::Frame frame, double timeoutSeconds, JobHandlers handlers);
    void cancel(JobId id);
    void prepare(protocol::EvaluateRequest request);
    JobId nextId() { return ++m_lastId; }

    WorkerPhase m_phase = WorkerPhase::Stopped;
    std::optional<protocol::WorkerHello> m_hello;
    std::shared_ptr<WorkerProcess> m_process;

private:
    struct Job
    {
        JobId id = 0;
        protocol::Frame frame;
        double timeoutSeconds = 0;
        JobHandlers handlers; ///< onDone is emptied once called
        bool cancelled = false;
        bool timedOut = false;
    };

    void setPhase(WorkerPhase phase, const std::string& text);
    void launchSoon();
    void launch();
    void onFrame(protocol::Frame& frame);
    void onHello(protocol::Frame& frame);
    void onJobFrame(protocol::Frame& frame);
    void onGone(const Error& error);
    void broken(const std::string& why);
    void sendNext();
    void armDeadline();
    void armCancel();
    void finishRunning(Result<protocol::EvaluateDone> result);
    static void report(Job& job, Result<protocol::EvaluateDone> result);

    boost::asio::io_context& m_io;
    WorkerClientOptions m_options;
    boost::asio::steady_timer m_startTimer; ///< back-off before a start, then the hello's deadline
    boost::asio::steady_timer m_jobTimer;   ///< deadline of the running request, then of its cancel
    std::optional<Job> m_running;
    std::list<Job> m_waiting;
    std::optional<protocol::EvaluateRequest> m_prepare;
    std::uint64_t m_lastId = 0;
    int m_failures = 0; ///< in a row, without a finished request between
    bool m_launchPending = false;
};

void WorkerClient::Impl::setPhase(WorkerPhase phase, const std::string& text)
{
    m_phase = phase;
    if (m_options.onPhase) {
        m_options.onPhase(phase, text);
    }
}

void WorkerClient::Impl::startWorker()
{
    if (!m_process && !m_launchPending) {
        launchSoon();
    }
}

/// At once after the first crash, then ever later while crashes follow each other.
void WorkerClient::Impl::launchSoon()
{
    m_launchPending = true;
    setPhase(WorkerPhase::Starting, "starting the worker");
    const int waitMs =
        m_failures < 2 ? 0 : std::min(kMaxBackoffMs, 100 << std::min(m_failures - 2, 7));
    m_startTimer.expires_after(std::chrono::milliseconds(waitMs));
    m_startTimer.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (self && !error && self->m_launchPending) {
            self->m_launchPending = false;
            self->launch();
        }
    });
}

void WorkerClient::Impl::launch()
{
    WorkerProcess::Handlers handlers;
    handlers.onFrame = [weak = weak_from_this()](protocol::Frame& frame) {
        if (const auto self = weak.lock()) {
            self->onFrame(frame);
        }
    };
    handlers.onGone = [weak = weak_from_this()](const Error& error) {
        if (const auto self = weak.lock()) {
            self->onGone(error);
        }
    };
    auto launched =
        WorkerProcess::launch(m_io, m_options.command, m_options.environment, std::move(handlers));
    if (!launched) {
        onGone(Error{ErrorCode::Unsupported,
                     "the worker cannot be started: " + launched.error().message,
                     launched.error().detail});
        return;
    }
    m_process = std::move(*launched);
    protocol::WorkerHello hello;
    hello.software = "lathe";
    m_process->send(protocol::encodeHello(hello));
    m_startTimer.expires_after(milliseconds(m_options.helloTimeoutSeconds));
    m_startTimer.async_wait([weak = weak_from_this()](boost::system::error_code error) {
        const auto self = weak.lock();
        if (self && !error && self->m_process && !self->m_hello) {
            self->broken("the worker did not say hello in time");
        }
    });
}

void WorkerClient::Impl::onFrame(protocol::Frame& frame)
{
    if (frame.type == protocol::FrameType::Failure && frame.request == 0) {
        // Not about a request: the worker says why it cannot go on.
        broken(protocol::decodeFailure(frame).message);
    } else if (frame.type == protocol::FrameType::Hello && !m_hello) {
        onHello(frame);
    } else if (!m_hello) {
        broken("the worker's first frame was not hello");
    } else if (frame.type == protocol::FrameType::Event || frame.type == protocol::FrameType::Done
               || frame.type == protocol::FrameType::Failure) {
        onJobFrame(frame);
    } else {
        broken("the worker sent a frame of type " + std::to_string(static_cast<int>(frame.type))
               + ", which only the other side may send");
    }
}

void WorkerClient::Impl::onHello(protocol::Frame& frame)
{
    auto hello = protocol::decodeHello(frame);
    if (!hello) {
        broken("the worker's hello is unusable: " + hello.error().message);
        return;
    }
    if (hello->version != protocol::kProtocolVersion) {
        broken("the worker (" + hello->software + ") speaks protocol version "
               + std::to_string(hello->version) + ", this program version "
               + std::to_string(protocol::kProtocolVersion) + "; install the same version of both");
        return;
    }
    m_startTimer.cancel();
    m_hello = std::move(*hello);
    setPhase(WorkerPhase::Ready, m_hello->target.device + ", sandbox: " + m_hello->target.sandbox);
    if (m_prepare) {
        prepare(*std::exchange(m_prepare, std::nullopt));
    }
    sendNext();
}

void WorkerClient::Impl::onJobFrame(protocol::Frame& frame)
{
    if (!m_running || frame.request != m_running->id) {
        if (frame.request == 0 || frame.request > m_lastId) {
            broken("the worker answered request " + std::to_string(frame.request)
                   + ", which was never made");
        }
        return; // "prepare", or what was already given up
    }
    if (frame.type == protocol::FrameType::Event) {
        auto event = protocol::decodeEvent(frame);
        if (!event) {
            broken("the worker sent an unusable event: " + event.error().message);
        } else if (m_running->handlers.onDone && m_running->handlers.onEvent
                   && !m_running->cancelled) {
            m_running->handlers.onEvent(*event);
        }
        return;
    }
    if (frame.type == protocol::FrameType::Failure) {
        m_failures = 0;
        finishRunning(tl::unexpected(protocol::decodeFailure(frame)));
        return;
    }
    auto done = protocol::decodeDone(frame);
    if (!done) {
        broken("the worker's summary is unusable: " + done.error().message);
        return;
    }
    m_failures = 0;
    finishRunning(std::move(*done));
}

/// A protocol violation: the worker cannot be believed any more.
void WorkerClient::Impl::broken(const std::string& why)
{
    const Error error{
        ErrorCode::Protocol, why, m_process ? m_process->stderrTail() : std::string()};
    if (m_process) {
        m_process->kill();
    }
    onGone(error);
}

void WorkerClient::Impl::onGone(const Error& error)
{
    const bool hadHello = m_hello.has_value();
    m_process.reset();
    m_hello.reset();
    m_startTimer.cancel();
    ++m_failures;
    if (hadHello) {
        // What ran is lost, what waits gets a fresh worker.
        finishRunning(fail(
            error.code, error.message + "; the next evaluation starts a fresh one", error.detail));
        launchSoon();
        return;
    }
    setPhase(WorkerPhase::Failed, error.message + "; run `lathe doctor` to see what is missing");
    std::list<Job> lost;
    lost.swap(m_waiting);
    for (auto& job : lost) {
        report(job, fail(ErrorCode::Unsupported, error.message, error.detail));
    }
}

JobId WorkerClient::Impl::enqueue(protocol::Frame frame,
                                  double timeoutSeconds,
                                  JobHandlers handlers)
{
    Job job;
    job.id = frame.request;
    job.timeoutSeconds = timeoutSeconds;
    job.handlers = std::move(handlers);
    const JobId id = job.id;
    if (const auto encoded = protocol::encodeFrame(frame); !encoded) {
        boost::asio::post(m_io, [job = std::move(job), error = encoded.error()]() mutable {
            report(job, tl::unexpected(error));
        });
        return id;
    }
    job.frame = std::move(frame);
    m_waiting.push_back(std::move(job));
    startWorker();
    boost::asio::post(m_io, [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->sendNext();
        }
    });
    return id;
}

void WorkerClient::Impl::sendNext()
{
    if (m_running || !m_hello || !m_process) {
        return;
    }
    if (m_waiting.empty()) {
        if (m_phase == WorkerPhase::Busy) {
            setPhase(WorkerPhase::Ready,
                     m_hello->target.device + ", sandbox: " + m_hello->target.sandbox);
        }
        return;
    }
    m_running = std::move(m_waiting.front());
    m_waiting.pop_front();
    m_process->send(m_running->frame);
    m_running->frame = {};
    setPhase(WorkerPhase::Busy, m_hello->target.device + ", sandbox: " + m_hello->target.sandbox);
    armDeadline();
}

void WorkerClient::Impl::armDeadline()
{
    m_jobTimer.expires_after(
        milliseconds(m_running->timeoutSeconds + m_options.deadlineGraceSeconds));
    m_jobTimer.async_wait(
        [weak = weak_from_this(), id = m_running->id](boost::system::error_code error) {
            const auto self = weak.lock();
            if (self && !error && self->m_running && self->m_running->id == id) {
                self->m_running->timedOut = true;
                self->cancel(id);
            }
        });
}

void WorkerClient::Impl::cancel(JobId id)
{
    const auto waiting = std::find_if(
        m_waiting.begin(), m_waiting.end(), [id](const Job& job) { return job.id == id; });
    if (waiting != m_waiting.end()) {
        auto job = std::make_shared<Job>(std::move(*waiting));
        m_waiting.erase(waiting);
        boost::asio::post(
            m_io, [job] { report(*job, fail(ErrorCode::Cancelled, "cancelled before it began")); });
        return;
    }
    if (!m_running || m_running->id != id || m_running->cancelled) {
        return;
    }
    m_running->cancelled = true;
    protocol::Frame frame;
    frame.type = protocol::FrameType::Cancel;
    frame.request = id;
    frame.json = "{}";
    m_process->send(frame);
    armCancel();
}

/// First the caller hears of the end, then a worker that still does not answer is killed.
void WorkerClient::Impl::armCancel()
{
    m_jobTimer.expires_after(milliseconds(kCancelReportSeconds));
    m_jobTimer.async_wait(
        [weak = weak_from_this(), id = m_running->id](boost::system::error_code error) {
            const auto self = weak.lock();
            if (!self || error || !self->m_running || self->m_running->id != id) {
                return;
            }
            report(*self->m_running, fail(ErrorCode::Cancelled, "cancelled"));
            self->m_jobTimer.expires_after(milliseconds(self->m_options.cancelGraceSeconds));
            self->m_jobTimer.async_wait([weak, id](boost::system::error_code later) {
                const auto again = weak.lock();
                if (again && !later && again->m_running && again->m_running->id == id) {
                    again->broken("the worker did not end a cancelled request and was killed");
                }
            });
        });
}

void WorkerClient::Impl::finishRunning(Result<protocol::EvaluateDone> result)
{
    if (!m_running) {
        return;
    }
    Job job = std::move(*m_running);
    m_running.reset();
    m_jobTimer.cancel();
    report(job, std::move(result));
    sendNext();
}

void WorkerClient::Impl::report(Job& job, Result<protocol::EvaluateDone> result)
{
    const auto onDone = std::exchange(job.handlers.onDone, nullptr);
    if (!onDone) {
        return;
    }
    if (job.timedOut) {
        result = fail(ErrorCode::Timeout,
                      "the evaluation did not end within its time limit and was stopped");
    } else if (job.cancelled) {
        result = fail(ErrorCode::Cancelled, "cancelled");
    }
    onDone(std::move(result));
}

void WorkerClient::Impl::prepare(protocol::EvaluateRequest request)
{
    if (!m_hello || !m_process) {
        m_prepare = std::move(request); // the newest one counts
        return;
    }
    request.method = "prepare";
    m_process->send(protocol::encodeRequest(++m_lastId, request));
}

void WorkerClient::Impl::stopWorker(const std::string& why, bool polite)
{
    m_launchPending = false;
    m_startTimer.cancel();
    m_jobTimer.cancel();
    if (m_process) {
        polite ? m_process->shutdown(kShutdownGraceMs) : m_process->kill();
        m_process.reset();
    }
    m_hello.reset();
    std::list<Job> ended;
    ended.swap(m_waiting);
    if (m_running) {
        ended.push_front(std::move(*m_running));
        m_running.reset();
    }
    setPhase(WorkerPhase::Stopped, why);
    for (auto& job : ended) {
        report(job, fail(ErrorCode::Cancelled, why));
    }
}

WorkerClient::WorkerClient(boost::asio::io_context& io, WorkerClientOptions options)
    : m_impl(std::make_shared<Impl>(io, std::move(options)))
{}

WorkerClient::~WorkerClient()
{
    m_impl->stopWorker("the program ends", true);
}

void WorkerClient::startWorker()
{
    m_impl->startWorker();
}

void WorkerClient::stopWorker()
{
    m_impl->stopWorker("the worker was stopped", true);
}

JobId WorkerClient::start(protocol::EvaluateRequest request, JobHandlers handlers)
{
    const JobId id = m_impl->nextId();
    const double timeout = request.timeoutSeconds;
    return m_impl->enqueue(protocol::encodeRequest(id, request), timeout, std::move(handlers));
}

JobId WorkerClient::exec(protocol::ExecRequest request, JobHandlers handlers)
{
    const JobId id = m_impl->nextId();
    const double timeout = request.what.timeoutSeconds;
    return m_impl->enqueue(protocol::encodeRequest(id, request), timeout, std::move(handlers));
}

void WorkerClient::cancel(JobId job)
{
    m_impl->cancel(job);
}

void WorkerClient::prepare(protocol::EvaluateRequest request)
{
    m_impl->prepare(std::move(request));
}

WorkerPhase WorkerClient::phase() const
{
    return m_impl->m_phase;
}

const std::optional<protocol::WorkerHello>& WorkerClient::hello() const
{
    return m_impl->m_hello;
}

int WorkerClient::pid() const
{
    return m_impl->m_process ? m_impl->m_process->pid() : -1;
}

} // namespace lathe::evaluation
