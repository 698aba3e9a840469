// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/task/task.h>

#include <string>

namespace lathe::session {

/// A task as one JSON text, so that its evaluations stay readable when its folder is gone.
std::string taskToSnapshot(const task::Task& task);
Result<task::Task> taskFromSnapshot(const std::string& text);

} // namespace lathe::session
