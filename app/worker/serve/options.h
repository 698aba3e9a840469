// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lathe::worker {

enum class Command { Serve, Doctor, Version, Help };

/// The command line of lathe-worker, with every path found.
struct WorkerOptions
{
    Command command = Command::Help;
    bool json = false; ///< doctor
    bool allowUnsandboxed = false;
    std::filesystem::path python; ///< empty: none found
    std::filesystem::path arm;    ///< where it should be; may not exist
    std::filesystem::path cache;
    std::vector<std::filesystem::path> includes; ///< lathe/kernel.h; tvm/ffi/c_api.h and dlpack
    std::filesystem::path nvcc;                  ///< empty: none found
    std::uint64_t memoryBytes = 0;               ///< of one sandbox; 0: by the machine
};

/// An unknown word or a missing value is an InvalidArgument error that names it.
Result<WorkerOptions> parseOptions(const std::vector<std::string>& words);

/// The usage text.
const char* usageText();

/// The environment's site-packages folder; empty when there is none.
std::filesystem::path sitePackages(const std::filesystem::path& python);

} // namespace lathe::worker
