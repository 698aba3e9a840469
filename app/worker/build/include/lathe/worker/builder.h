// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>
#include <lathe/worker/sandbox.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathe::worker {

/// What a build made: the folder that the candidate's arm mounts at /candidate. It holds the
/// candidate's .py files and kernels.so (all exported __tvm_ffi_* symbols), read-only.
struct BuildOutcome
{
    protocol::BuildReport report;
    std::filesystem::path folder; ///< valid when report.status is "ok"; owned by the cache
};

/// A Python extension in C++ that has to be compiled for a candidate.
struct Extension
{
    std::string name;
    std::string key; ///< hash of what was asked for: where the arm looks for the library
    std::vector<protocol::CandidateFile> files;
    std::vector<std::string> units; ///< those of files that are compiled
    std::vector<std::string> flags;
    std::vector<std::string> link;
    bool impliedHeader = false; ///< the sources expect torch/extension.h without including it
};

/// What a first import of a candidate showed: its extensions, or why it failed.
struct AskedExtensions
{
    std::vector<Extension> extensions;
    std::string failure; ///< not empty: the import failed
    std::string file;
    int line = 0;
};

/// Imports the candidate in the folder, in a sandbox, to learn which extensions it asks for.
using DiscoverExtensions =
    std::function<Result<AskedExtensions>(const std::filesystem::path& folder, int cancelFd)>;

/// Reads what the arm said that a candidate asks for; everything in it is untrusted.
Result<std::vector<Extension>> readExtensions(const std::string& json);

struct TorchPaths;

struct BuilderSettings
{
    std::filesystem::path
        cacheFolder; ///< content-hash cache, pruned to maxCacheBytes, least recently used first
    std::uint64_t maxCacheBytes = 2ull << 30;
    std::vector<std::filesystem::path> includeFolders; ///< lathe/kernel.h; tvm/ffi/c_api.h, dlpack
    std::filesystem::path cxx = "g++";
    std::filesystem::path python; ///< whose PyTorch extensions are built against
    std::filesystem::path nvcc;   ///< empty: CUDA candidates are refused with the reason
    std::string cudaArch = "90";  ///< compute capability of the target
    double timeoutSeconds = 120;
};

/// Compiles candidates inside the sandbox. Cache key: sources, headers of includeFolders, flags,
/// toolchain version, processor. Failures are never cached. Used from the evaluation thread.
class Builder
{
public:
    Builder(const Sandbox& sandbox, BuilderSettings settings);
    /// A compile failure is a value (status "failed" with diagnostics); an error means the machine
    /// could not build.
    /// discover: for candidates that call load_inline or load; without it these stay unbuilt.
    Result<BuildOutcome> build(const protocol::CandidateSpec& candidate,
                               const std::string& device,
                               int cancelFd,
                               const DiscoverExtensions& discover = {});
    /// "g++ 12.2.0; nvcc 13.0", for TargetInfo.
    [[nodiscard]] std::string toolchain() const;

private:
    Result<BuildOutcome> compileAndPublish(const protocol::CandidateSpec& candidate,
                                           bool cuda,
                                           const std::string& key,
                                           int cancelFd,
                                           const DiscoverExtensions& discover);
    Result<void> addExtension(const Extension& extension,
                              bool cuda,
                              const std::filesystem::path& work,
                              const std::filesystem::path& target,
                              protocol::BuildReport& report,
                              int cancelFd) const;
    const Sandbox& m_sandbox;
    BuilderSettings m_settings;
    std::string m_toolchain;
    std::shared_ptr<const TorchPaths> m_torch; ///< looked for when first needed
    std::string m_environmentHash;             ///< of headers, toolchain and processor
};

} // namespace lathe::worker
