// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core_state.h"

namespace lathe::session {

/// What an agent run sees of the session. Core thread.
class RunHost final : public agent::AgentHost
{
public:
    RunHost(CoreState& core, std::string run, TaskId task)
        : m_core(core)
        , m_run(std::move(run))
        , m_task(std::move(task))
    {}
    Result<CandidateId> keepCandidate(const protocol::CandidateSpec& spec,
                                      const std::optional<CandidateId>& parent,
                                      const std::string& label) override;
    evaluation::JobId evaluate(const CandidateId& candidate,
                               protocol::Tier tier,
                               protocol::Until until,
                               EvaluationDone done) override;
    void cancel(evaluation::JobId job) override;
    EvaluationPtr best() override;
    void onItem(const agent::TrajectoryItem& item) override;
    void onBudget(const agent::AgentBudget& budget) override;
    void onFinished(const std::string& stopReason) override;

private:
    CoreState& m_core;
    std::string m_run;
    TaskId m_task;
};

/// One agent run of this process.
struct CoreState::Run
{
    RunRow row;
    std::unique_ptr<RunHost> host;
    std::unique_ptr<agent::AgentRun> agent;
};

} // namespace lathe::session
