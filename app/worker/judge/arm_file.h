// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cstdint>
#include <string>

namespace lathe::worker {

/// The first `announced` bytes of a regular file that an arm handed over, read with pread and not
/// mapped: the arm still holds it and could cut it off. `what` begins the error's sentence. Error:
/// Protocol, when it announced more than limitBytes or than there is.
Result<std::string>
readArmFile(int fd, std::int64_t announced, std::uint64_t limitBytes, const std::string& what);

} // namespace lathe::worker
