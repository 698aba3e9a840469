// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// A task's task.json and, after a NUL, its reference. The files lie in memory; the reader is the
// one that the programs use.
#include "fuzz.h"

#include <lathe/base/files.h>
#include <lathe/base/text.h>
#include <lathe/task/task.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReference =
    "rows = 4\ndtype = 'float32'\nclass Model:\n    pass\n"
    "def get_inputs():\n    return []\ndef get_init_inputs():\n    return []\n";

/// A task's folder for as long as the program runs.
class Folder
{
public:
    Folder()
        : m_path(*lathe::makeTempFolder(fs::exists("/dev/shm") ? fs::path("/dev/shm")
                                                               : fs::temp_directory_path(),
                                        "lathe-fuzz-task-"))
    {}
    ~Folder()
    {
        std::error_code ignored;
        fs::remove_all(m_path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    const fs::path& path() const { return m_path; }
    void write(const char* name, std::string_view text) const
    {
        std::ofstream(m_path / name, std::ios::binary) << text;
    }

private:
    fs::path m_path;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const Folder folder;
    const std::string_view input = lathe::fuzz::textOf(data, size);
    const auto split = std::min(input.find('\0'), input.size());
    folder.write("task.json", input.substr(0, split));
    folder.write("reference.py", split < size ? input.substr(split + 1) : kReference);
    const auto task = lathe::task::loadTask(folder.path().string(), {});
    const auto findings = lathe::task::checkTask(folder.path().string(), {});
    bool bad = false;
    for (const auto& finding : findings) {
        bad = bad || finding.severity == "error";
        lathe::fuzz::require(!finding.message.empty(), "a finding says something");
        lathe::fuzz::require(finding.line >= 0, "a line is a line");
    }
    lathe::fuzz::require(task.has_value() || !task.error().message.empty(), "a refusal says why");
    lathe::fuzz::require(!(task.has_value() && bad), "what the check finds wrong is not loaded");
    if (task) {
        lathe::fuzz::require(!task->spec.variants.empty(), "a task has a variant");
        bool headline = false;
        for (const auto& variant : task->spec.variants) {
            headline = headline || variant.headline;
            for (const auto& constant : variant.constants) {
                lathe::fuzz::require(!constant.literal.empty(), "a constant has a value");
                lathe::fuzz::require(lathe::toValidUtf8(constant.literal) == constant.literal,
                                     "literals are UTF-8");
            }
        }
        lathe::fuzz::require(headline, "a task has a headline");
    }
    return 0;
}
