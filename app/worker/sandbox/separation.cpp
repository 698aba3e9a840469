// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "separation.h"

#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/stat.h>

namespace lathe::worker {
namespace {

std::map<std::string, std::string> statusOf(pid_t pid)
{
    std::map<std::string, std::string> fields;
    std::ifstream file("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key;
        words >> key >> fields[key.substr(0, key.find(':'))];
    }
    return fields;
}

enum class Namespace { Own, Shared, Unreadable };

Namespace namespaceOf(pid_t pid, const std::string& kind)
{
    struct stat own = {};
    struct stat other = {};
    if (::stat(("/proc/self/ns/" + kind).c_str(), &own) != 0
        || ::stat(("/proc/" + std::to_string(pid) + "/ns/" + kind).c_str(), &other) != 0) {
        return Namespace::Unreadable;
    }
    return own.st_dev == other.st_dev && own.st_ino == other.st_ino ? Namespace::Shared
                                                                    : Namespace::Own;
}

/// Nothing to look at: it has ended, or ends just now.
bool gone(const std::map<std::string, std::string>& status)
{
    return !status.contains("State") || status.at("State") == "Z" || status.at("State") == "X";
}

} // namespace

std::vector<std::string> openings(pid_t pid)
{
    const auto status = statusOf(pid);
    if (gone(status)) {
        return {};
    }
    std::vector<std::string> found;
    // Inheritable ones count for nothing alone: they need a program's own, which NoNewPrivs
    // forbids.
    for (const char* set : {"CapPrm", "CapEff", "CapAmb"}) {
        const auto field = status.find(set);
        if (field == status.end() || field->second.find_first_not_of('0') != std::string::npos) {
            found.push_back(std::string("it has privileges (") + set + ")");
        }
    }
    const auto locked = status.find("NoNewPrivs");
    if (locked == status.end() || locked->second != "1") {
        found.emplace_back("a set-user-id program could give it privileges (NoNewPrivs)");
    }
    constexpr std::array<std::pair<const char*, const char*>, 5> kNamespaces{{
        {"pid", "it sees the processes of this machine"},
        {"net", "it reaches the network"},
        {"mnt", "it sees the file systems of this machine"},
        {"ipc", "it shares memory segments and queues with this machine's processes"},
        {"uts", "it shares the host name"},
    }};
    for (const auto& [kind, meaning] : kNamespaces) {
        switch (namespaceOf(pid, kind)) {
        case Namespace::Own:
            break;
        case Namespace::Shared:
            found.push_back(std::string(meaning) + " (" + kind + " namespace)");
            break;
        case Namespace::Unreadable:
            found.push_back(std::string("its ") + kind + " namespace cannot be looked at");
            break;
        }
    }
    // One that ended meanwhile could not be read and can do no harm.
    return gone(statusOf(pid)) ? std::vector<std::string>() : found;
}

} // namespace lathe::worker
