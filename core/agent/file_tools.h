// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/agent/tool_result.h>
#include <lathe/agent/workdir.h>

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace lathe::agent {

/// read_file, write_file, edit_file and list_files; absent for any other name.
std::optional<ToolResult>
runFileTool(Workdir& workdir, const std::string& name, const nlohmann::json& arguments);

/// "edit_file kernels/a.cpp", "verify full": a call as people read it.
std::string callTitle(const std::string& name, const nlohmann::json& arguments);

} // namespace lathe::agent
