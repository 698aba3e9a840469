// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>
#include <lathe/task/task.h>

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace lathe::exporter {

/// Writes the hand-off of a candidate below folder (created) and returns the files written.
/// as "kernelbench": one .py with a class ModelNew that runs wherever torch and a compiler are:
/// sources, headers and a loader are inside it. as "cpp": kernels, headers, CMakeLists.txt, a
/// loader package and a test against the reference. Beside both lies report.json, the evaluation's
/// document, when one is given (null: none). Pure work, any thread.
Result<std::vector<std::filesystem::path>> exportCandidate(const task::Task& task,
                                                           const protocol::CandidateSpec& candidate,
                                                           const nlohmann::ordered_json* document,
                                                           const std::string& as,
                                                           const std::filesystem::path& folder);

} // namespace lathe::exporter
