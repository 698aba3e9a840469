// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/trajectory.h>
#include <lathe/base/id.h>
#include <lathe/base/result.h>
#include <lathe/evaluation/evaluation_result.h>
#include <lathe/evaluation/evaluator.h>
#include <lathe/task/task.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace lathe::agent {

/// What a run needs of its surroundings (the session implements it). Core thread.
class AgentHost
{
public:
    virtual ~AgentHost() = default;
    /// Stores the workdir's files as a new candidate of the run's task (author: agent) and returns
    /// its id at once; equal content as the parent returns the parent.
    virtual Result<CandidateId> keepCandidate(const protocol::CandidateSpec& spec,
                                              const std::optional<CandidateId>& parent,
                                              const std::string& label) = 0;
    using EvaluationDone =
        std::function<void(Result<std::shared_ptr<const evaluation::EvaluationResult>>)>;
    virtual evaluation::JobId evaluate(const CandidateId& candidate,
                                       protocol::Tier tier,
                                       protocol::Until until,
                                       EvaluationDone done) = 0;
    virtual void cancel(evaluation::JobId job) = 0;
    /// The best correct candidate of this task so far and its evaluation; null when there is none.
    virtual std::shared_ptr<const evaluation::EvaluationResult> best() = 0;
    virtual void onItem(const TrajectoryItem& item) = 0;
    virtual void onBudget(const AgentBudget& budget) = 0;
    virtual void onFinished(const std::string& stopReason) = 0;
};

struct AgentLimits
{
    int maxTurns = 200;
    std::int64_t maxContextTokens = 131072;
    std::int64_t maxTokens = 0; ///< 0: no limit
    std::optional<double> maxCost;
    double maxSeconds = 3600;
};

struct AgentRunOptions
{
    RunId run;
    task::Task task;
    std::string device = "cpu";
    protocol::CandidateSpec start; ///< files the workdir begins with
    std::optional<CandidateId> startCandidate;
    std::string provider;                 ///< endpoint profile's name or "replay:FILE"
    std::filesystem::path workFolder;     ///< private to the run; created
    std::filesystem::path trajectoryFile; ///< append-only JSONL, fsynced per step
    std::filesystem::path blobFolder;     ///< whole tool outputs by SHA-256
    std::filesystem::path promptFolder;   ///< resources/prompts
    std::filesystem::path recordFile;     ///< where the raw-byte tap writes; empty: nowhere
    std::filesystem::path profilesFile; ///< endpoint profiles; empty: configFolder()/endpoints.json
    double replayPace = 1;              ///< of a recording's pauses; 0: none
    AgentLimits limits;
};

/// One agent run: model turn, tools, model turn, ... until a stop reason. Core thread; never blocks
/// it.
class AgentRun
{
public:
    /// Reads the prompts and the provider's profile or recording; fails with what to do (no key, no
    /// such profile, ...).
    static Result<std::unique_ptr<AgentRun>>
    create(boost::asio::io_context& io, AgentRunOptions options, AgentHost& host);
    virtual ~AgentRun() = default;
    virtual void start() = 0;
    /// Ends at once: cancels the model request, kills the running tool. onFinished("cancelled")
    /// follows.
    virtual void stop() = 0;
    virtual void steer(const std::string& message) = 0;
};

/// Reads a trajectory file back as items; a half-written last line is left out.
Result<std::vector<TrajectoryItem>> readTrajectory(const std::filesystem::path& file);

} // namespace lathe::agent
