// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <lathe/base/files.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <system_error>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;

std::string environmentOr(const char* name, std::string fallback)
{
    const char* value = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
    return value != nullptr && *value != '\0' ? std::string(value) : std::move(fallback);
}

bool executable(const fs::path& path)
{
    return ::access(path.c_str(), X_OK) == 0;
}

/// Beside the executable as installed (../share/lathe/include), else the source tree's.
fs::path kernelIncludes()
{
    const fs::path given = environmentOr("LATHE_INCLUDE", "");
    const fs::path installed = executableFolder().parent_path() / "share/lathe/include";
    std::error_code error;
    for (const fs::path& folder : {given, installed, fs::path(LATHE_DEFAULT_INCLUDE)}) {
        if (!folder.empty() && fs::exists(folder / "lathe/kernel.h", error)) {
            return folder;
        }
    }
    return {};
}

fs::path findNvcc()
{
    const fs::path given = environmentOr("CUDACXX", "");
    for (const fs::path& path :
         {given, fs::path("/usr/local/cuda/bin/nvcc"), fs::path("/usr/bin/nvcc")}) {
        if (!path.empty() && executable(path)) {
            return path;
        }
    }
    return {};
}

void findPaths(WorkerOptions& options)
{
    if (options.python.empty()) {
        options.python = environmentOr("LATHE_PYTHON", LATHE_DEFAULT_PYTHON);
    }
    if (options.arm.empty()) {
        options.arm = environmentOr("LATHE_ARM", (executableFolder() / "lathe-arm").string());
    }
    if (options.cache.empty()) {
        options.cache = cacheFolder();
    }
    std::error_code error;
    options.arm = fs::absolute(options.arm, error);
    options.cache = fs::absolute(options.cache, error);
    if (!options.python.empty()) {
        options.python =
            fs::absolute(options.python, error); // not canonical: that would leave the environment
    }
    const fs::path tvm = sitePackages(options.python) / "tvm_ffi/include";
    for (const fs::path& folder : {kernelIncludes(), tvm}) {
        if (!folder.empty() && fs::is_directory(folder, error)) {
            options.includes.push_back(folder);
        }
    }
    options.nvcc = findNvcc();
}

/// 0: not a number, or too little for anything to start.
std::uint64_t parseMebibytes(const std::string& word)
{
    constexpr std::uint64_t kLeast = 256;
    constexpr std::uint64_t kMost = 1u << 24;
    std::uint64_t value = 0;
    const auto end = word.data() + word.size();
    const auto parsed = std::from_chars(word.data(), end, value);
    return parsed.ec == std::errc() && parsed.ptr == end && value >= kLeast && value <= kMost
               ? value
               : 0;
}

} // namespace

const char* usageText()
{
    return "lathe-worker serve [--python PATH] [--arm PATH] [--cache DIR] [--memory MIB]\n"
           "                   [--allow-unsandboxed]\n"
           "    speaks the worker protocol on stdin and stdout\n"
           "lathe-worker doctor [--json] [the same options]\n"
           "    says what this machine can do and what is missing\n"
           "lathe-worker --version\n";
}

fs::path sitePackages(const fs::path& python)
{
    std::error_code error;
    const fs::path library = python.parent_path().parent_path() / "lib";
    for (const auto& entry : fs::directory_iterator(library, error)) {
        const fs::path folder = entry.path() / "site-packages";
        if (entry.path().filename().string().starts_with("python3")
            && fs::is_directory(folder, error)) {
            return folder;
        }
    }
    return {};
}

Result<WorkerOptions> parseOptions(const std::vector<std::string>& words)
{
    WorkerOptions options;
    if (words.empty() || words[0] == "--help" || words[0] == "-h") {
        return options;
    }
    if (words[0] == "--version") {
        options.command = Command::Version;
        return options;
    }
    if (words[0] != "serve" && words[0] != "doctor") {
        return fail(ErrorCode::InvalidArgument, "unknown command " + words[0]);
    }
    options.command = words[0] == "serve" ? Command::Serve : Command::Doctor;
    const std::array<std::pair<std::string, fs::path*>, 3> paths = {
        {{"--python", &options.python}, {"--arm", &options.arm}, {"--cache", &options.cache}}};
    for (std::size_t i = 1; i < words.size(); ++i) {
        bool known = words[i] == "--json" && options.command == Command::Doctor;
        options.json = options.json || known;
        if (words[i] == "--allow-unsandboxed" || words[i] == "--unsandboxed") {
            options.allowUnsandboxed = known = true;
        }
        if (words[i] == "--memory") {
            const auto mebibytes = i + 1 < words.size() ? parseMebibytes(words[i + 1]) : 0;
            if (mebibytes == 0) {
                return fail(ErrorCode::InvalidArgument,
                            "--memory needs a number of MiB, 256 or more");
            }
            options.memoryBytes = mebibytes << 20;
            ++i;
            continue;
        }
        for (const auto& [name, target] : paths) {
            if (words[i] == name) {
                if (i + 1 == words.size()) {
                    return fail(ErrorCode::InvalidArgument, name + " needs a value");
                }
                *target = words[++i];
                known = true;
                break;
            }
        }
        if (!known) {
            return fail(ErrorCode::InvalidArgument, "unknown option " + words[i]);
        }
    }
    findPaths(options);
    return options;
}

} // namespace lathe::worker
