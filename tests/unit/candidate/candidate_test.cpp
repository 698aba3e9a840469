// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/candidate/candidate.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace lathe::candidate {
namespace {

namespace fs = std::filesystem;

class CandidateTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        m_folder = *makeTempFolder(fs::temp_directory_path(), "lathe-candidate-");
        fs::create_directories(m_folder / "kernels");
        write("model_new.py", "class ModelNew: pass\n");
        write("kernels/a.cpp", "int a;\n");
    }
    void TearDown() override { fs::remove_all(m_folder); }
    void write(const std::string& name, const std::string& text) const
    {
        std::ofstream(m_folder / name, std::ios::binary) << text;
    }
    fs::path m_folder;
};

TEST_F(CandidateTest, ReadsANativeFolderInAFixedOrder)
{
    fs::create_directories(m_folder / "__pycache__");
    write("__pycache__/x.pyc", "junk");
    const auto spec = loadSolution(m_folder);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->format, "native");
    ASSERT_EQ(spec->files.size(), 2u);
    EXPECT_EQ(spec->files[0].path, "kernels/a.cpp");
    EXPECT_EQ(spec->files[1].path, "model_new.py");
}

TEST_F(CandidateTest, ReadsASingleFile)
{
    const auto spec = loadSolution(m_folder / "model_new.py");
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->format, "modelnew");
    EXPECT_EQ(spec->files[0].path, "model_new.py");
    write("other.py", "x = 1\n");
    EXPECT_FALSE(loadSolution(m_folder / "other.py"));
}

TEST_F(CandidateTest, AWorkdirIsRecognisedAndOnlyItsOwnFilesAreTaken)
{
    write("kernels/a_binding.cpp", "#include \"../binding_registry.h\"\n");
    write("model.py", "class Model: pass\n");
    write("binding.cpp", "theirs\n");
    write("binding_registry.h", "theirs\n");
    write("SKILL.md", "how to\n");
    fs::create_directories(m_folder / "utils");
    write("utils/compile.py", "pass\n");
    const auto spec = loadSolution(m_folder);
    ASSERT_TRUE(spec) << spec.error().message;
    EXPECT_EQ(spec->format, "cuda-agent");
    std::vector<std::string> paths;
    for (const auto& file : spec->files) {
        paths.push_back(file.path);
    }
    // Neither the reference nor their build scripts: the judge has its own of both.
    EXPECT_EQ(paths,
              (std::vector<std::string>{"kernels/a.cpp", "kernels/a_binding.cpp", "model_new.py"}));
    EXPECT_FALSE(loadSolution(m_folder, "cuda-agents"));
}

TEST_F(CandidateTest, RefusesLinksBinariesAndWhatIsTooLarge)
{
    fs::create_symlink("/etc/passwd", m_folder / "kernels" / "link.cpp");
    EXPECT_NE(loadSolution(m_folder).error().message.find("symbolic link"), std::string::npos);
    fs::remove(m_folder / "kernels" / "link.cpp");
    write("kernels/b.cpp", std::string("a\0b", 3));
    EXPECT_NE(loadSolution(m_folder).error().message.find("not UTF-8"), std::string::npos);
    write("kernels/b.cpp", "\xff\xfe");
    EXPECT_FALSE(loadSolution(m_folder));
    write("kernels/b.cpp", std::string((4u << 20) + 1, 'x'));
    EXPECT_FALSE(loadSolution(m_folder));
    fs::remove(m_folder / "kernels" / "b.cpp");
    EXPECT_TRUE(loadSolution(m_folder));
    EXPECT_EQ(loadSolution(m_folder / "none").error().code, ErrorCode::NotFound);
    EXPECT_FALSE(loadSolution(m_folder, "cubin"));
}

TEST_F(CandidateTest, TheHashIsOfContentOnly)
{
    protocol::CandidateSpec a{"1", "", "native", {{"a", "x"}, {"b", "y"}}, {}};
    protocol::CandidateSpec b{"2", "1", "native", {{"b", "y"}, {"a", "x"}}, {}};
    EXPECT_EQ(contentHash(a), contentHash(b));
    b.files[0].text = "z";
    EXPECT_NE(contentHash(a), contentHash(b));
    protocol::CandidateSpec shifted{"", "", "native", {{"a", "xb"}, {"", "y"}}, {}};
    EXPECT_NE(contentHash(a), contentHash(shifted));
    protocol::CandidateSpec flagged = a;
    flagged.flags = {"-ffast-math"};
    EXPECT_NE(contentHash(a), contentHash(flagged));
}

TEST_F(CandidateTest, WritesOnlyInsideTheFolder)
{
    protocol::CandidateSpec spec{"", "", "native", {{"kernels/a.cpp", "int b;\n"}}, {}};
    ASSERT_TRUE(writeFiles(spec, m_folder / "out"));
    EXPECT_EQ(*readFile(m_folder / "out/kernels/a.cpp"), "int b;\n");
    spec.files.push_back({"../escape", "x"});
    EXPECT_FALSE(writeFiles(spec, m_folder / "out2"));
    EXPECT_FALSE(fs::exists(m_folder / "escape"));
}

TEST(Skeleton, IsTheReferenceUnderTheOtherName)
{
    protocol::TaskSpec task;
    task.source = "rows = 4\nclass Model(nn.Module):\n    def __init__(self):\n        "
                  "super(Model, self).__init__()\n\n"
                  "def get_inputs():\n    return [\n1\n]\n\ndef helper():\n    return ModelThing\n";
    const auto spec = skeleton(task, "cpu");
    const auto model = std::find_if(spec.files.begin(), spec.files.end(), [](const auto& f) {
        return f.path == "model_new.py";
    });
    ASSERT_NE(model, spec.files.end());
    EXPECT_NE(model->text.find("class ModelNew(nn.Module)"), std::string::npos);
    EXPECT_NE(model->text.find("super(ModelNew, self)"), std::string::npos);
    EXPECT_NE(model->text.find("ModelThing"), std::string::npos);
    EXPECT_NE(model->text.find("def helper"), std::string::npos);
    EXPECT_EQ(model->text.find("get_inputs()"), std::string::npos);
    EXPECT_EQ(skeleton(task, "cuda:0").files[0].path, "kernels/kernel.cu");
}

} // namespace
} // namespace lathe::candidate
