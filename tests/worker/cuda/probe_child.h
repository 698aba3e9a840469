// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.h"
#include "probe_kernels.h"

#include <lathe/base/unique_fd.h>

#include <cstdint>
#include <string>
#include <vector>

namespace lathe::probe {

inline constexpr int kTraced = 5;

// What a child does once it has its descriptors: in (read-only) and out (writable). It answers with
// one line of text.
struct ChildWork
{
    arm::Device& device;
    const Kernels& kernels;
    CUdeviceptr in;
    CUdeviceptr out;
};

/// CLOCK_MONOTONIC.
std::int64_t monotonicNs();
double median(std::vector<double> values);

/// Event timing of one kernel, cold: "median_us=... p10_us=... p90_us=..." or "error ...".
std::string timeLaunches(const ChildWork& work);

/// Opens the device, maps the two descriptors and plays the role; one line of text.
std::string childAnswer(const std::string& role, int socket, std::vector<UniqueFd>& fds);

} // namespace lathe::probe
