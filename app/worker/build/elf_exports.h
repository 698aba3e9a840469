// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace lathe::worker {

/// The names of the defined dynamic symbols of a 64-bit ELF library that start with the prefix,
/// sorted. The bytes come from a compiler that worked on hostile sources: every offset is checked.
Result<std::vector<std::string>> elfExports(std::string_view bytes, std::string_view prefix);

} // namespace lathe::worker
