// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/json.h>
#include <lathe/base/sha256.h>
#include <lathe/evaluation/evaluation_result.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <limits>

namespace lathe::evaluation {
namespace {

EvaluationResult whole()
{
    EvaluationResult result;
    result.id = EvaluationId("0192f000-0000-7000-8000-000000000001");
    result.task = "starter/rmsnorm_residual";
    result.candidate = CandidateId("0192f000-0000-7000-8000-000000000002");
    result.candidateFormat = "native";
    result.tier = protocol::Tier::Full;
    result.startedAt = "2026-12-01T12:00:00.000Z";
    result.rerun = "lathe eval starter/rmsnorm_residual solution";
    result.build.status = "ok";
    result.build.seconds = 1.5;
    result.build.kernels = {{"rmsnorm", 32, std::nullopt, std::nullopt, std::nullopt}};
    result.gates = {{"numerics", protocol::GateStatus::Pass, "", R"({"maxAbs":0.5})"}};
    protocol::TimingRow row;
    row.arm = "candidate";
    row.variant = "base";
    row.protocol = "warm";
    row.samples = 30;
    row.medianUs = 10;
    row.samplesUs = {9, 10, 11};
    result.timings = {row};
    result.comparisons = {{"candidate", "eager", "base", "warm", 2, 1.9, 2.1, "faster"}};
    result.traces = {{"eager", "base", 3, "{}"}};
    result.log = "ok\n";
    protocol::EvaluateDone done;
    done.verdict = protocol::Verdict::Correct;
    done.reason = "all gates passed";
    done.seeds = {1, 18446744073709551615u};
    done.aaFloorPercent = 0.5;
    done.controlsJson = R"({"tf32":"fails"})";
    result.finish(done);
    return result;
}

TEST(Document, HasTheContractsKeysInItsOrder)
{
    const auto document = toDocument(whole());
    std::vector<std::string> keys;
    for (const auto& [key, value] : document.items()) {
        keys.push_back(key);
    }
    const std::vector<std::string> expected = {
        "schema",      "id",       "startedAt",  "task",  "candidate", "target",
        "tier",        "verdict",  "reason",     "build", "gates",     "timings",
        "comparisons", "controls", "conditions", "seeds", "artifacts", "speedups",
        "aaFloor",     "reward",   "warnings",   "rerun"};
    EXPECT_EQ(keys, expected);
    EXPECT_EQ(document["schema"], "lathe.eval/1");
    EXPECT_EQ(document["speedups"]["eager"]["ratio"], 2.0);
    EXPECT_EQ(document["reward"], 2);
    EXPECT_FALSE(document["timings"][0].contains("samplesUs"));
    EXPECT_FALSE(document["build"]["kernels"][0].contains("sharedBytes"));
    EXPECT_EQ(document["artifacts"][1]["blob"], sha256Hex("{}"));
}

TEST(Document, SaysWhyAPhaseIsAbsent)
{
    EvaluationResult result;
    result.task = "t";
    result.candidate = CandidateId("c");
    result.build.status = "failed";
    protocol::EvaluateDone done;
    done.verdict = protocol::Verdict::BuildFailed;
    result.finish(done);
    const auto document = toDocument(result);
    EXPECT_FALSE(document.contains("timings"));
    EXPECT_EQ(document["warnings"][0],
              "did not run: benchmark, profile (the verdict is build_failed)");
    EXPECT_EQ(document["reward"], -1);
}

TEST(Document, RoundTrips)
{
    const EvaluationResult before = whole();
    const auto text = dumpJson(toDocument(before));
    const auto parsed = parseJson(text);
    ASSERT_TRUE(parsed);
    auto after = fromDocument(*parsed);
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_TRUE(after->finished);
    EXPECT_EQ(after->done.seeds, before.done.seeds);
    EXPECT_EQ(after->build.kernels[0].registers, 32);
    ASSERT_EQ(after->traces.size(), 1u);
    after->traces[0].chromeJson = "{}"; // blobs lie beside the document
    after->log = before.log;
    EXPECT_EQ(dumpJson(toDocument(*after)), text);
}

TEST(Document, NeverWritesWhatIsNoNumber)
{
    EvaluationResult result = whole();
    result.timings[0].cvPercent = std::numeric_limits<double>::quiet_NaN();
    result.reason = "bad \xff byte";
    EXPECT_TRUE(toDocument(result)["timings"][0]["cvPercent"].is_null());
    EXPECT_TRUE(parseJson(dumpJson(toDocument(result))));
}

TEST(Document, RefusesOthers)
{
    EXPECT_FALSE(fromDocument(nlohmann::json::parse(R"({"schema":"lathe.eval/2"})")));
    EXPECT_FALSE(fromDocument(
        nlohmann::json::parse(R"({"schema":"lathe.eval/1","tier":"full","verdict":"fine"})")));
    EXPECT_FALSE(fromDocument(
        nlohmann::json::parse(R"({"schema":"lathe.eval/1","tier":"full","gates":3})")));
    EXPECT_FALSE(fromDocument(nlohmann::json::array()));
}

} // namespace
} // namespace lathe::evaluation
