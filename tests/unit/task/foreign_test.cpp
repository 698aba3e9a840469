// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/task/task.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lathe::task {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::SizeIs;

const fs::path kData = fs::path(LATHE_TEST_DATA) / "tasks";

class ImportTest : public ::testing::Test
{
protected:
    ImportTest()
        : m_root(*makeTempFolder(fs::temp_directory_path(), "lathe-import-"))
    {}
    ~ImportTest() override { fs::remove_all(m_root); }
    fs::path m_root;
};

TEST(ForeignTask, RobustKbenchSettingsBecomeVariants)
{
    const auto task = loadTask((kData / "robust_kbench/scaled_relu").string(), {});
    ASSERT_TRUE(task) << task.error().message;
    // single: 1 input x 1 init; multi: 2 x 2, all with the shared settings, which come last.
    ASSERT_THAT(task->spec.variants, SizeIs(1 + 2 * 2 * 2));
    const auto& single = task->spec.variants[0];
    EXPECT_TRUE(single.headline);
    ASSERT_THAT(single.constants, SizeIs(4));
    EXPECT_EQ(single.constants[0].name + "=" + single.constants[0].literal, "get_inputs.batch=8");
    EXPECT_EQ(single.constants[1].name + "=" + single.constants[1].literal, "get_inputs.width=12");
    EXPECT_EQ(single.constants[2].name + "=" + single.constants[2].literal, "Model.slope=0.25");
    EXPECT_EQ(single.constants[3].name + "=" + single.constants[3].literal, "Model.width=12");
    EXPECT_FALSE(task->spec.backward);
    const auto backward = loadTask((kData / "robust_kbench/scaled_relu#backward").string(), {});
    ASSERT_TRUE(backward) << backward.error().message;
    EXPECT_TRUE(backward->spec.backward);
    EXPECT_THAT(backward->spec.variants, SizeIs(1));
    EXPECT_FALSE(loadTask((kData / "robust_kbench/row_norm#backward").string(), {}));
}

TEST(ForeignTask, ARowIsNamedByItsLine)
{
    const std::string rows = (kData / "cuda_agent_ops/rows.jsonl").string();
    const auto task = loadTask(rows + "#1", {});
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(task->title, "torch.nn.ReLU + torch.nn.Linear");
    EXPECT_THAT(task->spec.source, HasSubstr("class Model(nn.Module)"));
    // What a workspace remembers of it leads back to it.
    EXPECT_EQ(loadTask(task->referenceFile.string(), {})->hash, task->hash);
    EXPECT_THAT(loadTask(rows, {}).error().message, HasSubstr("#LINE"));
    EXPECT_THAT(loadTask(rows + "#4", {}).error().message,
                HasSubstr("rows.jsonl:4: the row has no"));
    EXPECT_THAT(loadTask(rows + "#5", {}).error().message,
                HasSubstr("rows.jsonl:5: the line is not"));
    EXPECT_EQ(loadTask(rows + "#six", {}).error().code, ErrorCode::NotFound);
}

TEST_F(ImportTest, OriginalsLieUnchangedBesideTaskJson)
{
    const auto imported = importTasks(kData / "robust_kbench", m_root);
    ASSERT_TRUE(imported) << imported.error().message;
    EXPECT_THAT(imported->folders, SizeIs(3)); // row_norm, scaled_relu forward and backward
    ASSERT_THAT(imported->problems, SizeIs(1));
    EXPECT_THAT(imported->problems[0], HasSubstr("config_forward.json:1"));
    for (const char* file : {"func_forward.py", "config_backward.json"}) {
        EXPECT_EQ(*readFile(m_root / "scaled_relu_backward" / file),
                  *readFile(kData / "robust_kbench/scaled_relu" / file));
    }
    const auto original = loadTask((kData / "robust_kbench/scaled_relu").string(), {});
    const auto copy = loadTask((m_root / "scaled_relu").string(), {});
    ASSERT_TRUE(copy) << copy.error().message;
    EXPECT_EQ(copy->spec.source, original->spec.source);
    EXPECT_EQ(copy->spec.variants.size(), original->spec.variants.size());
}

TEST_F(ImportTest, EveryKindOfSourceAndNoSecondTime)
{
    const auto rows = importTasks(kData / "cuda_agent_ops/rows.jsonl", m_root / "ops");
    ASSERT_TRUE(rows) << rows.error().message;
    EXPECT_THAT(rows->folders, SizeIs(2));
    EXPECT_THAT(rows->problems, SizeIs(2));
    EXPECT_TRUE(loadTask((m_root / "ops/rows-2").string(), {}));
    const auto file = kData / "kernelbench/level1/26_byte_order_mark.py";
    const auto single = importTasks(file, m_root / "kb");
    ASSERT_TRUE(single) << single.error().message;
    EXPECT_EQ(*readFile(single->folders[0] / file.filename()), *readFile(file));
    EXPECT_THAT(importTasks(file, m_root / "kb")->problems, SizeIs(1));
    EXPECT_FALSE(importTasks(kData / "nothing", m_root));
    EXPECT_FALSE(importTasks(kData / "lathe/axis_of_rows/task.json", m_root));
}

} // namespace
} // namespace lathe::task
