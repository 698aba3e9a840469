// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/workdir.h>
#include <lathe/base/files.h>

#include <gtest/gtest.h>

namespace lathe::agent {
namespace {

class WorkdirTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        folder = *makeTempFolder(std::filesystem::temp_directory_path(), "lathe-workdir-");
        protocol::CandidateSpec start;
        start.files = {{"model_new.py", "m"}, {"kernels/a.cpp", "a"}};
        workdir = std::make_unique<Workdir>(*Workdir::create(folder / "w", start, "ref"));
    }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::filesystem::path folder;
    std::unique_ptr<Workdir> workdir;
};

TEST_F(WorkdirTest, WritesOnlyTheCandidate)
{
    EXPECT_TRUE(workdir->write("model_new.py", "x"));
    EXPECT_TRUE(workdir->write("kernels/b.cu", "x"));
    for (const char* path : {"reference.py",
                             "../x.cpp",
                             "kernels/../x.cpp",
                             "/etc/x.cpp",
                             "kernels/sub/x.cpp",
                             "kernels/x.py",
                             "kernels/.x.cpp",
                             "kernels/",
                             "x.cpp",
                             "",
                             "kernels//x.cpp"}) {
        EXPECT_FALSE(workdir->write(path, "x")) << path;
    }
}

TEST_F(WorkdirTest, SnapshotIsTheCandidateAlone)
{
    ASSERT_TRUE(writeFileAtomic(folder / "w" / "junk.txt", "j"));
    ASSERT_TRUE(writeFileAtomic(folder / "w" / "kernels" / "a.so", "j"));
    const auto spec = workdir->snapshot();
    ASSERT_TRUE(spec);
    ASSERT_EQ(spec->files.size(), 2u);
    EXPECT_EQ(spec->files[0].path, "kernels/a.cpp");
    EXPECT_EQ(spec->files[1].path, "model_new.py");
    std::filesystem::remove(folder / "w" / "model_new.py");
    EXPECT_FALSE(workdir->snapshot());
}

TEST_F(WorkdirTest, FollowsNoLinks)
{
    ASSERT_TRUE(writeFileAtomic(folder / "secret", "secret"));
    std::filesystem::remove(folder / "w" / "kernels" / "a.cpp");
    std::filesystem::create_symlink(folder / "secret", folder / "w" / "kernels" / "a.cpp");
    EXPECT_FALSE(workdir->read("kernels/a.cpp"));
    EXPECT_FALSE(workdir->snapshot());
    EXPECT_TRUE(workdir->write("kernels/a.cpp", "mine")); // replaces the link, not its target
    EXPECT_EQ(*readFile(folder / "secret"), "secret");
    std::filesystem::remove_all(folder / "w" / "kernels");
    std::filesystem::create_directory_symlink(folder, folder / "w" / "kernels");
    EXPECT_FALSE(workdir->write("kernels/a.cpp", "x"));
    EXPECT_FALSE(workdir->list());
    EXPECT_FALSE(std::filesystem::exists(folder / "a.cpp"));
}

TEST_F(WorkdirTest, ReferenceIsTheTasksWhateverTheShellDid)
{
    ASSERT_TRUE(writeFileAtomic(folder / "w" / "reference.py", "changed"));
    EXPECT_EQ(*workdir->read("reference.py"), "ref");
}

TEST_F(WorkdirTest, RestoreRemovesWhatIsNotThere)
{
    ASSERT_TRUE(workdir->write("kernels/b.cpp", "b"));
    protocol::CandidateSpec spec;
    spec.files = {{"model_new.py", "old"}, {"kernels/c.cpp", "c"}};
    ASSERT_TRUE(workdir->restore(spec));
    EXPECT_EQ(*workdir->list(), (std::vector<std::string>{"kernels/c.cpp", "model_new.py"}));
}

} // namespace
} // namespace lathe::agent
