// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "driver_api.h"

#include <cstdint>
#include <dlfcn.h>
#include <utility>

namespace lathe::cuda {
namespace {

constexpr int kOldestDriver = 12000;

#define LATHE_CUDA_TEXT(name) #name
#define LATHE_CUDA_EXPANDED(name) LATHE_CUDA_TEXT(name)

const char* fillTable(DriverApi& api, void* library)
{
#define LATHE_CUDA_LOAD(name)                                                                      \
    api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, LATHE_CUDA_EXPANDED(name)));    \
    if (api.name == nullptr) {                                                                     \
        return LATHE_CUDA_EXPANDED(name);                                                          \
    }
    LATHE_CUDA_FUNCTIONS(LATHE_CUDA_LOAD)
#undef LATHE_CUDA_LOAD
    return nullptr;
}

} // namespace

Result<DriverApi> loadDriver()
{
    // Never closed: the driver starts threads of its own and does not survive unloading.
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        const char* why = dlerror();
        return fail(ErrorCode::Unsupported,
                    "there is no CUDA driver on this machine (libcuda.so.1)",
                    why ? why : "");
    }
    DriverApi api;
    if (const char* missing = fillTable(api, library)) {
        return fail(ErrorCode::Unsupported,
                    std::string("the CUDA driver is too old: it has no ") + missing);
    }
    int version = 0;
    if (api.cuDriverGetVersion(&version) != CUDA_SUCCESS || version < kOldestDriver) {
        return fail(ErrorCode::Unsupported,
                    "the CUDA driver is too old: it supports CUDA " + std::to_string(version / 1000)
                        + "." + std::to_string(version % 1000 / 10) + ", at least 12.0 is needed");
    }
    if (auto ok = check(api, api.cuInit(0), "cuInit"); !ok) {
        ok.error().code = ErrorCode::Unsupported;
        return tl::unexpected(ok.error());
    }
    return api;
}

Result<void> check(const DriverApi& api, CUresult result, const char* step)
{
    if (result == CUDA_SUCCESS) {
        return {};
    }
    const char* name = nullptr;
    const char* text = nullptr;
    api.cuGetErrorName(result, &name);
    api.cuGetErrorString(result, &text);
    const auto code = result == CUDA_ERROR_OUT_OF_MEMORY ? ErrorCode::Refused : ErrorCode::Internal;
    return fail(
        code, std::string(step) + ": " + (text ? text : "unknown CUDA error"), name ? name : "");
}

Result<PrimaryContext> PrimaryContext::retain(const DriverApi& api, int index)
{
    CUdevice device = 0;
    if (auto ok = check(api, api.cuDeviceGet(&device, index), "cuDeviceGet"); !ok) {
        return tl::unexpected(ok.error());
    }
    CUcontext context = nullptr;
    if (auto ok =
            check(api, api.cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
        !ok) {
        return tl::unexpected(ok.error());
    }
    PrimaryContext primary(api, device, context);
    if (auto ok = primary.use(); !ok) {
        return tl::unexpected(ok.error());
    }
    return primary;
}

PrimaryContext::PrimaryContext(PrimaryContext&& other) noexcept
    : m_api(other.m_api)
    , m_device(other.m_device)
    , m_context(std::exchange(other.m_context, nullptr))
{}

PrimaryContext::~PrimaryContext()
{
    if (m_context != nullptr) {
        m_api.cuDevicePrimaryCtxRelease(m_device);
    }
}

Result<void> PrimaryContext::use() const
{
    return check(m_api, m_api.cuCtxSetCurrent(m_context), "cuCtxSetCurrent");
}

CUmemAllocationProp sharedAllocation(int index)
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = index;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
}

Result<std::uint64_t> roundedSize(const DriverApi& api, int index, std::uint64_t bytes)
{
    const CUmemAllocationProp prop = sharedAllocation(index);
    std::size_t granularity = 0;
    const CUresult result =
        api.cuMemGetAllocationGranularity(&granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (auto ok = check(api, result, "cuMemGetAllocationGranularity"); !ok) {
        return tl::unexpected(ok.error());
    }
    if (granularity == 0 || bytes > (std::uint64_t{1} << 60)) {
        return fail(ErrorCode::InvalidArgument, "no such buffer size: " + std::to_string(bytes));
    }
    const std::uint64_t pieces = bytes == 0 ? 1 : (bytes + granularity - 1) / granularity;
    return pieces * granularity;
}

Result<Mapping> Mapping::map(const DriverApi& api,
                             int index,
                             CUmemGenericAllocationHandle handle,
                             std::uint64_t bytes,
                             bool writable)
{
    struct Release
    {
        const DriverApi& api;
        CUmemGenericAllocationHandle handle;
        ~Release()
        {
            api.cuMemRelease(handle);
        } // the mapping keeps the memory; the handle would keep it writable
    } release{api, handle};
    auto rounded = roundedSize(api, index, bytes);
    if (!rounded) {
        return tl::unexpected(rounded.error());
    }
    CUdeviceptr address = 0;
    if (auto ok =
            check(api, api.cuMemAddressReserve(&address, *rounded, 0, 0, 0), "cuMemAddressReserve");
        !ok) {
        return tl::unexpected(ok.error());
    }
    Mapping mapping(api, address, *rounded);
    if (auto ok = check(api, api.cuMemMap(address, *rounded, 0, handle, 0), "cuMemMap"); !ok) {
        return tl::unexpected(ok.error());
    }
    mapping.m_mapped = true;
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.location.id = index;
    access.flags = writable ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
    if (auto ok = check(api, api.cuMemSetAccess(address, *rounded, &access, 1), "cuMemSetAccess");
        !ok) {
        return tl::unexpected(ok.error());
    }
    return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept
    : m_api(other.m_api)
    , m_address(std::exchange(other.m_address, 0))
    , m_bytes(other.m_bytes)
    , m_mapped(std::exchange(other.m_mapped, false))
{}

Mapping::~Mapping()
{
    if (m_mapped) {
        m_api.cuMemUnmap(m_address, m_bytes);
    }
    if (m_address != 0) {
        m_api.cuMemAddressFree(m_address, m_bytes);
    }
}

} // namespace lathe::cuda
