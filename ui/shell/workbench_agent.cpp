// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/ui/adapters/text.h>
#include <lathe/ui/shell/workbench.h>

namespace lathe::ui {

void Workbench::startAgent(const QString& provider, bool fromOpenCandidate)
{
    if (!m_task || agentRunning()) {
        return;
    }
    session::AgentOptions options;
    options.provider = provider.toStdString();
    if (fromOpenCandidate && !m_open.empty()) {
        options.from = m_open;
    }
    const auto generation = m_taskGeneration;
    m_session.startAgent(m_task->row.id,
                         std::move(options),
                         guarded(this, [this, generation](Result<session::RunRow> run) {
                             if (!run) {
                                 report(run.error());
                                 return;
                             }
                             if (run->stopReason.empty()) {
                                 m_run = run->run;
                             }
                             if (generation == m_taskGeneration) {
                                 showRun(*run);
                             }
                             Q_EMIT activityChanged();
                         }));
}

void Workbench::showLatestRun()
{
    const auto generation = m_taskGeneration;
    m_session.runs(m_task->row.id,
                   guarded(this, [this, generation](Result<std::vector<session::RunRow>> runs) {
                       if (generation != m_taskGeneration) {
                           return;
                       }
                       if (!runs || runs->empty()) {
                           m_shownRun.clear();
                           Q_EMIT runShown({}, {});
                           return;
                       }
                       const session::RunRow* latest = &runs->front();
                       for (const auto& run : *runs) {
                           latest = run.startedAt > latest->startedAt ? &run : latest;
                       }
                       showRun(*latest);
                   }));
}

// What streamed before the answer came is in the answer too: the model joins items by their place
// in the log.
void Workbench::showRun(const session::RunRow& run)
{
    m_shownRun = run.run;
    m_session.trajectory(
        run.run, guarded(this, [this, run](Result<std::vector<agent::TrajectoryItem>> items) {
            if (m_shownRun == run.run) {
                Q_EMIT runShown(run, items ? *items : std::vector<agent::TrajectoryItem>());
            }
        }));
}

void Workbench::steer(const QString& text)
{
    if (!m_run.empty()) {
        m_session.steer(m_run, text.toStdString());
    }
}

void Workbench::onRunFinished(const session::RunRow& run)
{
    if (run.run == m_run) {
        m_run.clear();
        Q_EMIT message(QStringLiteral("Agent ended: %1").arg(qs(run.stopReason)), false);
        Q_EMIT activityChanged();
    }
    if (run.run == m_shownRun) {
        showRun(run);
    }
}

} // namespace lathe::ui
