// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/agent_run.h>
#include <lathe/agent/bash_tool.h>
#include <lathe/agent/conversation.h>
#include <lathe/agent/evaluation_text.h>
#include <lathe/agent/prompts.h>
#include <lathe/agent/stop_reason.h>
#include <lathe/agent/stuck_detector.h>
#include <lathe/agent/trajectory_log.h>
#include <lathe/agent/workdir.h>
#include <lathe/llm/model_client.h>

#include <deque>
#include <map>

namespace boost::asio {
class io_context;
}

namespace lathe::agent {

/// Everything a run is made of, put together by AgentRun::create.
struct AgentParts
{
    AgentRunOptions options;
    Prompts prompts;
    Workdir workdir;
    TrajectoryLog log;
    std::unique_ptr<llm::Transport> transport;
    std::unique_ptr<llm::Timers> timers;
    llm::EndpointProfile profile;
    std::string key;
    std::shared_ptr<llm::RecordingWriter> tap;
    std::shared_ptr<const llm::Recording> recording; ///< set when the model's turns are replayed
};

/// The loop: a model turn, its tools one after the other, the next turn. A state machine on
/// callbacks.
class AgentLoop final : public AgentRun
{
public:
    AgentLoop(boost::asio::io_context& io, AgentParts parts, AgentHost& host);
    ~AgentLoop() override;
    AgentLoop(const AgentLoop&) = delete;
    AgentLoop& operator=(const AgentLoop&) = delete;

    void start() override;
    void stop() override;
    void steer(const std::string& message) override;

private:
    // agent_loop.cpp: turns
    void nextTurn();
    void askModel();
    void onDelta(const llm::Delta& delta);
    void onTurn(llm::AssistantTurn turn);
    void onFailure(const llm::ModelFailure& failure);
    void noCalls(const llm::AssistantTurn& turn);
    void vetoCalls(const llm::AssistantTurn& turn);
    [[nodiscard]] std::optional<StopReason> budgetUsedUp() const;
    bool makeRoom();
    void reportBudget();
    void publish(TrajectoryItem item);
    void publishPartial(const char* kind, const std::string& text);
    void finish(StopReason reason, const std::string& why);
    void conclude(StopReason reason, const std::string& why);
    // agent_tools.cpp: tools
    void nextTool();
    void runTool(const llm::ToolCall& call);
    void toolDone(ToolResult result);
    void startBash(const nlohmann::json& arguments);
    void startEvaluation(const std::string& tool, const nlohmann::json& arguments);
    void evaluated(const std::string& tool,
                   protocol::Until until,
                   std::optional<double> expect,
                   Result<std::shared_ptr<const evaluation::EvaluationResult>> result);
    ToolResult bestSoFar(const nlohmann::json& arguments);
    void compareWithRecording(const llm::ToolCall& call, const ToolResult& result);
    void measureLastCandidate(StopReason reason, const std::string& why);

    TrajectoryItem item(const char* kind) const;
    template <class Call>
    auto guarded(Call call)
    {
        return
            [alive = std::weak_ptr(m_alive), call = std::move(call)](auto&&... arguments) mutable {
                if (!alive.expired()) {
                    call(std::forward<decltype(arguments)>(arguments)...);
                }
            };
    }

    boost::asio::io_context& m_io;
    AgentHost& m_host;
    AgentRunOptions m_options;
    Prompts m_prompts;
    Workdir m_workdir;
    TrajectoryLog m_log;
    std::unique_ptr<llm::Transport> m_transport;
    std::unique_ptr<llm::Timers> m_timers;
    std::unique_ptr<llm::ModelClient> m_model;
    std::shared_ptr<llm::RecordingWriter> m_tap;
    std::shared_ptr<const llm::Recording> m_recording;
    Conversation m_conversation;
    StuckDetector m_stuck;
    AgentBudget m_budget;
    std::deque<std::string> m_steering;

    enum class State : std::uint8_t { Idle, Asking, Tools, LastMeasurement, Finished };
    State m_state = State::Idle;
    std::int64_t m_startNs = 0;
    int m_formatErrors = 0;
    bool m_submitted = false;
    double m_tokenScale = 1;        ///< provider's count over our estimate, from the last answer
    std::int64_t m_askedTokens = 0; ///< our estimate of the request in flight
    bool m_overflowed = false;      ///< the provider said that this request was too long
    // the turn in progress
    std::string m_partialText;
    std::string m_partialThinking;
    std::int64_t m_lastPartialNs = 0;
    llm::AssistantTurn m_turn;
    std::size_t m_call = 0;
    std::int64_t m_callNs = 0;
    std::vector<llm::RecordedTool> m_turnTools;
    std::string m_stuckWhy;
    std::unique_ptr<BashTool> m_bash;
    evaluation::JobId m_job = 0;
    std::uint64_t m_toolSerial = 0; ///< an answer to an older question is dropped
    // candidates
    std::optional<CandidateId> m_parent;
    std::map<std::string, protocol::CandidateSpec> m_candidates;
    std::shared_ptr<const evaluation::EvaluationResult> m_lastMeasured;
    std::string m_startHash;
    std::string m_measuredHash; ///< content that has been benchmarked
    std::string m_failedHash;   ///< content known not to build or not to be correct
    std::string m_evaluatingHash;
    std::shared_ptr<char> m_alive = std::make_shared<char>();
};

} // namespace lathe::agent
