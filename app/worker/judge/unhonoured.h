// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/protocol/types.h>

#include <string>
#include <vector>

namespace lathe::worker {

/// What a task declares and this judge does not act on, one sentence for each field: a result must
/// say so.
std::vector<std::string> unhonoured(const protocol::TaskSpec& task, const std::string& device);

/// Why a task cannot be judged by value at all; empty when it can.
std::string unjudgeable(const protocol::TaskSpec& task);

} // namespace lathe::worker
