// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cgroup.h"

#include <lathe/base/files.h>
#include <lathe/base/text.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "lathe-";

bool writeControl(const fs::path& file, const std::string& value)
{
    const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    return fd.valid()
           && ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

bool contains(const std::string& list, const std::string& word)
{
    std::stringstream stream(list);
    for (std::string item; std::getline(stream, item, ',');) {
        if (item == word) {
            return true;
        }
    }
    return false;
}

/// Where a hierarchy is mounted: of version 1 the one with this controller, of version 2 the only
/// one.
fs::path mountPoint(int version, const std::string& controller)
{
    const auto text = readFile("/proc/self/mountinfo").value_or("");
    for (const std::string& line : splitLines(text)) {
        const auto dash = line.find(" - ");
        if (dash == std::string::npos) {
            continue;
        }
        std::istringstream before(line.substr(0, dash));
        std::istringstream after(line.substr(dash + 3));
        std::string skip;
        std::string root;
        std::string point;
        std::string type;
        std::string options;
        before >> skip >> skip >> skip >> root >> point;
        after >> type >> skip >> options;
        if ((version == 2 && type == "cgroup2")
            || (version == 1 && type == "cgroup" && contains(options, controller))) {
            return point;
        }
    }
    return {};
}

/// This process's group as /proc tells it ("/user.slice/..."), empty when the hierarchy is not in
/// use.
std::string ownGroup(int version, const std::string& controller)
{
    const auto text = readFile("/proc/self/cgroup").value_or("");
    for (const std::string& line : splitLines(text)) {
        const auto first = line.find(':');
        const auto second = line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (version == 2 ? controllers.empty() : contains(controllers, controller)) {
            return line.substr(second + 1);
        }
    }
    return {};
}

std::string limitFile(int version, const std::string& controller)
{
    if (controller == "pids") {
        return "pids.max";
    }
    return version == 2 ? "memory.max" : "memory.limit_in_bytes";
}

/// Our own group and its ancestors up to the mount, nearest first.
std::vector<fs::path> candidateBases(const fs::path& mount, const std::string& own)
{
    std::vector<fs::path> bases;
    fs::path relative = fs::path(own).relative_path();
    std::error_code ignored;
    while (!relative.empty()) {
        if (fs::exists(mount / relative, ignored)) {
            bases.push_back(mount / relative);
        }
        relative = relative.parent_path();
    }
    bases.push_back(mount);
    return bases;
}

} // namespace

CgroupPool::CgroupPool()
    : m_memory(find("memory"))
    , m_pids(find("pids"))
{
    for (const Controller& controller : {m_memory, m_pids}) {
        if (controller.version != 0) {
            removeStale(controller.base);
        }
    }
}

std::shared_ptr<CgroupPool> CgroupPool::none()
{
    return std::shared_ptr<CgroupPool>(new CgroupPool(Nothing{}));
}

CgroupPool::~CgroupPool()
{
    // The last children were killed a moment ago: their groups empty within milliseconds.
    for (int round = 0; round < 300 && !m_live.empty(); ++round) {
        sweep();
        if (!m_live.empty()) {
            ::usleep(10'000);
        }
    }
}

CgroupPool::Controller CgroupPool::find(const std::string& name)
{
    for (const int version : {2, 1}) {
        const fs::path mount = mountPoint(version, name);
        if (mount.empty()) {
            continue;
        }
        for (const fs::path& base : candidateBases(mount, ownGroup(version, name))) {
            const fs::path probe =
                base / (std::string(kPrefix) + std::to_string(::getpid()) + "-0");
            if (::mkdir(probe.c_str(), 0755) != 0) {
                continue;
            }
            if (version == 2 && ::access((probe / limitFile(version, name)).c_str(), W_OK) != 0) {
                writeControl(base / "cgroup.subtree_control", "+" + name);
            }
            const bool usable = ::access((probe / limitFile(version, name)).c_str(), W_OK) == 0;
            ::rmdir(probe.c_str());
            if (usable) {
                return {version, base};
            }
        }
    }
    return {};
}

void CgroupPool::removeStale(const fs::path& base)
{
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(base, ignored)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with(kPrefix)) {
            continue;
        }
        int pid = 0;
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), pid);
        if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) {
            ::rmdir(entry.path().c_str());
        }
    }
}

std::string CgroupPool::describe() const
{
    if (!limitsMemory()) {
        return "no writable memory control group";
    }
    return "cgroup v" + std::to_string(m_memory.version) + " at " + m_memory.base.string();
}

Result<UniqueFd> CgroupPool::makeIn(const fs::path& folder)
{
    if (::mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
        return fail(ErrorCode::Io,
                    "Cannot make the control group " + folder.string(),
                    std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    if (std::find(m_live.begin(), m_live.end(), folder) == m_live.end()) {
        m_live.push_back(folder);
    }
    UniqueFd procs(::open((folder / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!procs.valid()) {
        return fail(ErrorCode::Io,
                    "Cannot enter the control group " + folder.string(),
                    std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    return procs;
}

Result<CgroupPool::Lease> CgroupPool::make(std::uint64_t memoryBytes, int maxProcesses)
{
    Lease lease;
    lease.lock = std::unique_lock(m_mutex);
    auto procs = makeLocked(memoryBytes, maxProcesses);
    if (!procs) {
        return tl::unexpected(procs.error());
    }
    lease.procs = std::move(*procs);
    return lease;
}

Result<std::vector<UniqueFd>> CgroupPool::makeLocked(std::uint64_t memoryBytes, int maxProcesses)
{
    sweepLocked();
    const std::string name =
        std::string(kPrefix) + std::to_string(::getpid()) + "-" + std::to_string(++m_next);
    std::vector<UniqueFd> fds;
    if (limitsMemory()) {
        const fs::path folder = m_memory.base / name;
        auto procs = makeIn(folder);
        if (!procs) {
            return tl::unexpected(procs.error());
        }
        if (!writeControl(folder / limitFile(m_memory.version, "memory"),
                          std::to_string(memoryBytes))) {
            return fail(ErrorCode::Io, "Cannot limit the memory of " + folder.string());
        }
        // Absent where the kernel does not account swap; then there is no swap to hide in that
        // counts.
        writeControl(
            folder / (m_memory.version == 2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes"),
            m_memory.version == 2 ? "0" : std::to_string(memoryBytes));
        fds.push_back(std::move(*procs));
    }
    if (limitsProcesses()) {
        const fs::path folder = m_pids.base / name;
        auto procs = makeIn(folder);
        if (!procs) {
            return tl::unexpected(procs.error());
        }
        constexpr int kOwn = 8; // bubblewrap's two and the launcher's
        if (!writeControl(folder / "pids.max", std::to_string(maxProcesses + kOwn))) {
            return fail(ErrorCode::Io, "Cannot limit the processes of " + folder.string());
        }
        if (folder != m_memory.base / name) {
            fds.push_back(std::move(*procs));
        }
    }
    return fds;
}

void CgroupPool::sweep()
{
    const std::lock_guard lock(m_mutex);
    sweepLocked();
}

void CgroupPool::sweepLocked()
{
    std::erase_if(m_live, [](const fs::path& folder) {
        return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
    });
}

} // namespace lathe::worker
