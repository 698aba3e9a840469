// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/task/task.h>

#include <nlohmann/json.hpp>

namespace lathe::task {
namespace {

constexpr const char* kReference = R"(import torch
import torch.nn as nn

# Top-level constants are what the variants in task.json replace.
rows = 256
columns = 1024
dtype = "float32"


class Model(nn.Module):
    """What is to be made faster: its forward is the truth that candidates are compared with."""

    def __init__(self, columns: int):
        super().__init__()
        self.scale = nn.Parameter(torch.linspace(0.5, 1.5, columns, dtype=getattr(torch, dtype)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x * self.scale) + x


def get_inputs():
    return [torch.randn(rows, columns, dtype=getattr(torch, dtype))]


def get_init_inputs():
    return [columns]
)";

constexpr const char* kNotes = R"(
Write here, before measuring: what limits the reference (bytes, operations, launches), and which speed-up you expect.
)";

nlohmann::ordered_json templateConfig(const std::string& name)
{
    nlohmann::ordered_json config;
    config["title"] = name;
    config["variants"] = nlohmann::ordered_json::array();
    nlohmann::ordered_json headline;
    headline["name"] = "base";
    headline["headline"] = true;
    headline["constants"] = {{"rows", 256}, {"columns", 1024}};
    nlohmann::ordered_json large;
    large["name"] = "large";
    large["constants"] = {{"rows", 4096}, {"columns", 4096}};
    config["variants"].push_back(headline);
    config["variants"].push_back(large);
    return config;
}

} // namespace

Result<std::filesystem::path> createTask(const std::filesystem::path& folder,
                                         const std::string& name)
{
    std::error_code error;
    if (std::filesystem::exists(folder, error)) {
        return fail(ErrorCode::InvalidArgument,
                    folder.string() + " exists already; name a folder that does not");
    }
    if (auto made = makeFolders(folder); !made) {
        return tl::unexpected(made.error());
    }
    const std::string title = name.empty() ? folder.filename().string() : name;
    const std::pair<const char*, std::string> files[] = {
        {"reference.py", kReference},
        {"notes.md", "# " + title + "\n" + kNotes},
        {"task.json", dumpJson(templateConfig(title), 2) + "\n"},
    };
    for (const auto& [file, text] : files) {
        if (auto written = writeFileAtomic(folder / file, text); !written) {
            return tl::unexpected(written.error());
        }
    }
    return folder;
}

} // namespace lathe::task
