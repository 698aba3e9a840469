// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/evaluation_text.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace lathe::agent {
namespace {

using ::testing::HasSubstr;

evaluation::EvaluationResult measured(double candidateUs, double eagerUs)
{
    evaluation::EvaluationResult r;
    r.candidate = CandidateId("c");
    r.verdict = protocol::Verdict::Correct;
    r.finished = true;
    r.build.status = "ok";
    protocol::TimingRow row;
    row.arm = "candidate";
    row.variant = "v";
    row.protocol = "warm";
    row.medianUs = candidateUs;
    r.timings.push_back(row);
    r.comparisons.push_back({"candidate",
                             "eager",
                             "v",
                             "warm",
                             eagerUs / candidateUs,
                             eagerUs / candidateUs * 0.99,
                             eagerUs / candidateUs * 1.01,
                             "faster"});
    return r;
}

TEST(EvaluationText, CompileShowsDiagnostics)
{
    evaluation::EvaluationResult r;
    r.build.status = "failed";
    r.build.diagnostics.push_back({"kernels/a.cpp", 3, 7, "error", "no member named 'x'"});
    const auto tool = describe(r, protocol::Until::Build);
    EXPECT_EQ(tool.status, "build_failed");
    EXPECT_FALSE(tool.success);
    EXPECT_THAT(tool.text, HasSubstr("kernels/a.cpp:3:7: error: no member named 'x'"));
}

TEST(EvaluationText, EndedWithoutVerdictIsAFailure)
{
    evaluation::EvaluationResult r;
    r.warnings.push_back("the worker went away");
    const auto tool = describe(r, protocol::Until::Verify);
    EXPECT_FALSE(tool.success);
    EXPECT_EQ(tool.status, "failed");
    EXPECT_THAT(tool.text, HasSubstr("the worker went away"));
}

TEST(EvaluationText, PredictionsAreComparedThroughEager)
{
    const auto before = measured(100, 200); // 2x eager
    const auto now =
        measured(60, 240); // 4x eager: the machine was slower, the candidate twice as fast
    EXPECT_DOUBLE_EQ(*measuredRatio(now, &before), 2.0);
    auto tool = describe(now, protocol::Until::Bench);
    addExpectation(tool, {1.9, "candidate c"}, 2.0);
    auto head = nlohmann::json::parse(tool.headJson);
    EXPECT_TRUE(head["expectation"]["held"]);
    tool = describe(now, protocol::Until::Bench);
    addExpectation(tool, {4.0, "candidate c"}, 2.0);
    head = nlohmann::json::parse(tool.headJson);
    EXPECT_FALSE(head["expectation"]["held"]);
    EXPECT_THAT(tool.text, HasSubstr("worse than predicted"));
    EXPECT_FALSE(measuredRatio(evaluation::EvaluationResult{}, &before));
}

} // namespace
} // namespace lathe::agent
