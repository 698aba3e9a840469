// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace lathe::worker {

/// Control groups for sandboxes, version 1 or 2, under the first folder of ours that is writable. A
/// group is removed once its processes are gone: by sweep(), which every make() and the destructor
/// call.
class CgroupPool
{
public:
    CgroupPool();
    /// A pool that limits nothing: for machines whose groups can be made but not entered.
    static std::shared_ptr<CgroupPool> none();
    ~CgroupPool();
    CgroupPool(const CgroupPool&) = delete;
    CgroupPool& operator=(const CgroupPool&) = delete;

    [[nodiscard]] bool limitsMemory() const { return m_memory.version != 0; }
    [[nodiscard]] bool limitsProcesses() const { return m_pids.version != 0; }
    /// "cgroup v1 at /sys/fs/cgroup/memory", or why there is none.
    [[nodiscard]] std::string describe() const;
    /// The open cgroup.procs files of a fresh group; the pool stays locked while it lives, because
    /// an empty group that nobody has entered yet would be swept.
    struct Lease
    {
        std::unique_lock<std::mutex> lock;
        std::vector<UniqueFd> procs;
    };
    /// A fresh group with these limits; without files where nothing is writable.
    Result<Lease> make(std::uint64_t memoryBytes, int maxProcesses);
    void sweep();

private:
    struct Nothing
    {};
    explicit CgroupPool(Nothing) {}
    struct Controller
    {
        int version = 0; ///< 0: not available
        std::filesystem::path base;
    };
    static Controller find(const std::string& name);
    Result<std::vector<UniqueFd>> makeLocked(std::uint64_t memoryBytes, int maxProcesses);
    void sweepLocked();
    static void removeStale(const std::filesystem::path& base);
    Result<UniqueFd> makeIn(const std::filesystem::path& folder);

    std::mutex m_mutex;
    Controller m_memory;
    Controller m_pids;
    std::vector<std::filesystem::path> m_live;
    unsigned m_next = 0;
};

} // namespace lathe::worker
