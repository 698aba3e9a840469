// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/span_log.h"

#include <lathe/base/result.h>

#include <string>
#include <vector>

namespace lathe::arm {

/// Puts the module lathe_native into sys.modules: one callable per kernel that the library exports
/// (none when path is empty). Kernels are recorded in the log while it is active. The log must
/// outlive the process's Python. skipKernels: they return None at once and do nothing. Once per
/// process; needs the GIL. Returns the kernels' names; an error says why the library could not be
/// loaded.
Result<std::vector<std::string>>
installNativeModule(const std::string& libraryPath, SpanLog& log, bool skipKernels);

} // namespace lathe::arm
