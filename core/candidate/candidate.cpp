// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/files.h>
#include <lathe/base/sha256.h>
#include <lathe/base/text.h>
#include <lathe/candidate/candidate.h>

#include <algorithm>
#include <set>

namespace lathe::candidate {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxTotalBytes = 4u << 20;
constexpr std::size_t kMaxFiles = 256;

Result<std::string> readText(const fs::path& file)
{
    std::error_code error;
    const auto status = fs::symlink_status(file, error);
    if (fs::is_symlink(status)) {
        return fail(ErrorCode::InvalidArgument,
                    file.string() + " is a symbolic link; a solution must hold its own files");
    }
    if (!fs::is_regular_file(status)) {
        return fail(ErrorCode::InvalidArgument, file.string() + " is not a regular file");
    }
    auto text = readFile(file, kMaxTotalBytes);
    if (!text) {
        return text;
    }
    if (text->find('\0') != std::string::npos || toValidUtf8(*text) != *text) {
        return fail(ErrorCode::InvalidArgument,
                    file.string() + " is not UTF-8 text; a solution holds sources only");
    }
    return text;
}

/// What tools leave behind and nobody means as source.
bool isIgnored(const fs::path& path)
{
    const std::string name = path.filename().string();
    return name == "__pycache__" || name.starts_with(".") || path.extension() == ".pyc";
}

Result<void> collect(const fs::path& root,
                     const fs::path& folder,
                     protocol::CandidateSpec& spec,
                     std::uint64_t& bytes)
{
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
        const fs::path path = it->path();
        if (isIgnored(path)) {
            continue;
        }
        if (it->is_directory(error) && !it->is_symlink(error)) {
            if (auto done = collect(root, path, spec, bytes); !done) {
                return done;
            }
            continue;
        }
        auto text = readText(path);
        if (!text) {
            return tl::unexpected(text.error());
        }
        bytes += text->size();
        if (bytes > kMaxTotalBytes || spec.files.size() >= kMaxFiles) {
            return fail(ErrorCode::InvalidArgument,
                        root.string()
                            + " holds more than 4 MiB of text or 256 files; that is no solution");
        }
        spec.files.push_back({path.lexically_relative(root).generic_string(), std::move(*text)});
    }
    if (error) {
        return fail(ErrorCode::Io, "cannot list " + folder.string() + ": " + error.message());
    }
    return {};
}

/// CUDA Agent's workdir: kernels with bindings that register themselves.
bool isWorkdir(const protocol::CandidateSpec& spec)
{
    return std::any_of(spec.files.begin(), spec.files.end(), [](const auto& file) {
        return file.path.starts_with("kernels/")
               && (file.path.ends_with("_binding.cpp")
                   || file.text.find("binding_registry.h") != std::string::npos);
    });
}

Result<protocol::CandidateSpec> loadFolder(const fs::path& path)
{
    protocol::CandidateSpec spec;
    std::uint64_t bytes = 0;
    if (auto done = collect(path, path, spec, bytes); !done) {
        return tl::unexpected(done.error());
    }
    std::sort(spec.files.begin(), spec.files.end(), [](const auto& a, const auto& b) {
        return a.path < b.path;
    });
    const auto isModel = [](const auto& file) { return file.path == "model_new.py"; };
    if (std::none_of(spec.files.begin(), spec.files.end(), isModel)) {
        return fail(ErrorCode::InvalidArgument,
                    path.string()
                        + " has no model_new.py; a native solution is model_new.py and "
                          "kernels/*.cpp or *.cu");
    }
    if (isWorkdir(spec)) {
        // Their own scripts, the task and the shared binding files stay where they are.
        std::erase_if(spec.files, [](const auto& file) {
            return file.path != "model_new.py" && !file.path.starts_with("kernels/");
        });
        spec.format = "cuda-agent";
        return spec;
    }
    const bool hasKernels = std::any_of(spec.files.begin(), spec.files.end(), [](const auto& file) {
        return file.path.starts_with("kernels/");
    });
    spec.format = hasKernels ? "native" : "modelnew";
    return spec;
}

Result<protocol::CandidateSpec> loadSingle(const fs::path& path)
{
    auto text = readText(path);
    if (!text) {
        return tl::unexpected(text.error());
    }
    if (path.extension() != ".py" || text->find("class ModelNew") == std::string::npos) {
        return fail(ErrorCode::InvalidArgument,
                    path.string() + " is not a .py file with a class ModelNew");
    }
    protocol::CandidateSpec spec;
    spec.format = "modelnew";
    spec.files.push_back({"model_new.py", std::move(*text)});
    return spec;
}

} // namespace

Result<protocol::CandidateSpec> loadSolution(const fs::path& given, const std::string& format)
{
    static const std::set<std::string> kFormats = {"", "native", "modelnew", "cuda-agent"};
    if (!kFormats.contains(format)) {
        return fail(ErrorCode::InvalidArgument,
                    "there is no solution format \"" + format
                        + "\"; known: native, modelnew, cuda-agent");
    }
    const fs::path path = given.filename().empty() ? given.parent_path() : given;
    std::error_code error;
    const auto status = fs::symlink_status(path, error);
    if (!fs::exists(status)) {
        return fail(ErrorCode::NotFound, "there is no solution at " + path.string());
    }
    if (fs::is_symlink(status)) {
        return fail(ErrorCode::InvalidArgument,
                    path.string() + " is a symbolic link; name the folder or file itself");
    }
    auto spec = fs::is_directory(status) ? loadFolder(path) : loadSingle(path);
    if (spec && !format.empty()) {
        spec->format = format;
    }
    return spec;
}

std::string contentHash(const protocol::CandidateSpec& candidate)
{
    Sha256 hash;
    const auto add = [&hash](std::string_view part) { // lengths keep "ab"+"c" and "a"+"bc" apart
        hash.update(std::to_string(part.size()) + ":");
        hash.update(part);
    };
    add("lathe.candidate/1");
    add(candidate.format);
    add(std::to_string(candidate.flags.size()));
    for (const auto& flag : candidate.flags) {
        add(flag);
    }
    std::vector<const protocol::CandidateFile*> files;
    for (const auto& file : candidate.files) {
        files.push_back(&file);
    }
    std::sort(
        files.begin(), files.end(), [](const auto* a, const auto* b) { return a->path < b->path; });
    for (const auto* file : files) {
        add(file->path);
        add(file->text);
    }
    return hash.finishHex();
}

Result<void> writeFiles(const protocol::CandidateSpec& candidate, const fs::path& folder)
{
    for (const auto& file : candidate.files) {
        if (!isSafeRelativePath(file.path)) {
            return fail(ErrorCode::InvalidArgument,
                        "\"" + file.path + "\" is not a path inside the candidate's folder");
        }
    }
    if (auto made = makeFolders(folder); !made) {
        return made;
    }
    for (const auto& file : candidate.files) {
        const fs::path target = folder / file.path;
        if (auto made = makeFolders(target.parent_path()); !made) {
            return made;
        }
        if (auto written = writeFileAtomic(target, file.text); !written) {
            return written;
        }
    }
    return {};
}

} // namespace lathe::candidate
