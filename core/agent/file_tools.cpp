// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "file_tools.h"

#include <lathe/base/json.h>
#include <lathe/base/text.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fmt/format.h>

namespace lathe::agent {
namespace {

using Json = nlohmann::json;
using Ordered = nlohmann::ordered_json;

ToolResult okResult(Ordered head, std::string text)
{
    ToolResult result;
    head["status"] = "ok";
    result.headJson = dumpJson(head);
    result.text = std::move(text);
    return result;
}

std::size_t occurrences(std::string_view text, std::string_view needle)
{
    std::size_t n = 0;
    for (auto at = text.find(needle); at != std::string_view::npos;
         at = text.find(needle, at + needle.size())) {
        ++n;
    }
    return n;
}

ToolResult readFileTool(const Workdir& workdir, const std::string& path, const Json& arguments)
{
    const auto text = workdir.read(path);
    if (!text) {
        return toolFailure(text.error().message);
    }
    const auto lines = splitLines(*text);
    const auto total = static_cast<std::int64_t>(lines.size());
    const std::int64_t from = std::clamp<std::int64_t>(
        intOr(arguments, "from_line", 1), 1, std::max<std::int64_t>(total, 1));
    const std::int64_t to =
        std::clamp<std::int64_t>(intOr(arguments, "to_line", total), from, std::max(total, from));
    std::string out;
    for (std::int64_t i = from; i <= std::min(to, total); ++i) {
        out += fmt::format("{:5} {}\n", i, lines[static_cast<std::size_t>(i - 1)]);
    }
    return okResult({{"path", path}, {"lines", total}, {"bytes", text->size()}}, std::move(out));
}

ToolResult editFileTool(Workdir& workdir, const std::string& path, const Json& arguments)
{
    const auto oldText = stringOr(arguments, "old_text");
    const auto newText = stringOr(arguments, "new_text");
    if (oldText.empty()) {
        return toolFailure("old_text is empty; use write_file to make a new file");
    }
    if (!isCandidatePath(path)) {
        return toolFailure(
            path + " may not be written: only model_new.py and sources directly in kernels/");
    }
    auto text = workdir.read(path);
    if (!text) {
        return toolFailure(text.error().message);
    }
    const auto found = occurrences(*text, oldText);
    const bool all = boolOr(arguments, "all", false);
    if (found == 0) {
        return toolFailure("old_text was not found in " + path
                           + "; read the file and copy the text exactly");
    }
    if (found > 1 && !all) {
        return toolFailure(fmt::format(
            "old_text occurs {} times in {}; give more of its surroundings, or all: true",
            found,
            path));
    }
    for (auto at = text->find(oldText); at != std::string::npos;
         at = text->find(oldText, at + newText.size())) {
        text->replace(at, oldText.size(), newText);
    }
    if (auto written = workdir.write(path, *text); !written) {
        return toolFailure(written.error().message);
    }
    return okResult({{"path", path}, {"replaced", found}}, {});
}

} // namespace

std::optional<ToolResult>
runFileTool(Workdir& workdir, const std::string& name, const Json& arguments)
{
    const auto path = stringOr(arguments, "path");
    if (name == "read_file") {
        return readFileTool(workdir, path, arguments);
    }
    if (name == "write_file") {
        if (!arguments.contains("content") || !arguments["content"].is_string()) {
            return toolFailure("write_file needs \"content\" as text");
        }
        const auto content = stringOr(arguments, "content");
        if (auto written = workdir.write(path, content); !written) {
            return toolFailure(written.error().message);
        }
        return okResult(
            {{"path", path}, {"bytes", content.size()}, {"lines", splitLines(content).size()}}, {});
    }
    if (name == "edit_file") {
        return editFileTool(workdir, path, arguments);
    }
    if (name == "list_files") {
        const auto paths = workdir.list();
        if (!paths) {
            return toolFailure(paths.error().message);
        }
        std::string text = "reference.py (read only)\n";
        for (const auto& p : *paths) {
            const auto content = workdir.read(p);
            text += fmt::format("{} ({} bytes)\n", p, content ? content->size() : 0);
        }
        return okResult({{"files", paths->size()}}, std::move(text));
    }
    return std::nullopt;
}

std::string callTitle(const std::string& name, const Json& arguments)
{
    std::string title = name;
    for (const char* key : {"path", "tier", "label"}) {
        if (const auto value = stringOr(arguments, key); !value.empty()) {
            title += " " + value;
        }
    }
    if (const auto command = stringOr(arguments, "command"); !command.empty()) {
        title += ": " + headAndTail(splitLines(command).front(), 100);
    }
    return title;
}

} // namespace lathe::agent
