// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/protocol/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace lathe::worker {

/// Errors, warnings and notes of g++, nvcc, ptxas and the linker, in order.
std::vector<protocol::Diagnostic> parseDiagnostics(std::string_view log);

/// What `ptxas -v` says of each kernel, names demangled.
std::vector<protocol::KernelInfo> parsePtxas(std::string_view log);

} // namespace lathe::worker
