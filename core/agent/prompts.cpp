// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/agent/prompts.h>
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/sha256.h>

#include <nlohmann/json.hpp>

namespace lathe::agent {
namespace {

std::string replaced(std::string text, std::string_view name, std::string_view value)
{
    const std::string mark = "{{" + std::string(name) + "}}";
    for (auto at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + value.size())) {
        text.replace(at, mark.size(), value);
    }
    return text;
}

std::string variantList(const protocol::TaskSpec& spec, const std::string& device)
{
    std::string out;
    for (const auto& variant : spec.variants) {
        if (variant.hidden || (variant.device != "any" && variant.device != device)) {
            continue;
        }
        out += "- " + variant.name + (variant.headline ? " (the quick tier measures this one)" : "")
               + ":";
        for (const auto& constant : variant.constants) {
            out += " " + constant.name + " = " + constant.literal;
        }
        out += "\n";
    }
    return out.empty() ? "- as written in reference.py\n" : out;
}

std::string fileList(const protocol::CandidateSpec& spec)
{
    std::string out;
    for (const auto& file : spec.files) {
        out += "#### " + file.path + "\n```\n" + file.text + (file.text.ends_with('\n') ? "" : "\n")
               + "```\n";
    }
    return out;
}

} // namespace

Result<Prompts> loadPrompts(const std::filesystem::path& promptFolder,
                            const task::Task& task,
                            const std::string& device,
                            const protocol::CandidateSpec& start)
{
    const auto base = readFile(promptFolder / "base.md", 1u << 20);
    const auto skill = readFile(promptFolder / (device == "cuda" ? "cuda.md" : "cpu.md"), 1u << 20);
    const auto question = readFile(promptFolder / "task.md", 1u << 20);
    const auto tools = readFile(promptFolder.parent_path() / "tools" / "tools.json", 1u << 20);
    for (const auto* file : {&base, &skill, &question, &tools}) {
        if (!*file) {
            return tl::unexpected(file->error());
        }
    }
    auto schemas = parseOrderedJson(*tools);
    if (!schemas || !schemas->is_array()) {
        return fail(ErrorCode::Parse, "resources/tools/tools.json is not a list of tool schemas");
    }
    Prompts prompts;
    prompts.system = *base + "\n" + *skill;
    prompts.task = replaced(*question, "key", task.spec.key);
    prompts.task = replaced(prompts.task, "title", task.title.empty() ? task.spec.key : task.title);
    prompts.task = replaced(prompts.task, "device", device);
    prompts.task = replaced(prompts.task, "variants", variantList(task.spec, device));
    prompts.task = replaced(prompts.task, "files", fileList(start));
    prompts.task = replaced(prompts.task, "reference", task.spec.source);
    prompts.toolsJson = dumpJson(*schemas);
    prompts.hash = sha256Hex(*base + *skill + *question + *tools);
    return prompts;
}

} // namespace lathe::agent
