// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace lathe::worker {

/// A fast 128-bit digest to notice changed bytes. Keyed by a secret drawn once per process, so that
/// nobody outside can look for a change that leaves it as it is. Not for naming content (that is
/// SHA-256).
std::string digestHex(std::span<const std::byte> bytes);

} // namespace lathe::worker
