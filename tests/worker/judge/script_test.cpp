// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "call_script.h"
#include "fake_arm_process.h"

#include <gtest/gtest.h>

using namespace lathe;
using namespace lathe::worker;
using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

namespace {

CallScript::Begin ask(FakeArmProcess& process)
{
    return [&process](bool, int) -> Result<CallScript::Begun> {
        return CallScript::Begun{false, ArmCall{&process, ArmWriter(ArmMessage::Null), {}, 5}};
    };
}

TEST(Script, WaitsOnlyWhenToldTo)
{
    FakeArmProcess process([](ArmMessage) { return ArmWriter(ArmMessage::Ok); });
    process.ready = false;
    int finished = 0;
    CallScript script;
    for (int i = 0; i < 2; ++i) {
        script.add("asking", ask(process), [&](ArmReply&) -> Result<void> {
            ++finished;
            return {};
        });
    }
    Ledger ledger;
    EXPECT_FALSE(script.advance(false, -1, ledger).value());
    EXPECT_FALSE(script.advance(false, -1, ledger).value());
    EXPECT_EQ(process.asked.size(), 1u) << "a request under way is not sent twice";
    EXPECT_EQ(script.what(), "asking");
    EXPECT_TRUE(script.advance(true, -1, ledger).value());
    EXPECT_EQ(finished, 2);
    EXPECT_TRUE(script.done());
}

TEST(Script, ACancelledWaitIsResumed)
{
    bool cancelled = true;
    FakeArmProcess process([&](ArmMessage) -> Result<ArmWriter> {
        return cancelled ? Result<ArmWriter>(fail(ErrorCode::Cancelled, "cancelled"))
                         : ArmWriter(ArmMessage::Ok);
    });
    CallScript script;
    script.add(
        "asking", ask(process), [](ArmReply& reply) { return expectReply(reply, ArmMessage::Ok); });
    Ledger ledger;
    EXPECT_EQ(script.advance(true, -1, ledger).error().code, ErrorCode::Cancelled);
    cancelled = false;
    EXPECT_TRUE(script.advance(true, -1, ledger).value());
    EXPECT_EQ(process.asked.size(), 1u);
}

TEST(Script, AFailureEndsItAndNamesTheStep)
{
    FakeArmProcess process([](ArmMessage) {
        return ArmWriter(ArmMessage::Failed)
            .text(FieldTag::Text, "import")
            .text(FieldTag::Text2, "SyntaxError: invalid syntax")
            .text(FieldTag::Text4, "/task/reference.py")
            .integer(FieldTag::Int, 7);
    });
    CallScript script;
    script.add("loading", ask(process), [](ArmReply& reply) {
        return expectReply(reply, ArmMessage::Ok);
    });
    script.add("never", ask(process), [](ArmReply&) -> Result<void> { return {}; });
    Ledger ledger;
    const auto ended = script.advance(true, -1, ledger);
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, ErrorCode::Refused);
    EXPECT_EQ(ended.error().message, "loading: SyntaxError: invalid syntax (reference.py, line 7)");
    EXPECT_TRUE(script.done());
}

} // namespace
