// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "export_parts.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/exporter/exporter.h>

#include <nlohmann/json.hpp>

#include <algorithm>

namespace lathe::exporter {

std::string exportName(const task::Task& task)
{
    std::string name = task.spec.key.substr(task.spec.key.rfind('/') + 1);
    for (char& c : name) {
        const bool letter =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        c = letter ? c : '_';
    }
    return name.empty() || (name[0] >= '0' && name[0] <= '9') ? "task_" + name : name;
}

bool isKernelSource(const std::string& path)
{
    return path.starts_with("kernels/");
}

bool hasCuda(const protocol::CandidateSpec& candidate)
{
    return std::any_of(candidate.files.begin(), candidate.files.end(), [](const auto& file) {
        return file.path.ends_with(".cu");
    });
}

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    for (std::size_t at = text.find(from); at != std::string::npos;
         at = text.find(from, at + to.size())) {
        text.replace(at, from.size(), to);
    }
    return text;
}

Result<std::vector<std::filesystem::path>> exportCandidate(const task::Task& task,
                                                           const protocol::CandidateSpec& candidate,
                                                           const nlohmann::ordered_json* document,
                                                           const std::string& as,
                                                           const std::filesystem::path& folder)
{
    const auto has = [&](const auto& test) {
        return std::any_of(candidate.files.begin(), candidate.files.end(), test);
    };
    if (!has([](const auto& file) { return file.path == "model_new.py"; })) {
        return fail(ErrorCode::InvalidArgument,
                    "the candidate has no model_new.py, so there is nothing to hand off");
    }
    for (const auto& file : candidate.files) {
        if (!isSafeRelativePath(file.path)) {
            return fail(ErrorCode::InvalidArgument,
                        "\"" + file.path + "\" is not a path inside the candidate's folder");
        }
    }
    if (candidate.format == "cuda-agent") {
        return fail(ErrorCode::Unsupported,
                    "a CUDA-Agent workdir is built with pybind11 and cannot be exported yet; its "
                    "folder is the hand-off");
    }
    FileMap files;
    if (as == "kernelbench") {
        files[exportName(task) + "_kernelbench.py"] = kernelBenchFile(task, candidate);
    } else if (as == "cpp") {
        if (!has([](const auto& file) {
                return file.path.ends_with(".cpp") || file.path.ends_with(".cu");
            })) {
            return fail(ErrorCode::InvalidArgument,
                        "the candidate has no native kernels; export it as kernelbench");
        }
        files = cppPackage(task, candidate, document != nullptr);
    } else {
        return fail(ErrorCode::InvalidArgument,
                    "there is no export \"" + as + "\"; known: kernelbench, cpp");
    }
    if (document != nullptr) {
        files["report.json"] = dumpJson(*document, 2) + "\n";
    }
    std::vector<std::filesystem::path> written;
    for (const auto& [name, text] : files) {
        const auto path = folder / name;
        auto done = makeFolders(path.parent_path());
        done = done ? writeFileAtomic(path, text) : done;
        if (!done) {
            return tl::unexpected(done.error());
        }
        written.push_back(path);
    }
    return written;
}

} // namespace lathe::exporter
