// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/session_adapter.h>

#include <QMetaObject>

namespace lathe::ui {

session::Executor SessionAdapter::executor()
{
    return [this](std::function<void()> work) {
        QMetaObject::invokeMethod(this, std::move(work), Qt::QueuedConnection);
    };
}

void SessionAdapter::onWorkerStatus(const session::WorkerStatus& status)
{
    Q_EMIT workerStatus(status);
}
void SessionAdapter::onTasksChanged()
{
    Q_EMIT tasksChanged();
}
void SessionAdapter::onCandidatesChanged(const TaskId& task)
{
    Q_EMIT candidatesChanged(task);
}
void SessionAdapter::onEvaluation(const EvaluationPtr& result)
{
    Q_EMIT evaluation(result);
}
void SessionAdapter::onTrajectory(const agent::TrajectoryItem& item)
{
    Q_EMIT trajectory(item);
}
void SessionAdapter::onBudget(const std::string& run, const agent::AgentBudget& value)
{
    Q_EMIT budget(run, value);
}
void SessionAdapter::onRunFinished(const session::RunRow& run)
{
    Q_EMIT runFinished(run);
}
void SessionAdapter::onProblem(const Error& error)
{
    Q_EMIT problem(error);
}

} // namespace lathe::ui
