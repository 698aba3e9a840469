// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cuda.h>

#include <cstdint>
#include <string>

/// The CUDA driver, reached at run time: nothing links libcuda, so that one binary starts on
/// machines without it.
namespace lathe::cuda {

// The header's macros give every name its newest version ("cuMemcpyHtoD" becomes
// "cuMemcpyHtoD_v2"), for the declaration and for the look-up alike, so that prototype and symbol
// always belong together.
#define LATHE_CUDA_FUNCTIONS(X)                                                                    \
    X(cuInit)                                                                                      \
    X(cuDriverGetVersion)                                                                          \
    X(cuGetErrorName)                                                                              \
    X(cuGetErrorString)                                                                            \
    X(cuDeviceGetCount)                                                                            \
    X(cuDeviceGet)                                                                                 \
    X(cuDeviceGetName)                                                                             \
    X(cuDeviceGetPCIBusId)                                                                         \
    X(cuDeviceGetAttribute)                                                                        \
    X(cuDeviceTotalMem)                                                                            \
    X(cuDevicePrimaryCtxRetain)                                                                    \
    X(cuDevicePrimaryCtxRelease)                                                                   \
    X(cuCtxSetCurrent)                                                                             \
    X(cuCtxSynchronize)                                                                            \
    X(cuMemGetInfo)                                                                                \
    X(cuMemAlloc)                                                                                  \
    X(cuMemFree)                                                                                   \
    X(cuMemcpyHtoD)                                                                                \
    X(cuMemcpyDtoH)                                                                                \
    X(cuMemsetD8)                                                                                  \
    X(cuMemsetD32)                                                                                 \
    X(cuMemsetD32Async)                                                                            \
    X(cuMemGetAllocationGranularity)                                                               \
    X(cuMemCreate)                                                                                 \
    X(cuMemRelease)                                                                                \
    X(cuMemAddressReserve)                                                                         \
    X(cuMemAddressFree)                                                                            \
    X(cuMemMap)                                                                                    \
    X(cuMemUnmap)                                                                                  \
    X(cuMemSetAccess)                                                                              \
    X(cuMemExportToShareableHandle)                                                                \
    X(cuMemImportFromShareableHandle)                                                              \
    X(cuModuleLoadData)                                                                            \
    X(cuModuleUnload)                                                                              \
    X(cuModuleGetFunction)                                                                         \
    X(cuLaunchKernel)                                                                              \
    X(cuStreamCreate)                                                                              \
    X(cuStreamDestroy)                                                                             \
    X(cuStreamQuery)                                                                               \
    X(cuStreamSynchronize)                                                                         \
    X(cuEventCreate)                                                                               \
    X(cuEventDestroy)                                                                              \
    X(cuEventRecord)                                                                               \
    X(cuEventQuery)                                                                                \
    X(cuEventSynchronize)                                                                          \
    X(cuEventElapsedTime)

/// The driver's entry points. Filled once by loadDriver(); plain values, free to copy.
struct DriverApi
{
#define LATHE_CUDA_MEMBER(name) decltype(&::name) name = nullptr;
    LATHE_CUDA_FUNCTIONS(LATHE_CUDA_MEMBER)
#undef LATHE_CUDA_MEMBER
};

/// Loads libcuda.so.1 and calls cuInit. Unsupported when there is no driver, no device, or it is
/// too old.
Result<DriverApi> loadDriver();

/// ok() for CUDA_SUCCESS, else an Error that names the step and the driver's own words.
Result<void> check(const DriverApi& api, CUresult result, const char* step);

/// PTX of lathe's own kernels (kernels.cu), NUL-terminated.
extern const char* const kKernelsPtx;

/// A device's primary context, the one that torch uses too. Released on destruction.
class PrimaryContext
{
public:
    static Result<PrimaryContext> retain(const DriverApi& api, int index);
    PrimaryContext(PrimaryContext&& other) noexcept;
    PrimaryContext& operator=(PrimaryContext&&) = delete;
    ~PrimaryContext();
    /// Makes it current on the calling thread.
    Result<void> use() const;
    [[nodiscard]] CUdevice device() const { return m_device; }

private:
    PrimaryContext(const DriverApi& api, CUdevice device, CUcontext context)
        : m_api(api)
        , m_device(device)
        , m_context(context)
    {}
    DriverApi m_api;
    CUdevice m_device = 0;
    CUcontext m_context = nullptr;
};

/// What a physical allocation that is shared by descriptor looks like; creator and importer must
/// agree on it.
CUmemAllocationProp sharedAllocation(int index);
/// bytes rounded up to the allocation granularity of the device.
Result<std::uint64_t> roundedSize(const DriverApi& api, int index, std::uint64_t bytes);

/// An address range with one physical allocation mapped into it. Unmaps on destruction.
class Mapping
{
public:
    /// Takes the handle over, also when it fails.
    static Result<Mapping> map(const DriverApi& api,
                               int index,
                               CUmemGenericAllocationHandle handle,
                               std::uint64_t bytes,
                               bool writable);
    Mapping(Mapping&& other) noexcept;
    Mapping& operator=(Mapping&&) = delete;
    ~Mapping();
    [[nodiscard]] CUdeviceptr address() const { return m_address; }
    [[nodiscard]] std::uint64_t bytes() const { return m_bytes; } ///< rounded up

private:
    Mapping(const DriverApi& api, CUdeviceptr address, std::uint64_t bytes)
        : m_api(api)
        , m_address(address)
        , m_bytes(bytes)
    {}
    DriverApi m_api;
    CUdeviceptr m_address = 0;
    std::uint64_t m_bytes = 0;
    bool m_mapped = false;
};

} // namespace lathe::cuda
