// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/text.h>
#include <lathe/worker/conditions.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace lathe::worker {
namespace {

std::string firstLine(const std::string& path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

} // namespace

protocol::Conditions currentConditions(const ArmSettings& arm)
{
    protocol::Conditions out;
    out.threads = arm.threads;
    std::vector<std::string> cores;
    for (const int core : arm.affinity) {
        cores.push_back(std::to_string(core));
    }
    out.affinity = join(cores, ",");
    out.allocator = "glibc malloc, mmap and trim thresholds raised";
    std::array<double, 1> load{};
    if (::getloadavg(load.data(), 1) == 1) {
        out.loadAverage = load[0];
    }
    const int first = arm.affinity.empty() ? 0 : arm.affinity.front();
    const std::string frequency = firstLine("/sys/devices/system/cpu/cpu" + std::to_string(first)
                                            + "/cpufreq/scaling_cur_freq");
    const std::string governor = firstLine("/sys/devices/system/cpu/cpu" + std::to_string(first)
                                           + "/cpufreq/scaling_governor");
    if (!frequency.empty()) {
        out.clocks = std::to_string(std::atol(frequency.c_str()) / 1000) + " MHz"
                     + (governor.empty() ? "" : ", governor " + governor);
    }
    return out;
}

std::uint64_t lastLevelCacheBytes()
{
    std::uint64_t largest = 0;
    for (int index = 0; index < 8; ++index) {
        const std::string line =
            firstLine("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
        if (line.empty()) {
            continue;
        }
        std::uint64_t bytes = std::strtoull(line.c_str(), nullptr, 10);
        bytes *= line.back() == 'K' ? 1024u : line.back() == 'M' ? 1024u * 1024u : 1u;
        largest = std::max(largest, bytes);
    }
    return largest == 0 ? 32ull << 20 : largest;
}

} // namespace lathe::worker
