// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

namespace lathe::arm {

struct PythonModule
{
    const char* name;
    const char* source;
};

/// The arm's own Python modules, in the order they import each other; the last is runtime.py.
const std::vector<PythonModule>& runtimeModules();

} // namespace lathe::arm
