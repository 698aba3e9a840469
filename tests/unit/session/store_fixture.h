// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store.h"

#include <lathe/base/files.h>

#include <gtest/gtest.h>

namespace lathe::session {

/// A fresh workspace with one task, and makers of what goes into it.
class StoreFixture : public ::testing::Test
{
protected:
    void SetUp() override
    {
        m_folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-store-");
        m_store = *Store::open(m_folder / "ws");
        m_task = *m_store->putTask(task());
    }
    void TearDown() override
    {
        m_store.reset();
        std::filesystem::remove_all(m_folder);
    }

    static task::Task task()
    {
        task::Task out;
        out.spec.key = "suite/scale";
        out.spec.source = "class Model: pass\n";
        out.spec.variants = {{"base", {{"rows", "4"}}, "any", true, false}};
        out.title = "Scale";
        out.suite = "suite";
        out.hash = "hash-1";
        return out;
    }

    static CandidateDraft draft(const TaskId& task, const std::string& text)
    {
        return {task,
                std::nullopt,
                Author::Human,
                "label",
                {"", "", "native", {{"model_new.py", text}}, {"-DX=1"}}};
    }

    CandidateRow add(const std::string& text)
    {
        return *m_store->addCandidate(draft(m_task, text), {});
    }

    static evaluation::EvaluationResult evaluated(const CandidateId& candidate,
                                                  protocol::Tier tier,
                                                  protocol::Verdict verdict,
                                                  double ratio = 2)
    {
        evaluation::EvaluationResult result;
        result.id = EvaluationId::fresh();
        result.task = "suite/scale";
        result.candidate = candidate;
        result.tier = tier;
        result.build.status = "ok";
        result.log = "compiler output\n";
        if (verdict == protocol::Verdict::Correct) {
            protocol::TimingRow row;
            row.arm = "candidate";
            row.variant = "base";
            row.protocol = "warm";
            row.medianUs = 5;
            row.samplesUs = {4.5, 5, 5.5};
            result.timings = {row};
            result.comparisons = {{"candidate",
                                   "eager",
                                   "base",
                                   "warm",
                                   ratio,
                                   ratio * 0.99,
                                   ratio * 1.01,
                                   "faster"}};
            result.traces = {{"eager", "base", 2, R"({"traceEvents":[]})"}};
        }
        protocol::EvaluateDone done;
        done.verdict = verdict;
        done.reason = "because";
        result.finish(done);
        return result;
    }

    std::filesystem::path m_folder;
    std::unique_ptr<Store> m_store;
    TaskId m_task;
};

} // namespace lathe::session
