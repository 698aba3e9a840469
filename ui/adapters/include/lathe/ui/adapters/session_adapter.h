// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <lathe/session/session.h>

#include <QObject>
#include <QPointer>

#include <memory>
#include <utility>

namespace lathe::ui {

using EvaluationPtr = std::shared_ptr<const evaluation::EvaluationResult>;

/// Turns the session's observer calls into Qt signals on the GUI thread. Made before the session
/// and outlives it.
class SessionAdapter : public QObject, public session::Observer
{
    Q_OBJECT
public:
    using QObject::QObject;

    /// Queues closures on this object's thread; what is still queued when it dies is dropped.
    session::Executor executor();

    void onWorkerStatus(const session::WorkerStatus& status) override;
    void onTasksChanged() override;
    void onCandidatesChanged(const TaskId& task) override;
    void onEvaluation(const EvaluationPtr& result) override;
    void onTrajectory(const agent::TrajectoryItem& item) override;
    void onBudget(const std::string& run, const agent::AgentBudget& budget) override;
    void onRunFinished(const session::RunRow& run) override;
    void onProblem(const Error& error) override;

Q_SIGNALS:
    void workerStatus(const lathe::session::WorkerStatus& status);
    void tasksChanged();
    void candidatesChanged(const lathe::TaskId& task);
    void evaluation(const lathe::ui::EvaluationPtr& result);
    void trajectory(const lathe::agent::TrajectoryItem& item);
    void budget(const std::string& run, const lathe::agent::AgentBudget& budget);
    void runFinished(const lathe::session::RunRow& run);
    void problem(const lathe::Error& error);
};

/// A callback that does nothing once its owner is gone. GUI thread.
template <class Owner, class Function>
auto guarded(Owner* owner, Function function)
{
    return [guard = QPointer<Owner>(owner), function = std::move(function)](auto result) mutable {
        if (guard) {
            function(std::move(result));
        }
    };
}

} // namespace lathe::ui
