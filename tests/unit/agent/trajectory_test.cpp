// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/agent_run.h>
#include <lathe/agent/trajectory_log.h>
#include <lathe/agent/trajectory_text.h>
#include <lathe/base/files.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace lathe::agent {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TrajectoryTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-trajectory-");
        file = folder / "t.jsonl";
        auto log = TrajectoryLog::create(
            file, folder / "blobs", {{"run", "r1"}}, Scrubber({"hunter2-hunter2"}));
        ASSERT_TRUE(log);
        TrajectoryItem a{"",
                         1,
                         0,
                         "assistant_text",
                         false,
                         "",
                         "line one\nkey hunter2-hunter2",
                         "{}",
                         "",
                         "",
                         0,
                         ""};
        ASSERT_TRUE(log->append(a));
        TrajectoryItem m{"", 1, 0, "model_turn", false, "", "", "{}", "", "", 0, ""};
        ASSERT_TRUE(log->append(m, {{"message", {{"content", "hunter2-hunter2"}}}}));
        TrajectoryItem t{"",
                         1,
                         0,
                         "tool_result",
                         false,
                         "verify",
                         "gate numerics: fail",
                         R"({"status":"wrong","speedup":1.23456})",
                         "failed",
                         "c1",
                         1.5,
                         ""};
        ASSERT_TRUE(log->append(t));
        blob = *log->storeBlob("whole text with hunter2-hunter2");
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::filesystem::path folder;
    std::filesystem::path file;
    std::string blob;
};

TEST_F(TrajectoryTest, ReadsBackWhatPeopleSee)
{
    const auto items = readTrajectory(file);
    ASSERT_TRUE(items) << items.error().message;
    ASSERT_EQ(items->size(), 2u);
    EXPECT_EQ((*items)[0].run, "r1");
    EXPECT_EQ((*items)[0].seq, 1);
    EXPECT_EQ((*items)[1].seq, 3);
    EXPECT_EQ((*items)[1].status, "failed");
    EXPECT_EQ((*items)[1].candidate, "c1");
    EXPECT_THAT((*items)[1].headJson, HasSubstr("wrong"));
    EXPECT_THAT(*readFile(file), Not(HasSubstr("hunter2")));
    EXPECT_EQ(*readFile(folder / "blobs" / blob.substr(0, 2) / blob),
              "whole text with [secret removed]");
}

TEST_F(TrajectoryTest, EveryCutIsReadable)
{
    const std::string text = *readFile(file);
    for (std::size_t cut = text.find('\n') + 1; cut <= text.size(); ++cut) {
        ASSERT_TRUE(writeFileAtomic(folder / "cut.jsonl", std::string_view(text).substr(0, cut)));
        const auto items = readTrajectory(folder / "cut.jsonl");
        ASSERT_TRUE(items) << cut;
        EXPECT_EQ(items->size(),
                  cut == text.size()                           ? 2u
                  : cut > text.find('\n', text.find('\n') + 1) ? 1u
                                                               : 0u)
            << cut;
    }
}

TEST_F(TrajectoryTest, RefusesOtherFilesAndNewerVersions)
{
    ASSERT_TRUE(writeFileAtomic(folder / "n.jsonl", "{\"schema\":\"lathe.trajectory/2\"}\n"));
    EXPECT_EQ(readTrajectory(folder / "n.jsonl").error().code, ErrorCode::Unsupported);
    ASSERT_TRUE(writeFileAtomic(folder / "n.jsonl", "{\"schema\":\"x\"}\n"));
    EXPECT_EQ(readTrajectory(folder / "n.jsonl").error().code, ErrorCode::Parse);
    EXPECT_EQ(readTrajectory(folder / "absent").error().code, ErrorCode::NotFound);
}

TEST_F(TrajectoryTest, ShowsItemsAsLines)
{
    const auto items = readTrajectory(file);
    const auto text = toText(*items);
    EXPECT_THAT(text, HasSubstr("[1] model\n    line one\n"));
    EXPECT_THAT(
        text,
        HasSubstr("[1] <- verify: failed (1.5 s)\n    speedup 1.235\n    gate numerics: fail\n"));
}

} // namespace
} // namespace lathe::agent
