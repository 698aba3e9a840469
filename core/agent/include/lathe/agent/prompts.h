// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/types.h>
#include <lathe/task/task.h>

#include <filesystem>
#include <string>

namespace lathe::agent {

/// The texts a run begins with, read from resources/prompts (users may edit them) and
/// resources/tools.
struct Prompts
{
    std::string system;    ///< base.md and the target's skill
    std::string task;      ///< the first user message
    std::string toolsJson; ///< tool schemas as the API wants them, byte-stable
    std::string hash;      ///< SHA-256 of all three files' contents
};

Result<Prompts> loadPrompts(const std::filesystem::path& promptFolder,
                            const task::Task& task,
                            const std::string& device,
                            const protocol::CandidateSpec& start);

} // namespace lathe::agent
