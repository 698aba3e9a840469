// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "candidate_arm.h"
#include "evaluation_run.h"
#include "fake_arm_process.h"
#include "reference_failure.h"
#include "verification.h"

#include <gtest/gtest.h>

#include <csignal>

using namespace lathe;
using namespace lathe::worker;
using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;
using protocol::Verdict;

namespace {

FakeArmProcess dead(int signal, int code)
{
    FakeArmProcess process([](ArmMessage) { return fail(ErrorCode::Protocol, "gone"); });
    process.exit = {true, signal, code};
    process.output = "last words";
    return process;
}

TEST(Verdicts, HowAProcessEnds)
{
    const Error gone{ErrorCode::Protocol, "the arm is gone", {}};
    auto crashed = dead(SIGSEGV, 0);
    const Stop stop = stopFor(gone, &crashed, "running forward", 10);
    EXPECT_EQ(stop.verdict, Verdict::Crashed);
    EXPECT_EQ(stop.reason, "the candidate's process was killed by SIGSEGV while running forward");
    EXPECT_EQ(stop.detail, "last words");
    EXPECT_FALSE(stop.error);
    auto left = dead(0, 0);
    EXPECT_EQ(
        stopFor(gone, &left, "loading the candidate", 10).reason,
        "the candidate's process exited with code 0 without an answer while loading the candidate");
    const Stop hung = stopFor({ErrorCode::Timeout, "x", {}}, &crashed, "running forward", 10);
    EXPECT_EQ(hung.verdict, Verdict::Timeout);
    EXPECT_EQ(hung.reason, "no answer within 10 s while running forward");
    EXPECT_TRUE(stopFor({ErrorCode::Cancelled, "x", {}}, &crashed, "x", 1).error);
    EXPECT_TRUE(stopFor({ErrorCode::Io, "x", {}}, nullptr, "x", 1).error);
}

Stop failedAt(const char* stage)
{
    const auto packet = ArmWriter(ArmMessage::Failed)
                            .text(FieldTag::Text, stage)
                            .text(FieldTag::Text2, "ValueError: no")
                            .text(FieldTag::Text4, "/candidate/model_new.py")
                            .integer(FieldTag::Int, 12)
                            .packet(1);
    return stopForFailed(protocol::ArmReader::parse(*packet).value());
}

TEST(Verdicts, ByStageOfAnException)
{
    EXPECT_EQ(failedAt("import").verdict, Verdict::LoadFailed);
    EXPECT_EQ(failedAt("import").reason,
              "importing model_new.py failed: ValueError: no (model_new.py, line 12)");
    EXPECT_EQ(failedAt("init").verdict, Verdict::LoadFailed);
    EXPECT_EQ(failedAt("load").verdict, Verdict::LoadFailed);
    EXPECT_EQ(failedAt("prepare").verdict, Verdict::LoadFailed);
    EXPECT_EQ(failedAt("forward").verdict, Verdict::Crashed);
    EXPECT_EQ(failedAt("contract").verdict, Verdict::Wrong);
    EXPECT_TRUE(failedAt("declined").declined);
}

TEST(Verdicts, TheTasksOwnFaultIsARefusal)
{
    auto process = dead(0, 3);
    const Error error = referenceFailure(
        {ErrorCode::Protocol, "loading the reference: the arm is gone", {}}, "small", &process);
    EXPECT_EQ(error.code, ErrorCode::Refused);
    EXPECT_EQ(
        error.message,
        "the task cannot be judged (variant small): loading the reference: its process exited "
        "with code 3 without an answer");
    EXPECT_EQ(referenceFailure({ErrorCode::NotFound, "no arm", {}}, "small", nullptr).code,
              ErrorCode::NotFound);
}

TEST(Verdicts, GatesInOrder)
{
    EXPECT_EQ(gatesAfter("idle"),
              (std::vector<std::string>{"integrity", "timed_outputs", "attested"}));
    EXPECT_EQ(gatesAfter("build").size(), 13u);
    EXPECT_TRUE(gatesAfter("unknown").empty());
}

TEST(Variants, ByTierAndDevice)
{
    protocol::EvaluateRequest request;
    request.task.variants = {{"a", {}, "cpu", false, false},
                             {"b", {}, "cpu", true, false},
                             {"c", {}, "cpu", false, true},
                             {"d", {}, "cuda", true, false},
                             {"e", {}, "any", false, false}};
    const auto names = [&](protocol::Tier tier) {
        request.tier = tier;
        std::string out;
        for (const auto& variant : chosenVariants(request)) {
            out += variant.name;
        }
        return out;
    };
    EXPECT_EQ(names(protocol::Tier::Quick), "b");
    EXPECT_EQ(names(protocol::Tier::Full), "bae");
    EXPECT_EQ(names(protocol::Tier::Accept), "bace");
    request.device = "cuda";
    EXPECT_EQ(names(protocol::Tier::Full), "de");
    request.variants = {"e"};
    EXPECT_EQ(names(protocol::Tier::Full), "e");
}

} // namespace
