// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>
#include <lathe/worker/sandbox.h>

#include <cstdint>
#include <filesystem>
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

struct BuilderSettings
{
    std::filesystem::path
        cacheFolder; ///< content-hash cache, pruned to maxCacheBytes, least recently used first
    std::uint64_t maxCacheBytes = 2ull << 30;
    std::vector<std::filesystem::path> includeFolders; ///< lathe/kernel.h; tvm/ffi/c_api.h, dlpack
    std::filesystem::path cxx = "g++";
    std::filesystem::path nvcc;  ///< empty: CUDA candidates are refused with the reason
    std::string cudaArch = "90"; ///< compute capability of the target
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
    Result<BuildOutcome>
    build(const protocol::CandidateSpec& candidate, const std::string& device, int cancelFd);
    /// "g++ 12.2.0; nvcc 13.0", for TargetInfo.
    [[nodiscard]] std::string toolchain() const;

private:
    Result<BuildOutcome> compileAndPublish(const protocol::CandidateSpec& candidate,
                                           bool cuda,
                                           const std::string& key,
                                           int cancelFd);
    const Sandbox& m_sandbox;
    BuilderSettings m_settings;
    std::string m_toolchain;
    std::string m_environmentHash; ///< of headers, toolchain and processor
};

} // namespace lathe::worker
