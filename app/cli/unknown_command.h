// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lathe::cli {

/// What to tell somebody whose first word is no command; empty when it is one.
std::optional<std::string> unknownCommandHint(const std::vector<std::string>& commands,
                                              const std::vector<std::string>& arguments);

} // namespace lathe::cli
