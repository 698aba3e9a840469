// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The loop's tools: what one call of the model sets off, and what becomes of its result.
#include "agent_loop.h"
#include "file_tools.h"

#include <lathe/base/clock.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/candidate/candidate.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

namespace lathe::agent {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;
using protocol::Tier;
using protocol::Until;

constexpr std::size_t kModelTextBytes = 12000;
constexpr std::size_t kItemTextBytes = 16000;

struct EvaluationTool
{
    std::string_view name;
    Tier tier;
    Until until;
};

constexpr std::array kEvaluationTools = {
    EvaluationTool{"compile", Tier::Quick, Until::Build},
    EvaluationTool{"verify", Tier::Quick, Until::Verify},
    EvaluationTool{"benchmark", Tier::Full, Until::Bench},
    EvaluationTool{"profile", Tier::Full, Until::Profile},
    EvaluationTool{"submit", Tier::Accept, Until::Profile},
};

const EvaluationTool* evaluationTool(std::string_view name)
{
    const auto* it = std::find_if(kEvaluationTools.begin(),
                                  kEvaluationTools.end(),
                                  [&](const auto& t) { return t.name == name; });
    return it == kEvaluationTools.end() ? nullptr : it;
}

/// What a person wants to see of a call: the text written, the change, the command.
std::string callText(const std::string& name, const Json& arguments)
{
    if (name == "write_file") {
        return stringOr(arguments, "content");
    }
    if (name == "bash") {
        return stringOr(arguments, "command");
    }
    if (name != "edit_file") {
        return {};
    }
    std::string text;
    for (const auto& line : splitLines(stringOr(arguments, "old_text"))) {
        text += "- " + line + "\n";
    }
    for (const auto& line : splitLines(stringOr(arguments, "new_text"))) {
        text += "+ " + line + "\n";
    }
    return text;
}

std::string callHead(const Json& arguments)
{
    Ordered head = Ordered::object();
    for (const auto& [key, value] : arguments.items()) {
        if (value.is_primitive() && key != "content" && key != "old_text" && key != "new_text"
            && key != "command") {
            head[key] = value;
        }
    }
    return dumpJson(head);
}

/// A result without what differs between two equal ones: build times.
std::string comparable(const ToolResult& result)
{
    std::string out = result.status + "\n";
    for (const auto& line : splitLines(result.text)) {
        if (!line.starts_with("build: ")) {
            out += line + "\n";
        }
    }
    return out;
}

} // namespace

void AgentLoop::nextTool()
{
    if (m_state == State::Finished) {
        return;
    }
    if (m_call >= m_turn.calls.size()) {
        if (m_tap) {
            m_tap->tools(m_budget.turns, m_turnTools);
        }
        reportBudget();
        boost::asio::post(m_io, guarded([this] { nextTurn(); }));
        return;
    }
    runTool(m_turn.calls[m_call]);
}

void AgentLoop::runTool(const llm::ToolCall& call)
{
    m_callNs = monotonicNs();
    const auto parsed = parseJson(call.argumentsJson);
    const Json arguments = parsed ? *parsed : Json::object();
    TrajectoryItem entry = item("tool_call");
    entry.title = callTitle(call.name, arguments);
    entry.text = callText(call.name, arguments);
    entry.headJson = callHead(arguments);
    entry.status = "running";
    publish(std::move(entry));
    if (m_state == State::Finished) {
        return;
    }
    const auto later = [&](ToolResult result) { // never deeper than one call on the stack
        boost::asio::post(
            m_io, guarded([this, serial = m_toolSerial, result = std::move(result)]() mutable {
                if (serial == m_toolSerial) {
                    toolDone(std::move(result));
                }
            }));
    };
    if (auto result = runFileTool(m_workdir, call.name, arguments)) {
        m_formatErrors = 0;
        later(std::move(*result));
    } else if (call.name == "bash") {
        m_formatErrors = 0;
        startBash(arguments);
    } else if (call.name == "best_so_far") {
        m_formatErrors = 0;
        later(bestSoFar(arguments));
    } else if (evaluationTool(call.name) != nullptr) {
        m_formatErrors = 0;
        startEvaluation(call.name, arguments);
    } else {
        ++m_formatErrors;
        later(toolFailure("there is no tool " + call.name
                          + "; there are read_file, write_file, edit_file, list_files, bash, "
                            "compile, verify, profile, benchmark, "
                            "best_so_far, submit"));
    }
}

void AgentLoop::toolDone(ToolResult result)
{
    if (m_state == State::Finished) {
        return;
    }
    m_bash.reset();
    m_job = 0;
    const llm::ToolCall& call = m_turn.calls[m_call];
    TrajectoryItem entry = item("tool_result");
    entry.title = call.name;
    entry.status = result.success ? "ok" : "failed";
    entry.candidate = result.candidate;
    entry.seconds = static_cast<double>(monotonicNs() - m_callNs) / 1e9;
    entry.text = headAndTail(result.text, kItemTextBytes);
    entry.headJson = result.headJson;
    if (result.text.size() > kModelTextBytes) {
        if (const auto blob = m_log.storeBlob(result.text)) {
            auto head = parseOrderedJson(result.headJson);
            if (head && head->is_object()) {
                (*head)["blob"] = *blob;
                entry.headJson = dumpJson(*head);
            }
        }
    }
    publish(std::move(entry));
    if (m_state == State::Finished) {
        return;
    }
    const std::string head =
        result.headJson == "{}" ? dumpJson(Ordered{{"status", result.status}}) : result.headJson;
    const std::string text = headAndTail(toValidUtf8(result.text), kModelTextBytes);
    m_conversation.toolResult(
        call.id, text.empty() ? head : head + "\n" + text, head + "\n[older output left out]");
    m_turnTools.push_back({call.name, result.status});
    compareWithRecording(call, result);
    if (const auto why =
            m_stuck.add(call.name + call.argumentsJson, result.success, comparable(result));
        !why.empty()) {
        m_stuckWhy = why;
    }
    if (m_submitted) {
        if (m_tap) {
            m_tap->tools(m_budget.turns, m_turnTools);
        }
        conclude(StopReason::Submitted,
                 "the candidate was verified and measured again, and is correct");
        return;
    }
    ++m_call;
    nextTool();
}

void AgentLoop::compareWithRecording(const llm::ToolCall& call, const ToolResult& result)
{
    if (!m_recording) {
        return;
    }
    const auto it = m_recording->tools.find(m_budget.turns);
    if (it == m_recording->tools.end() || m_call >= it->second.size()
        || it->second[m_call].status == result.status) {
        return;
    }
    TrajectoryItem entry = item("divergence");
    entry.title =
        call.name + ": " + it->second[m_call].status + " when recorded, " + result.status + " now";
    entry.text = "The recorded turns go on as they are; what they say about this result may not "
                 "fit what happened here.";
    publish(std::move(entry));
}

void AgentLoop::startBash(const Json& arguments)
{
    BashOptions options;
    options.command = stringOr(arguments, "command");
    options.workdir = m_workdir.folder();
    options.includeFolder = m_options.promptFolder.parent_path() / "include";
    options.timeoutSeconds = std::clamp(numberOr(arguments, "timeout_seconds", 60), 1.0, 300.0);
    m_bash = BashTool::start(
        m_io, options, guarded([this](ToolResult result) { toolDone(std::move(result)); }));
}

void AgentLoop::startEvaluation(const std::string& tool, const Json& arguments)
{
    const EvaluationTool& what = *evaluationTool(tool);
    Tier tier = what.tier;
    if (tool == "verify" && stringOr(arguments, "tier") == "full") {
        tier = Tier::Full;
    }
    const double expected = numberOr(arguments, "expect", 0);
    const auto expect = expected > 0 ? std::optional<double>(expected) : std::nullopt;
    const auto refuse = [&](std::string text) {
        boost::asio::post(m_io, guarded([this, serial = m_toolSerial, text = std::move(text)] {
                              if (serial == m_toolSerial) {
                                  toolDone(toolFailure(text));
                              }
                          }));
    };
    auto spec = m_workdir.snapshot();
    if (!spec) {
        refuse(spec.error().message);
        return;
    }
    auto label = stringOr(arguments, "label");
    if (label.empty()) {
        label = "turn " + std::to_string(m_budget.turns);
    }
    m_evaluatingHash = candidate::contentHash(*spec);
    auto id = m_host.keepCandidate(*spec, m_parent, label);
    if (!id) {
        refuse("the candidate could not be kept: " + id.error().message);
        return;
    }
    m_parent = *id;
    m_candidates[id->text()] = std::move(*spec);
    const auto serial = ++m_toolSerial;
    m_job = m_host.evaluate(*id,
                            tier,
                            what.until,
                            guarded([this, serial, tool, expect, until = what.until](auto result) {
                                boost::asio::post(
                                    m_io, guarded([this, serial, tool, expect, until, result] {
                                        if (serial == m_toolSerial) {
                                            evaluated(tool, until, expect, result);
                                        }
                                    }));
                            }));
}

void AgentLoop::evaluated(const std::string& tool,
                          Until until,
                          std::optional<double> expect,
                          Result<std::shared_ptr<const evaluation::EvaluationResult>> result)
{
    if (!result || *result == nullptr) {
        ToolResult failed =
            toolFailure("the evaluation could not be made: "
                        + (result ? std::string("no result")
                                  : result.error().message + "\n" + result.error().detail));
        failed.candidate = m_parent ? m_parent->text() : std::string();
        toolDone(std::move(failed));
        return;
    }
    const auto& evaluation = **result;
    ToolResult described = describe(evaluation, until);
    if (expect) {
        const std::string against = m_lastMeasured ? "candidate " + m_lastMeasured->candidate.text()
                                                   : "the fastest baseline";
        addExpectation(
            described, {*expect, against}, measuredRatio(evaluation, m_lastMeasured.get()));
    }
    if (!described.success) {
        m_failedHash = m_evaluatingHash;
    } else if (until == Until::Bench || until == Until::Profile) {
        m_measuredHash = m_evaluatingHash;
        m_lastMeasured = *result;
    }
    m_submitted = tool == "submit" && described.success;
    toolDone(std::move(described));
}

ToolResult AgentLoop::bestSoFar(const Json& arguments)
{
    const auto best = m_host.best();
    if (!best) {
        ToolResult none;
        none.headJson = R"({"status":"ok","best":null})";
        none.text = "No candidate of this task has been measured and found correct yet.";
        return none;
    }
    ToolResult result = describe(*best, Until::Bench);
    result.status = "ok";
    result.success = true;
    if (boolOr(arguments, "restore", false)) {
        const auto it = m_candidates.find(best->candidate.text());
        if (it == m_candidates.end()) {
            return toolFailure(
                "the best candidate was made outside of this run; its files are not at hand");
        }
        if (auto restored = m_workdir.restore(it->second); !restored) {
            return toolFailure(restored.error().message);
        }
        result.text = "The files are now those of the best candidate.\n" + result.text;
    }
    return result;
}

void AgentLoop::measureLastCandidate(StopReason reason, const std::string& why)
{
    auto spec = m_workdir.snapshot();
    const std::string hash = spec ? candidate::contentHash(*spec) : std::string();
    if (!spec || hash == m_startHash || hash == m_measuredHash || hash == m_failedHash) {
        conclude(reason, why);
        return;
    }
    auto id = m_host.keepCandidate(*spec, m_parent, "last of the run");
    if (!id) {
        conclude(reason, why);
        return;
    }
    m_parent = *id;
    m_state = State::LastMeasurement;
    m_callNs = monotonicNs();
    TrajectoryItem call = item("tool_call");
    call.title = "benchmark (the last candidate, measured because the run ends)";
    call.status = "running";
    call.candidate = id->text();
    publish(std::move(call));
    const auto serial = ++m_toolSerial;
    m_job = m_host.evaluate(
        *id, Tier::Full, Until::Bench, guarded([this, serial, reason, why](auto result) {
            boost::asio::post(m_io, guarded([this, serial, reason, why, result] {
                                  if (serial != m_toolSerial || m_state == State::Finished) {
                                      return;
                                  }
                                  m_job = 0;
                                  ToolResult tool = result && *result
                                                        ? describe(**result, Until::Bench)
                                                        : toolFailure("could not be measured");
                                  TrajectoryItem entry = item("tool_result");
                                  entry.title = "benchmark";
                                  entry.status = tool.success ? "ok" : "failed";
                                  entry.headJson = tool.headJson;
                                  entry.text = headAndTail(tool.text, kItemTextBytes);
                                  entry.candidate = tool.candidate;
                                  entry.seconds =
                                      static_cast<double>(monotonicNs() - m_callNs) / 1e9;
                                  publish(std::move(entry));
                                  conclude(reason, why);
                              }));
        }));
}

} // namespace lathe::agent
