// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cstdint>
#include <memory>
#include <string>

namespace lathe::worker {

class MemorySpace;

/// What a CUDA device is; constant while the worker runs.
struct CudaFacts
{
    int index = 0;
    std::string name;         ///< "NVIDIA H200"
    std::string driver;       ///< "580.159.04 (CUDA 13.0)"
    std::string architecture; ///< compute capability as nvcc wants it: "90"
    std::uint64_t totalBytes = 0;
    std::uint64_t l2Bytes = 0;
    int multiprocessors = 0;
    bool sharedMemory = false; ///< VMM allocations can be exported as POSIX descriptors
};

/// The judge's hand on one GPU, through the driver alone (dlopen; nothing links CUDA). Owned by
/// whoever composes the worker, used from the evaluation thread. A candidate's faults stay in its
/// own process and never reach this context.
class CudaDevice
{
public:
    virtual ~CudaDevice() = default;
    /// Devices on this machine, 0 where there is no driver; why tells what is missing. Does not
    /// create a context.
    static int count(std::string& why);
    /// Creates the primary context (about 0.3 s). Unsupported: no driver, no such device, or built
    /// without CUDA.
    static Result<std::unique_ptr<CudaDevice>> open(int index);

    [[nodiscard]] virtual const CudaFacts& facts() const = 0;
    /// Clocks, power and temperature now, for a person: "SM 1980 MHz, memory 3201 MHz, 52 C, 310
    /// W". Empty: unknown.
    [[nodiscard]] virtual std::string clocks() const = 0;
    /// Why the clocks are held down now: "none", "power cap", ... Empty: unknown.
    [[nodiscard]] virtual std::string throttle() const = 0;
    /// Runs a tiny kernel and checks what it computed. Timeout: the device does not answer. A
    /// kernel of a killed process may hold the device for a while, so give it seconds.
    virtual Result<void> canary(double timeoutSeconds) = 0;
    /// VMM allocations whose descriptors arms import. The device must outlive the space and its
    /// buffers.
    virtual std::unique_ptr<MemorySpace> memory() = 0;
};

} // namespace lathe::worker
