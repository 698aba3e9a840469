// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "process_tree.h"

#include <lathe/base/unique_fd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
#include <sstream>
#include <string>
#include <unistd.h>

namespace lathe::worker {
namespace {

std::string readSmall(const std::string& path)
{
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::array<char, 4096> buffer;
    const ssize_t bytes = fd.valid() ? ::read(fd.get(), buffer.data(), buffer.size()) : 0;
    return bytes > 0 ? std::string(buffer.data(), static_cast<std::size_t>(bytes)) : std::string();
}

std::string readWhole(const std::string& path)
{
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    std::array<char, 4096> buffer;
    for (ssize_t bytes = 0;
         fd.valid() && (bytes = ::read(fd.get(), buffer.data(), buffer.size())) > 0;) {
        text.append(buffer.data(), static_cast<std::size_t>(bytes));
    }
    return text;
}

std::optional<TreeProcess> readStat(pid_t pid)
{
    const std::string text = readSmall("/proc/" + std::to_string(pid) + "/stat");
    const auto nameEnd = text.rfind(')'); // the name may hold anything
    if (nameEnd == std::string::npos) {
        return std::nullopt;
    }
    // Fields 3.. of proc(5): state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt
    // utime stime cutime cstime priority nice threads itrealvalue starttime vsize rss
    std::istringstream stream(text.substr(nameEnd + 1));
    std::string state;
    std::array<long long, 21> fields = {};
    stream >> state;
    for (auto& field : fields) {
        stream >> field;
    }
    if (!stream || state == "Z" || state == "X") {
        return std::nullopt;
    }
    TreeProcess process;
    process.pid = pid;
    process.parent = static_cast<pid_t>(fields[0]);
    const double ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    process.cpuSeconds =
        static_cast<double>(fields[10] + fields[11] + fields[12] + fields[13]) / ticks;
    process.startTicks = static_cast<std::uint64_t>(std::max(fields[18], 0LL));
    process.residentBytes = static_cast<std::uint64_t>(std::max(fields[20], 0LL))
                            * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    return process;
}

void readStatus(TreeProcess& process)
{
    std::istringstream stream(readSmall("/proc/" + std::to_string(process.pid) + "/status"));
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        std::string key;
        words >> key;
        if (key == "Uid:") {
            unsigned real = 0;
            words >> real >> process.uid;
        } else if (key == "NSpid:") {
            for (pid_t number = 0; words >> number;) {
                process.innerPid = number;
            }
        }
    }
}

std::vector<TreeProcess> allProcesses()
{
    std::vector<TreeProcess> all;
    DIR* folder = ::opendir("/proc");
    if (folder == nullptr) {
        return all;
    }
    while (const dirent* entry =
               ::readdir(folder)) { // NOLINT(concurrency-mt-unsafe): our own stream
        const int pid =
            std::atoi(entry->d_name); // NOLINT(cert-err34-c): names that are no number give 0
        if (pid > 0) {
            if (auto process = readStat(pid)) {
                all.push_back(*process);
            }
        }
    }
    ::closedir(folder);
    return all;
}

/// Through the kernel's own lists of children (CONFIG_PROC_CHILDREN): the cost follows the size of
/// the tree, not of the machine. Empty where the kernel has no such lists.
std::vector<TreeProcess> walkChildren(pid_t root)
{
    std::vector<TreeProcess> found;
    std::vector<pid_t> open{root};
    while (!open.empty()) {
        const pid_t pid = open.back();
        open.pop_back();
        auto process = readStat(pid);
        if (!process) {
            continue;
        }
        found.push_back(*process);
        const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
        DIR* folder = ::opendir(tasks.c_str());
        if (folder == nullptr) {
            continue;
        }
        while (const dirent* entry =
                   ::readdir(folder)) { // NOLINT(concurrency-mt-unsafe): our own stream
            if (entry->d_name[0] == '.') {
                continue;
            }
            std::istringstream children(readWhole(tasks + "/" + entry->d_name + "/children"));
            for (pid_t child = 0; children >> child;) {
                open.push_back(child);
            }
        }
        ::closedir(folder);
    }
    return found;
}

bool kernelListsChildren()
{
    return ::access("/proc/thread-self/children", R_OK) == 0;
}

} // namespace

std::vector<TreeProcess> subtree(const std::vector<TreeProcess>& tree, pid_t pid)
{
    std::vector<TreeProcess> found;
    for (const TreeProcess& process : tree) {
        if (process.pid == pid) {
            found.push_back(process);
        }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        const pid_t parent = found[i].pid;
        for (const TreeProcess& process : tree) {
            if (process.parent == parent) {
                found.push_back(process);
            }
        }
    }
    return found;
}

std::vector<TreeProcess> processesBelow(pid_t root)
{
    auto found = kernelListsChildren() ? walkChildren(root) : subtree(allProcesses(), root);
    for (TreeProcess& process : found) {
        readStatus(process);
    }
    return found;
}

} // namespace lathe::worker
