// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/span.h"

#include <lathe/base/result.h>
#include <lathe/base/unique_fd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lathe::arm {

struct DeviceTime
{
    double seconds = -1; ///< negative: the device has no events
    bool starved =
        false; ///< the host queued for longer than the device was held up: gaps are in it
};

/// The memory, clock and activity trace of the device that a phase works on. One per phase process,
/// made after the fork, used from the phase's only control thread. No function throws.
class Device
{
public:
    virtual ~Device() = default;

    /// torch's name: "cpu", "cuda:0".
    [[nodiscard]] virtual std::string name() const = 0;

    /// First touch of the device in this process (CUDA: cuInit, the primary context). Before any
    /// torch operation.
    virtual Result<void> open() = 0;

    /// Maps a buffer that the judge shares: a memfd on the CPU, a VMM allocation's POSIX handle on
    /// CUDA. The pointer is the address that kernels use; letting go of it unmaps. Read-only means
    /// that the hardware refuses writes. A buffer smaller than bytes is an error.
    virtual Result<std::shared_ptr<void>>
    map(UniqueFd buffer, std::uint64_t bytes, bool writable) = 0;

    /// Waits for all queued work; reports what a kernel did wrong (CUDA's sticky errors).
    virtual Result<void> synchronise() = 0;

    /// Streams over that many bytes so that the caches hold nothing of earlier calls.
    virtual Result<void> flush(std::uint64_t bytes) = 0;

    /// Event timing of the device work that is queued between the two marks.
    virtual Result<void> markStart() = 0;
    virtual Result<DeviceTime> markStop() = 0;

    /// Activity trace of the device alone (CUPTI); operators and native calls are recorded
    /// elsewhere. The spans that come back are complete and in CLOCK_MONOTONIC. The CPU has none.
    virtual Result<void> startTrace() = 0;
    virtual Result<std::vector<Span>> stopTrace() = 0;
};

std::unique_ptr<Device> makeCpuDevice();

/// Defined in cuda/, which is built where the CUDA toolkit is found (LATHE_ARM_CUDA).
std::unique_ptr<Device> makeCudaDevice(int index);

/// "cpu" or "cuda:N"; an Unsupported error says how to get what is missing.
Result<std::unique_ptr<Device>> makeDevice(const std::string& name);

} // namespace lathe::arm
