// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compile.h"

#include <lathe/base/result.h>
#include <lathe/worker/builder.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::worker {

/// Where the environment keeps what an extension of Python and PyTorch is built with.
struct TorchPaths
{
    std::filesystem::path package;       ///< .../site-packages/torch
    std::filesystem::path pythonInclude; ///< Python.h
    bool cxx11Abi = true;
    std::string key; ///< part of cache keys: versions
};
Result<TorchPaths> findTorch(const std::filesystem::path& python);

/// Compiles one extension against PyTorch's headers: light ones first, all of them when that fails.
/// work: an empty private folder; the library is left in work/out.
Result<CompileResult> compileExtension(const Sandbox& sandbox,
                                       const BuilderSettings& settings,
                                       const TorchPaths& torch,
                                       const Extension& extension,
                                       const std::filesystem::path& work,
                                       int cancelFd);

/// The sources of a CUDA-Agent workdir as one extension named cuda_extension, with our own
/// binding_registry.h and the module definition.
Extension workdirExtension(const protocol::CandidateSpec& candidate);

/// Why an extension cannot be built on this device; empty when it can.
std::string refuseExtension(const Extension& extension, bool cuda);

} // namespace lathe::worker
