// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace lathe::worker {

/// The measured ceiling of memory traffic: bytes a second, read and written, of the fastest copy of
/// a working set of that size with the given threads on the given cores. Measured once per power of
/// two and kept. A working set that fits a cache has the cache's ceiling, so no honest kernel is
/// faster than its limit.
class CopyBandwidth
{
public:
    CopyBandwidth(int threads, std::vector<int> affinity);
    /// About 0.1 s the first time for a size. Call it while nothing else runs.
    double bytesPerSecond(std::uint64_t workingSetBytes);

private:
    int m_threads;
    std::vector<int> m_affinity;
    std::map<int, double> m_known; ///< by exponent of two
};

} // namespace lathe::worker
