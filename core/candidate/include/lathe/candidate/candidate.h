// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::candidate {

/// Reads a solution from disk, recognising its format: a folder with model_new.py (+ kernels/) is
/// "native", a single .py with ModelNew is "modelnew". Symbolic links, binary files and more than 4
/// MiB of text are refused.
Result<protocol::CandidateSpec> loadSolution(const std::filesystem::path& path,
                                             const std::string& format = {});

/// SHA-256 over format, flags and files (sorted by path): equal content, equal hash.
std::string contentHash(const protocol::CandidateSpec& candidate);

/// Writes the files below folder (created), for the agent's workdir, lathe watch and exports.
Result<void> writeFiles(const protocol::CandidateSpec& candidate,
                        const std::filesystem::path& folder);

/// The starting point for a task without a candidate: a native C++ (device "cpu") or CUDA ("cuda")
/// skeleton that is correct because it calls torch, ready to be edited.
protocol::CandidateSpec skeleton(const protocol::TaskSpec& task, const std::string& device);

} // namespace lathe::candidate
