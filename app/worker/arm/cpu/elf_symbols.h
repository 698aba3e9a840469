// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <string>
#include <string_view>
#include <vector>

namespace lathe::arm {

/// The names after prefix of the functions that an ELF shared object (64-bit, little-endian)
/// exports, sorted. Reads nothing outside the given bytes; a Parse error says what is malformed.
Result<std::vector<std::string>> exportedFunctions(std::string_view elf, std::string_view prefix);

} // namespace lathe::arm
