// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "foreign.h"

#include "task_reader.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/text.h>
#include <lathe/process/spawn.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>

namespace lathe::task {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxRowsBytes = 512ull << 20;
constexpr std::size_t kMostShapes = 32;

/// Reads a table and prints one JSON object a row, so that the rest is as for JSONL.
constexpr const char* kParquetToJson = R"(import json, sys
try:
    import pyarrow.parquet as parquet
except ImportError:
    sys.exit(3)
for row in parquet.read_table(sys.argv[1]).to_pylist():
    print(json.dumps(row, default=str))
)";

std::string folderName(std::string text)
{
    for (char& c : text) {
        const bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
        c = plain ? c : '_';
    }
    text.resize(std::min<std::size_t>(text.size(), 80));
    return text.empty() ? "task" : text;
}

std::string configText(const Json& config)
{
    return dumpJson(config, 2) + "\n";
}

/// The objects of a list member; one empty object when the member is absent or empty.
std::vector<Json> configs(const Json& config, const char* key)
{
    std::vector<Json> out;
    if (const auto it = config.find(key); it != config.end() && it->is_array()) {
        for (const Json& entry : *it) {
            if (entry.is_object()) {
                out.push_back(entry);
            }
        }
    }
    if (out.empty()) {
        out.push_back(Json::object());
    }
    return out;
}

Json merged(Json base, const Json& shared)
{
    for (const auto& [key, value] : shared.items()) {
        base[key] = value;
    }
    return base;
}

/// Every combination of initial, input and shared settings as a variant; the first single one is
/// the headline.
Json variantsOf(const Json& config)
{
    Json variants = Json::array();
    std::vector<Json> seen;
    for (const std::string prefix : {"single", "multi"}) {
        int number = 0;
        if (!config.contains(prefix + "_input_configs")
            && !config.contains(prefix + "_init_configs")) {
            continue;
        }
        const auto shared = configs(config, (prefix + "_shared_configs").c_str());
        for (const Json& init : configs(config, (prefix + "_init_configs").c_str())) {
            for (const Json& input : configs(config, (prefix + "_input_configs").c_str())) {
                for (const Json& both : shared) {
                    Json arguments = {{"get_inputs", merged(input, both)},
                                      {"Model", merged(init, both)}};
                    if (std::find(seen.begin(), seen.end(), arguments) != seen.end()
                        || variants.size() >= kMostShapes) {
                        continue;
                    }
                    seen.push_back(arguments);
                    Json variant;
                    variant["name"] = prefix + "-" + std::to_string(++number);
                    if (variants.empty()) {
                        variant["headline"] = true;
                    }
                    variant["arguments"] = std::move(arguments);
                    variants.push_back(std::move(variant));
                }
            }
        }
    }
    if (variants.empty()) {
        variants.push_back({{"name", "default"}, {"headline", true}});
    }
    return variants;
}

Result<ForeignTask> robustTask(const fs::path& folder, bool backward)
{
    const std::string direction = backward ? "backward" : "forward";
    const std::string configName = "config_" + direction + ".json";
    std::error_code error;
    const std::string sourceName = fs::exists(folder / "func_forward.py", error)
                                       ? "func_forward.py"
                                       : "func_" + direction + ".py";
    auto source = readFile(folder / sourceName, 4u << 20);
    auto text = readFile(folder / configName, 4u << 20);
    if (!source || !text) {
        return tl::unexpected(!source ? source.error() : text.error());
    }
    const auto config = parseOrderedJson(*text);
    if (!config || !config->is_object()) {
        return fail(ErrorCode::InvalidArgument,
                    (folder / configName).string() + ":1: is not a JSON object"
                        + (config ? std::string() : ": " + config.error().detail));
    }
    const std::string name = folder.filename().string();
    Json out;
    out["title"] = name + (backward ? " (backward)" : "");
    out["reference"] = sourceName;
    out["tags"] = {"robust-kbench"};
    if (backward) {
        out["backward"] = true;
    }
    out["variants"] = variantsOf(*config);
    ForeignTask task{folderName(name) + (backward ? "_backward" : ""),
                     *source,
                     configText(out),
                     "robust-kbench",
                     (folder / sourceName).string(),
                     {}};
    task.originals.emplace_back(sourceName, std::move(*source));
    task.originals.emplace_back(configName, std::move(*text));
    return task;
}

std::string textMember(const Json& row, std::initializer_list<const char*> keys)
{
    for (const char* key : keys) {
        if (const auto it = row.find(key); it != row.end() && it->is_string()) {
            return it->get<std::string>();
        }
    }
    return {};
}

/// ops is a list, or a list written as text.
std::vector<std::string> opsOf(const Json& row)
{
    const auto it = row.find("ops");
    if (it == row.end()) {
        return {};
    }
    Json list = *it;
    if (it->is_string()) {
        auto parsed = parseOrderedJson(it->get<std::string>());
        list = parsed && parsed->is_array() ? *parsed : Json::array({*it});
    }
    std::vector<std::string> out;
    if (list.is_array()) {
        for (const Json& op : list) {
            if (op.is_string()) {
                out.push_back(op.get<std::string>());
            }
        }
    }
    return out;
}

Result<ForeignTask> rowTask(const std::string& text, const fs::path& file, std::size_t line)
{
    const std::string origin = file.string() + ":" + std::to_string(line);
    const auto row = parseOrderedJson(text);
    if (!row || !row->is_object()) {
        return fail(ErrorCode::InvalidArgument,
                    origin + ": the line is not a JSON object"
                        + (row ? std::string() : ": " + row.error().detail));
    }
    ForeignTask task;
    task.source = textMember(*row, {"code", "pytorch_code", "task_code", "model_code"});
    if (trimmed(task.source).empty()) {
        return fail(ErrorCode::InvalidArgument,
                    origin + ": the row has no \"code\" with the reference module");
    }
    const auto ops = opsOf(*row);
    const std::string title =
        ops.empty() ? file.stem().string() + " " + std::to_string(line) : join(ops, " + ");
    Json config;
    config["title"] = title;
    config["tags"] = {"cuda-agent-ops"};
    if (const std::string source = textMember(*row, {"data_source"}); !source.empty()) {
        config["tags"].push_back(source);
    }
    task.name = folderName(file.stem().string() + "-" + std::to_string(line));
    task.config = configText(config);
    task.format = "cuda-agent-ops";
    task.origin = origin;
    task.originals.emplace_back("row.json", text + "\n");
    return task;
}

/// The file's lines, one row each.
Result<std::vector<std::string>> rowsOf(const fs::path& file)
{
    if (file.extension() != ".parquet") {
        auto text = readFile(file, kMaxRowsBytes);
        if (!text) {
            return tl::unexpected(text.error());
        }
        if (toValidUtf8(*text) != *text) {
            return fail(ErrorCode::InvalidArgument, file.string() + " is not UTF-8 text");
        }
        return splitLines(*text);
    }
    const char* named = std::getenv("LATHE_PYTHON"); // NOLINT(concurrency-mt-unsafe)
    const std::string python = named != nullptr && *named != '\0' ? named : LATHE_BUILD_PYTHON;
    if (python.empty()) {
        return fail(ErrorCode::Unsupported,
                    file.string()
                        + " is a Parquet file: name a Python environment with pyarrow in "
                          "LATHE_PYTHON, or convert it to JSONL");
    }
    process::SpawnOptions options;
    options.command = {python, "-I", "-c", kParquetToJson, fs::absolute(file).string()};
    const auto done = process::runCaptured(options, 120, kMaxRowsBytes);
    if (!done) {
        return tl::unexpected(done.error());
    }
    if (done->exitCode == 3) {
        return fail(ErrorCode::Unsupported,
                    file.string() + " is a Parquet file and " + python
                        + " has no pyarrow: install it there, name another environment in "
                          "LATHE_PYTHON, or convert the file to JSONL");
    }
    if (done->exitCode != 0 || done->truncated) {
        const auto lines = splitLines(trimmed(done->err));
        return fail(ErrorCode::InvalidArgument,
                    file.string() + " could not be read as Parquet: "
                        + (lines.empty() ? "no reason given" : toValidUtf8(lines.back())));
    }
    return splitLines(done->out);
}

} // namespace

bool isRobustKbenchFolder(const fs::path& folder)
{
    std::error_code error;
    return (fs::exists(folder / "func_forward.py", error)
            && fs::exists(folder / "config_forward.json", error))
           || (fs::exists(folder / "func_backward.py", error)
               && fs::exists(folder / "config_backward.json", error));
}

Result<std::vector<ForeignTask>> readRobustKbench(const fs::path& folder)
{
    std::vector<ForeignTask> tasks;
    std::error_code error;
    for (const bool backward : {false, true}) {
        const char* config = backward ? "config_backward.json" : "config_forward.json";
        if (!fs::exists(folder / config, error)) {
            continue;
        }
        auto task = robustTask(folder, backward);
        if (!task) {
            return tl::unexpected(task.error());
        }
        tasks.push_back(std::move(*task));
    }
    return tasks;
}

Result<ForeignTask> readRow(const fs::path& file, std::size_t line)
{
    const auto rows = rowsOf(file);
    if (!rows) {
        return tl::unexpected(rows.error());
    }
    if (line < 1 || line > rows->size()) {
        return fail(ErrorCode::NotFound,
                    file.string() + " has " + std::to_string(rows->size()) + " rows, not "
                        + std::to_string(line));
    }
    return rowTask((*rows)[line - 1], file, line);
}

Result<std::vector<ForeignTask>> readRows(const fs::path& file, std::vector<std::string>& problems)
{
    const auto rows = rowsOf(file);
    if (!rows) {
        return tl::unexpected(rows.error());
    }
    std::vector<ForeignTask> tasks;
    for (std::size_t i = 0; i < rows->size(); ++i) {
        if (trimmed((*rows)[i]).empty()) {
            continue;
        }
        auto task = rowTask((*rows)[i], file, i + 1);
        if (task) {
            tasks.push_back(std::move(*task));
        } else {
            problems.push_back(task.error().message);
        }
    }
    return tasks;
}

Result<ForeignTask> readKernelBench(const fs::path& file)
{
    auto source = readFile(file, 4u << 20);
    if (!source) {
        return tl::unexpected(source.error());
    }
    Json config;
    std::string title = file.stem().string();
    std::replace(title.begin(), title.end(), '_', ' ');
    config["title"] = title;
    config["tags"] = {"kernelbench"};
    ForeignTask task{folderName(file.stem().string()),
                     *source,
                     configText(config),
                     "kernelbench",
                     file.string(),
                     {}};
    task.originals.emplace_back(file.filename().string(), std::move(*source));
    return task;
}

} // namespace lathe::task
