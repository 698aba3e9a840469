// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "core_state.h"

#include "core_run.h"

#include <lathe/session/paths.h>

#include <boost/asio/post.hpp>
#include <pwd.h>
#include <unistd.h>

namespace lathe::session {
namespace {

/// To a command line as findWorkerCommand makes it: a program and its words, or a shell's text.
void allowUnsandboxed(std::vector<std::string>& command)
{
    if (command.size() == 3 && command[1] == "-c") {
        command[2] += " --allow-unsandboxed";
    } else if (!command.empty()) {
        command.emplace_back("--allow-unsandboxed");
    }
}

} // namespace

CoreState::CoreState(boost::asio::io_context& io,
                     SessionOptions options,
                     std::shared_ptr<Store> store,
                     std::shared_ptr<Notifier> notifier)
    : m_io(io)
    , m_options(std::move(options))
    , m_store(std::move(store))
    , m_notifier(std::move(notifier))
    , m_draftTimer(io)
    , m_watchTimer(io)
{
    if (m_options.taskRoots.empty()) {
        m_options.taskRoots = task::defaultRoots();
    }
    if (m_options.workerCommand.empty()) {
        auto found = findWorkerCommand();
        if (found) {
            m_options.workerCommand = std::move(*found);
        } else {
            m_workerProblem = found.error().message;
        }
    }
    if (m_options.allowUnsandboxed) {
        allowUnsandboxed(m_options.workerCommand);
    }
    evaluation::WorkerClientOptions worker;
    worker.command = m_options.workerCommand;
    worker.onPhase = [this](evaluation::WorkerPhase phase, const std::string& text) {
        onWorkerPhase(phase, text);
    };
    m_worker = std::make_unique<evaluation::WorkerClient>(m_io, std::move(worker));
    if (m_options.startWorker) {
        startWorker();
    }
    boost::asio::post(m_io, [this] {
        enterShippedTasks();
        m_dataVersion = m_store->dataVersion();
        watchOthers();
    });
}

CoreState::~CoreState()
{
    m_closing = true;
    flushDrafts();
    for (const auto& [id, run] : m_runs) {
        m_store->finishRun(id, "cancelled", run->row.steps); // NOLINT: nothing left to tell
        if (run->agent) {
            run->agent->stop();
        }
    }
    m_runs.clear();
    m_worker.reset(); // ends every job with Cancelled
}

void CoreState::startWorker()
{
    if (!m_workerProblem.empty()) {
        onWorkerPhase(evaluation::WorkerPhase::Failed, m_workerProblem);
        return;
    }
    m_worker->startWorker();
}

void CoreState::onWorkerPhase(evaluation::WorkerPhase phase, const std::string& text)
{
    WorkerStatus status;
    status.text = text;
    switch (phase) {
    case evaluation::WorkerPhase::Stopped:
        status.state = WorkerState::Stopped;
        break;
    case evaluation::WorkerPhase::Starting:
        status.state = WorkerState::Starting;
        break;
    case evaluation::WorkerPhase::Ready:
        status.state = WorkerState::Ready;
        break;
    case evaluation::WorkerPhase::Busy:
        status.state = WorkerState::Busy;
        break;
    case evaluation::WorkerPhase::Failed:
        status.state = WorkerState::Failed;
        break;
    }
    const bool fresh = phase == evaluation::WorkerPhase::Starting;
    if (m_worker) {
        status.hello = m_worker->hello();
    }
    if (fresh) {
        sendPrepare(); // a restarted worker has forgotten what is open
    }
    m_notifier->observe([status](Observer& observer) { observer.onWorkerStatus(status); });
}

void CoreState::problem(const Error& error) const
{
    m_notifier->observe([error](Observer& observer) { observer.onProblem(error); });
}

void CoreState::tasksChanged() const
{
    m_notifier->observe([](Observer& observer) { observer.onTasksChanged(); });
}

void CoreState::candidatesChanged(const TaskId& task) const
{
    m_notifier->observe([task](Observer& observer) { observer.onCandidatesChanged(task); });
}

/// Another program on the same workspace (a CLI beside the window) shows here within a second.
void CoreState::watchOthers()
{
    m_watchTimer.expires_after(std::chrono::seconds(1));
    m_watchTimer.async_wait([this](boost::system::error_code error) {
        if (error) {
            return;
        }
        const auto version = m_store->dataVersion();
        if (version != m_dataVersion) {
            m_dataVersion = version;
            tasksChanged();
            for (const auto& task : m_openTasks) {
                candidatesChanged(task);
            }
        }
        watchOthers();
    });
}

JobId CoreState::nextJob()
{
    static std::atomic<JobId> last{0}; // only a source of fresh numbers
    return ++last;
}

bool CoreState::isRunning(const TaskId& task) const
{
    for (const auto& [id, job] : m_jobs) {
        if (job->task == task) {
            return true;
        }
    }
    return false;
}

std::string CoreState::whoAmI() const
{
    if (!m_options.userName.empty()) {
        return m_options.userName;
    }
    passwd entry = {};
    passwd* found = nullptr;
    std::string buffer(4096, '\0');
    if (::getpwuid_r(::getuid(), &entry, buffer.data(), buffer.size(), &found) == 0
        && found != nullptr) {
        return found->pw_name;
    }
    return std::to_string(::getuid());
}

} // namespace lathe::session
