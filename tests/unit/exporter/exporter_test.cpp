// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/exporter/exporter.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <set>

namespace lathe::exporter {
namespace {

namespace fs = std::filesystem;

class ExporterTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        m_folder = *makeTempFolder(fs::temp_directory_path(), "lathe-export-");
        m_task.spec.key = "suite/my-task";
        m_task.title = "My task";
        m_task.spec.source = "class Model: pass\n";
        m_candidate.files = {
            {"kernels/k.cpp", "// ends in a quote \"\"\" and \\n\n\""},
            {"helper.py", "value = 3\n"},
            {"model_new.py",
             "from __future__ import annotations\nimport helper\nclass ModelNew: pass\n"}};
        m_candidate.flags = {"-DX=1"};
    }
    void TearDown() override { fs::remove_all(m_folder); }

    std::set<std::string> names(const std::string& as,
                                const nlohmann::ordered_json* document = nullptr)
    {
        std::set<std::string> found;
        const auto files = exportCandidate(m_task, m_candidate, document, as, m_folder);
        EXPECT_TRUE(files) << files.error().message;
        for (const auto& file : files.value_or(std::vector<fs::path>{})) {
            EXPECT_TRUE(fs::exists(file));
            found.insert(fs::relative(file, m_folder).string());
        }
        return found;
    }

    fs::path m_folder;
    task::Task m_task;
    protocol::CandidateSpec m_candidate;
};

TEST_F(ExporterTest, KernelBenchIsOneFileAndTheReport)
{
    const nlohmann::ordered_json document = {{"schema", "lathe.eval/1"}};
    EXPECT_EQ(names("kernelbench", &document),
              (std::set<std::string>{"my_task_kernelbench.py", "report.json"}));
    const auto text = *readFile(m_folder / "my_task_kernelbench.py");
    EXPECT_LT(text.find("from __future__ import annotations"), text.find("import hashlib"));
    EXPECT_EQ(text.find("from __future__", text.find("class ModelNew")), std::string::npos);
    EXPECT_NE(text.find("quote \\\"\\\"\\\" and \\\\n"), std::string::npos);
    EXPECT_NE(text.find("include/lathe/kernel.h"), std::string::npos);
    EXPECT_NE(text.find("_EmbeddedModules"), std::string::npos);
    EXPECT_EQ(nlohmann::json::parse(*readFile(m_folder / "report.json"))["schema"], "lathe.eval/1");
}

TEST_F(ExporterTest, AModelWithoutKernelsNeedsNoCompiler)
{
    m_candidate.files = {{"model_new.py", "class ModelNew: pass\n"}};
    names("kernelbench");
    EXPECT_EQ(readFile(m_folder / "my_task_kernelbench.py")->find("subprocess"), std::string::npos);
    EXPECT_FALSE(exportCandidate(m_task, m_candidate, nullptr, "cpp", m_folder));
}

TEST_F(ExporterTest, CppHoldsEverythingToBuildAndCompare)
{
    EXPECT_EQ(names("cpp"),
              (std::set<std::string>{"CMakeLists.txt",
                                     "README.md",
                                     "include/dlpack/dlpack.h",
                                     "include/lathe/kernel.h",
                                     "include/tvm/ffi/c_api.h",
                                     "kernels/k.cpp",
                                     "python/helper.py",
                                     "python/lathe_native.py",
                                     "python/model_new.py",
                                     "src/lathe_runtime.cpp",
                                     "test/reference.py",
                                     "test/test_against_reference.py"}));
    const auto cmake = *readFile(m_folder / "CMakeLists.txt");
    EXPECT_NE(cmake.find("add_library(my_task SHARED kernels/k.cpp src/lathe_runtime.cpp)"),
              std::string::npos);
    EXPECT_NE(cmake.find("-DX=1"), std::string::npos);
    EXPECT_EQ(cmake.find('@'), std::string::npos);
    EXPECT_EQ(readFile(m_folder / "README.md")->find('@'), std::string::npos);
}

TEST_F(ExporterTest, CudaKernelsGetTheCudaLanguage)
{
    m_candidate.files[0].path = "kernels/k.cu";
    names("cpp");
    EXPECT_NE(readFile(m_folder / "CMakeLists.txt")->find("LANGUAGES CXX CUDA"), std::string::npos);
    EXPECT_NE(readFile(m_folder / "test/test_against_reference.py")->find("device = \"cuda\""),
              std::string::npos);
}

TEST_F(ExporterTest, RefusesWhatItCannotHandOff)
{
    EXPECT_FALSE(exportCandidate(m_task, m_candidate, nullptr, "wheel", m_folder));
    m_candidate.files.push_back({"../x.py", "x"});
    EXPECT_FALSE(exportCandidate(m_task, m_candidate, nullptr, "kernelbench", m_folder));
    m_candidate.files = {{"kernels/k.cpp", ""}};
    EXPECT_FALSE(exportCandidate(m_task, m_candidate, nullptr, "kernelbench", m_folder));
}

} // namespace
} // namespace lathe::exporter
