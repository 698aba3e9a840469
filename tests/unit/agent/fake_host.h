// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/agent_run.h>
#include <lathe/candidate/candidate.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <vector>

namespace lathe::agent {

/// Judges by a function of the candidate's files; keeps everything it was asked.
class FakeHost final : public AgentHost
{
public:
    struct Asked
    {
        std::string candidate;
        protocol::Tier tier;
        protocol::Until until;
    };
    using Judge = std::function<evaluation::EvaluationResult(const protocol::CandidateSpec&,
                                                             protocol::Until)>;

    FakeHost(boost::asio::io_context& io, Judge judge)
        : m_io(io)
        , m_judge(std::move(judge))
    {}

    Result<CandidateId> keepCandidate(const protocol::CandidateSpec& spec,
                                      const std::optional<CandidateId>& parent,
                                      const std::string& label) override
    {
        if (parent && specs.count(parent->text()) != 0
            && candidate::contentHash(specs[parent->text()]) == candidate::contentHash(spec)) {
            return *parent;
        }
        const CandidateId id("c" + std::to_string(specs.size() + 1));
        specs[id.text()] = spec;
        labels.push_back(label);
        return id;
    }

    evaluation::JobId evaluate(const CandidateId& candidate,
                               protocol::Tier tier,
                               protocol::Until until,
                               EvaluationDone done) override
    {
        asked.push_back({candidate.text(), tier, until});
        const auto job = ++m_job;
        if (hold) {
            return job; // never answers
        }
        boost::asio::post(m_io, [this, candidate, tier, until, done = std::move(done)] {
            auto result = std::make_shared<evaluation::EvaluationResult>(
                m_judge(specs[candidate.text()], until));
            result->candidate = candidate;
            result->tier = tier;
            result->finished = true;
            if (result->verdict == protocol::Verdict::Correct && !result->timings.empty()) {
                m_best = result;
            }
            done(result);
        });
        return job;
    }
    void cancel(evaluation::JobId job) override { cancelled.push_back(job); }
    std::shared_ptr<const evaluation::EvaluationResult> best() override { return m_best; }
    void onItem(const TrajectoryItem& item) override
    {
        if (!item.partial) {
            items.push_back(item);
        }
        if (whenItem) {
            whenItem(item);
        }
    }
    void onBudget(const AgentBudget& b) override { budget = b; }
    void onFinished(const std::string& reason) override { finished.push_back(reason); }

    [[nodiscard]] std::vector<TrajectoryItem> ofKind(const std::string& kind) const
    {
        std::vector<TrajectoryItem> out;
        for (const auto& item : items) {
            if (item.kind == kind) {
                out.push_back(item);
            }
        }
        return out;
    }

    bool hold = false;
    std::map<std::string, protocol::CandidateSpec> specs;
    std::vector<std::string> labels;
    std::vector<Asked> asked;
    std::vector<evaluation::JobId> cancelled;
    std::vector<TrajectoryItem> items;
    std::vector<std::string> finished;
    AgentBudget budget;
    std::function<void(const TrajectoryItem&)> whenItem;

private:
    boost::asio::io_context& m_io;
    Judge m_judge;
    evaluation::JobId m_job = 0;
    std::shared_ptr<const evaluation::EvaluationResult> m_best;
};

} // namespace lathe::agent
