// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
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
    /// What one thread copies where no cache helps (working sets up to 512 MiB): what the least
    /// parallel kernel waits for data that it does not find in a cache.
    double memoryBytesPerSecondOfOneThread();

private:
    double measured(std::uint64_t workingSetBytes, int threads);

    int m_threads;
    std::vector<int> m_affinity;
    std::map<std::pair<int, int>, double> m_known; ///< by exponent of two and threads
};

} // namespace lathe::worker
