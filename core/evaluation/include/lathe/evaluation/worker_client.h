// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/evaluation/evaluator.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace lathe::evaluation {

enum class WorkerPhase : std::uint8_t { Stopped, Starting, Ready, Busy, Failed };

struct WorkerClientOptions
{
    std::vector<std::string> command; ///< argv of "lathe-worker serve" or anything that launches it
    std::vector<std::string> environment; ///< "NAME=value", added to ours
    double helloTimeoutSeconds = 60;      ///< the worker tests its sandbox before it says hello
    double cancelGraceSeconds =
        5; ///< a worker that does not end a cancelled request by then is killed
    double deadlineGraceSeconds =
        15; ///< beyond the request's own timeoutSeconds, before it is cancelled from here
    /// Told of every change; text is one line, for Failed with what to do. Core thread.
    std::function<void(WorkerPhase phase, const std::string& text)> onPhase;
};

/// The client of one lathe-worker process: starts it, speaks the framed protocol over its stdin and
/// stdout, restarts it after a crash (with back-off), and fails the jobs that ran with a clear
/// error. Requests run one after another; the others wait here. Owned by the session, lives on the
/// core thread; destruction kills the worker's process group.
class WorkerClient final : public Evaluator
{
public:
    WorkerClient(boost::asio::io_context& io, WorkerClientOptions options);
    ~WorkerClient() override;
    WorkerClient(const WorkerClient&) = delete;
    WorkerClient& operator=(const WorkerClient&) = delete;

    /// Starts the worker now instead of at the first job.
    void startWorker();
    /// Ends every job with Cancelled and the worker: Shutdown, then SIGKILL of its group shortly
    /// after.
    void stopWorker();

    JobId start(protocol::EvaluateRequest request, JobHandlers handlers) override;
    void cancel(JobId job) override;
    /// Like start, for a tool on the candidate: its output comes as LogEvent with source "tool".
    JobId exec(protocol::ExecRequest request, JobHandlers handlers);
    /// Sends "prepare" once the worker is there; its answer is not waited for, failures are
    /// ignored.
    void prepare(protocol::EvaluateRequest request);

    [[nodiscard]] WorkerPhase phase() const;
    [[nodiscard]] const std::optional<protocol::WorkerHello>& hello() const;
    /// Process id of the running worker, or -1.
    [[nodiscard]] int pid() const;

private:
    class Impl;
    std::shared_ptr<Impl> m_impl;
};

} // namespace lathe::evaluation
