// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/task/task.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

namespace lathe::task {
namespace {

namespace fs = std::filesystem;

constexpr const char* kReference = "rows = 4\n"
                                   "dtype = 'float32'\n"
                                   "class Model:\n    pass\n"
                                   "def get_inputs():\n    return []\n"
                                   "def get_init_inputs():\n    return []\n";

class TaskTest : public ::testing::Test
{
protected:
    void SetUp() override
    {
        m_root = *makeTempFolder(fs::temp_directory_path(), "lathe-task-");
        m_folder = m_root / "suite" / "scale";
        fs::create_directories(m_folder);
        write("reference.py", kReference);
    }
    void TearDown() override { fs::remove_all(m_root); }

    void write(const std::string& name, const std::string& text) const
    {
        std::ofstream(m_folder / name) << text;
    }

    /// The only error's text, "" when there is none.
    std::string errorOf(const std::string& config) const
    {
        write("task.json", config);
        const auto task = loadTask(m_folder.string(), {m_root});
        return task ? std::string() : task.error().message;
    }

    fs::path m_root;
    fs::path m_folder;
};

TEST_F(TaskTest, ConstantsBecomePythonLiterals)
{
    write(
        "task.json",
        R"({"title": "Scale", "variants": [{"name": "big", "headline": true, "device": "cpu", "constants":
        {"rows": 512, "dtype": "it's \\ \"x\"\n\u00e9"}}, {"name": "odd", "hidden": true,
        "constants": {"rows": [1, 2.5, true, null, [false]]}}]})");
    const auto task = loadTask("scale", {m_root});
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(task->spec.key, "suite/scale");
    EXPECT_EQ(task->suite, "suite");
    EXPECT_EQ(task->title, "Scale");
    ASSERT_EQ(task->spec.variants.size(), 2u);
    EXPECT_EQ(task->spec.variants[0].constants[0].literal, "512");
    EXPECT_EQ(task->spec.variants[0].constants[1].literal, "'it\\'s \\\\ \"x\"\\x0a\u00e9'");
    EXPECT_EQ(task->spec.variants[1].constants[0].literal, "[1, 2.5, True, None, [False]]");
}

TEST_F(TaskTest, WithoutConfigThereIsOneDefaultVariant)
{
    const auto task = loadTask(m_folder.string(), {});
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(task->spec.key, "local/scale");
    ASSERT_EQ(task->spec.variants.size(), 1u);
    EXPECT_EQ(task->spec.variants[0].name, "default");
    EXPECT_TRUE(task->spec.variants[0].headline);
    const auto bare = loadTask((m_folder / "reference.py").string(), {m_root});
    ASSERT_TRUE(bare);
    EXPECT_EQ(bare->spec.key, "local/reference");
    EXPECT_EQ(bare->spec.source, kReference);
}

TEST_F(TaskTest, EveryDeviceClassGetsAHeadline)
{
    write(
        "task.json",
        R"({"variants": [{"name": "h", "hidden": true, "device": "cuda"}, {"name": "a", "device": "cuda"},
        {"name": "b", "device": "cpu"}, {"name": "c", "device": "cpu", "headline": true}]})");
    const auto task = loadTask("suite/scale", {m_root});
    ASSERT_TRUE(task);
    std::vector<bool> headlines;
    for (const auto& variant : task->spec.variants) {
        headlines.push_back(variant.headline);
    }
    EXPECT_EQ(headlines, (std::vector<bool>{false, true, false, true}));
}

TEST_F(TaskTest, WrongTypesAreErrorsWithFileAndLine)
{
    const std::string file = (m_folder / "task.json").string();
    EXPECT_EQ(errorOf("{\n\"title\": 3}"), file + ":2: \"title\" must be a string");
    EXPECT_EQ(
        errorOf("{\n\n\"precision\": \"fp8\"}").rfind(file + ":3: \"precision\" is \"fp8\"", 0),
        0u);
    EXPECT_NE(errorOf(R"({"mutates": [-1]})").find("mutates"), std::string::npos);
    EXPECT_NE(errorOf(R"({"tolerance": {"relative": 0}})").find("above 0"), std::string::npos);
    EXPECT_NE(errorOf(R"({"variants": {}})").find("must be a list"), std::string::npos);
    EXPECT_NE(errorOf(R"({"variants": [{"name": "a"}, {"name": "a"}]})").find("two variants"),
              std::string::npos);
    EXPECT_NE(errorOf(R"({"variants": [{"name": "a", "hidden": true}]})")
                  .find("at least one must be visible"),
              std::string::npos);
    EXPECT_NE(errorOf(R"({"variants": [{"name": "a", "constants": {"columns": 1}}]})")
                  .find("no top-level constant"),
              std::string::npos);
    EXPECT_NE(errorOf(R"({"variants": [{"name": "a", "constants": {"rows": {}}}]})")
                  .find("constant rows"),
              std::string::npos);
    EXPECT_NE(errorOf(R"({"reference": "../x.py"})").find("inside the task's folder"),
              std::string::npos);
    EXPECT_NE(errorOf("{").find("not valid JSON"), std::string::npos);
    EXPECT_EQ(errorOf(R"({"importTimeoutSeconds": 5})"), "");
}

TEST_F(TaskTest, RulesForInputsAndOutputsAreRead)
{
    write("task.json",
          R"({"title": "t", "mode": "train", "backward": true, "tags": ["a"],
        "inputs": [{"index": 1, "domain": "labels", "below": "rows", "layout": "transposed"}, {"index": 0, "domain": "any"}],
        "outputs": [{"index": 1, "compare": "ties", "of": {"input": 0}, "axis": 1}, {"index": 0, "tolerance": {"relative": 0.5}}],
        "free": {"rows": {"min": 2, "max": 64, "multiple": 2}}})");
    const auto task = loadTask("scale", {m_root});
    ASSERT_TRUE(task) << task.error().message;
    const auto& spec = task->spec;
    ASSERT_EQ(spec.inputs.size(), 2u);
    EXPECT_EQ(spec.inputs[0].index, 1);
    EXPECT_EQ(spec.inputs[0].domain, "labels");
    EXPECT_EQ(spec.inputs[0].below, "rows");
    EXPECT_EQ(spec.inputs[0].layout, "transposed");
    ASSERT_EQ(spec.outputs.size(), 2u);
    EXPECT_EQ(spec.outputs[0].compare, "ties");
    EXPECT_EQ(spec.outputs[0].of, "input:0");
    EXPECT_EQ(spec.outputs[0].axis, 1);
    EXPECT_EQ(spec.outputs[1].tolerance.relative, 0.5);
    ASSERT_EQ(spec.free.size(), 1u);
    EXPECT_EQ(spec.free[0].max, 64);
    EXPECT_EQ(spec.free[0].multiple, 2);
    EXPECT_EQ(spec.buffers, "compare"); // what training mode means
    EXPECT_TRUE(spec.backward);
    EXPECT_EQ(task->tags, std::vector<std::string>{"a"});
}

TEST_F(TaskTest, AxesBecomeVariants)
{
    write(
        "task.json",
        R"({"title": "t", "variants": [{"name": "curve", "headline": true, "constants": {"dtype": "float16"},
        "axes": {"rows": [1, 64], "dtype": ["a", "b"]}}]})");
    const auto task = loadTask("scale", {m_root});
    ASSERT_TRUE(task) << task.error().message;
    std::vector<std::string> names;
    for (const auto& variant : task->spec.variants) {
        names.push_back(variant.name);
    }
    EXPECT_EQ(names,
              (std::vector<std::string>{"curve.rows-1.dtype-a",
                                        "curve.rows-1.dtype-b",
                                        "curve.rows-64.dtype-a",
                                        "curve.rows-64.dtype-b"}));
    const auto& last = task->spec.variants[3].constants;
    ASSERT_EQ(last.size(), 2u); // the axis takes the place of the constant
    EXPECT_EQ(last[0].name + "=" + last[0].literal, "rows=64");
    EXPECT_EQ(last[1].name + "=" + last[1].literal, "dtype='b'");
    EXPECT_TRUE(task->spec.variants[0].headline);
    EXPECT_FALSE(task->spec.variants[1].headline);
}

TEST_F(TaskTest, WrongRulesSayWhatToDo)
{
    const auto expectError = [&](const std::string& config, const std::string& words) {
        EXPECT_NE(errorOf(config).find(words), std::string::npos) << config << errorOf(config);
    };
    expectError(R"({"inputs": [{"domain": "any"}]})", "needs an \"index\"");
    expectError(R"({"inputs": [{"index": 0, "domain": "tall"}]})", "must be one of: given, any");
    expectError(R"({"inputs": [{"index": 0, "domain": "labels"}]})", "needs \"below\"");
    expectError(R"({"inputs": [{"index": 0, "domain": "labels", "below": 0}]})", "above 0");
    expectError(R"({"inputs": [{"index": 0, "domain": "labels", "below": "classes"}]})",
                "input 0 is declared below classes, but the reference has no top-level constant");
    expectError(R"({"inputs": [{"index": 0}, {"index": 0}]})", "names input 0 twice");
    expectError(R"({"outputs": [{"index": 0, "compare": "ties"}]})", "whose values the indices");
    expectError(R"({"outputs": [{"index": 0, "compare": "close"}]})", "values, ties, set, codes");
    expectError(R"({"free": {"rows": {"min": 3}}})", "free dimension rows must be");
    expectError(R"({"free": {"columns": {"max": 3}}})", "no top-level constant");
    expectError(R"({"variants": [{"name": "a", "axes": {"rows": []}}]})", "with a list of values");
    expectError(R"({"variants": []})", "at least one");
    expectError(R"({"buffers": "keep"})", "compare, ignore");
    expectError(R"({"backward": 1})", "true or false");
}

TEST_F(TaskTest, AnEmptyFileIsNoTask)
{
    for (const char* text : {"", " \n\n"}) {
        write("reference.py", text);
        const auto task = loadTask((m_folder / "reference.py").string(), {});
        ASSERT_FALSE(task);
        EXPECT_NE(task.error().message.find("reference.py:1: the file is empty"),
                  std::string::npos);
    }
}

TEST_F(TaskTest, AMissingTitleIsFound)
{
    write("task.json", "{}");
    write("notes.md", "fast");
    const auto findings = checkTask(m_folder.string(), {});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_EQ(findings[0].severity, "warning");
    EXPECT_NE(findings[0].message.find("no \"title\""), std::string::npos);
    write("task.json", R"({"title": "Scale"})");
    EXPECT_TRUE(checkTask(m_folder.string(), {}).empty());
}

TEST_F(TaskTest, UnknownMembersAreOnlyWarnings)
{
    EXPECT_EQ(errorOf("{\n\"colour\": 1}"), "");
    const auto findings = checkTask(m_folder.string(), {m_root});
    const auto it = std::find_if(
        findings.begin(), findings.end(), [](const Finding& f) { return f.line == 2; });
    ASSERT_NE(it, findings.end());
    EXPECT_EQ(it->severity, "warning");
    EXPECT_NE(it->message.find("colour"), std::string::npos);
}

TEST_F(TaskTest, CheckFindsEveryProblemOfTheReference)
{
    write("reference.py", "class Modell:\n    pass\n");
    int errors = 0;
    for (const auto& finding : checkTask(m_folder.string(), {})) {
        errors += finding.severity == "error" ? 1 : 0;
    }
    EXPECT_EQ(errors, 3); // Model, get_inputs, get_init_inputs
}

TEST_F(TaskTest, UnknownAndAmbiguousNames)
{
    EXPECT_EQ(loadTask("nothing", {m_root}).error().code, ErrorCode::NotFound);
    EXPECT_EQ(loadTask("", {m_root}).error().code, ErrorCode::InvalidArgument);
    fs::create_directories(m_root / "other");
    fs::copy(m_folder, m_root / "other" / "scale", fs::copy_options::recursive);
    const auto task = loadTask("scale", {m_root});
    ASSERT_FALSE(task);
    EXPECT_NE(task.error().message.find("other/scale, suite/scale"), std::string::npos);
}

TEST_F(TaskTest, TheHashFollowsSourceAndConfig)
{
    const auto first = loadTask(m_folder.string(), {})->hash;
    EXPECT_EQ(loadTask(m_folder.string(), {})->hash, first);
    write("task.json", "{}");
    EXPECT_NE(loadTask(m_folder.string(), {})->hash, first);
}

TEST_F(TaskTest, ANewTaskPassesItsOwnCheck)
{
    const auto made = createTask(m_root / "mine" / "fresh", "Fresh");
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(checkTask(made->string(), {}).empty());
    EXPECT_EQ(loadTask(made->string(), {})->title, "Fresh");
    EXPECT_FALSE(createTask(*made, "Fresh"));
}

TEST(ShippedTasks, AllReadWithoutAFinding)
{
    std::vector<Finding> problems;
    const auto tasks = listTasks({fs::path(LATHE_SOURCE_DIR) / "tasks"}, problems);
    EXPECT_TRUE(problems.empty());
    ASSERT_FALSE(tasks.empty());
    for (const auto& task : tasks) {
        EXPECT_TRUE(checkTask(task.folder.string(), {}).empty()) << task.spec.key;
        EXPECT_FALSE(task.solutions.empty()) << task.spec.key;
    }
}

} // namespace
} // namespace lathe::task
