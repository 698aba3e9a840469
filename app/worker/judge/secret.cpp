// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "secret.h"

#include <cstdint>
#include <cstdlib>
#include <sys/random.h>

namespace lathe::worker {

std::uint64_t secretSeed()
{
    std::uint64_t value = 0;
    // Eight bytes of an initialised pool come whole or not at all; without them no seed is secret.
    if (::getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
        std::abort();
    }
    return value >> 2;
}

} // namespace lathe::worker
