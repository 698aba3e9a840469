// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda_memory.h"

#include <lathe/base/unique_fd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>

namespace lathe::worker {
namespace {

using cuda::check;

struct DigestKeys
{
    std::uint64_t first = 0;
    std::uint64_t second = 0;
};

class CudaBuffer final : public SharedBuffer
{
public:
    CudaBuffer(const CudaMemoryContext& context,
               DigestKeys keys,
               cuda::Mapping mapping,
               UniqueFd fd,
               std::uint64_t bytes)
        : m_context(context)
        , m_keys(keys)
        , m_mapping(std::move(mapping))
        , m_fd(std::move(fd))
        , m_bytes(bytes)
    {}
    ~CudaBuffer() override { (void)m_context.context.use(); } // unmapping needs the context

    std::uint64_t bytes() const override { return m_bytes; }
    int fd(Access) override { return m_fd.get(); }
    Result<void> sealForReaders() override
    {
        return {};
    } // the importer's access is set when it maps
    // The importing process chooses the access when it maps and could change it later: the hash is
    // the proof.
    bool readOnlyEnforced() const override { return false; }

    Result<void> upload(std::uint64_t offset, std::span<const std::byte> host) override
    {
        if (auto ok = inRange(offset, host.size()); !ok) {
            return ok;
        }
        return check(
            m_context.api,
            m_context.api.cuMemcpyHtoD(m_mapping.address() + offset, host.data(), host.size()),
            "copy to the GPU");
    }

    Result<void> download(std::uint64_t offset, std::span<std::byte> host) override
    {
        if (auto ok = inRange(offset, host.size()); !ok) {
            return ok;
        }
        return check(
            m_context.api,
            m_context.api.cuMemcpyDtoH(host.data(), m_mapping.address() + offset, host.size()),
            "copy from the GPU");
    }

    Result<void> poison(std::uint32_t pattern) override
    {
        if (auto ok = m_context.context.use(); !ok) {
            return ok;
        }
        // The whole mapping, rounded up: what lies behind the tensor is poisoned too.
        const auto& api = m_context.api;
        const CUresult result =
            api.cuMemsetD32(m_mapping.address(), pattern, m_mapping.bytes() / 4);
        if (auto ok = check(api, result, "fill GPU memory"); !ok) {
            return ok;
        }
        return check(api, api.cuCtxSynchronize(), "fill GPU memory");
    }

    Result<std::string> hash() override
    {
        const auto& api = m_context.api;
        if (auto ok = m_context.context.use(); !ok) {
            return tl::unexpected(ok.error());
        }
        constexpr std::size_t kOutBytes = 2 * sizeof(std::uint64_t);
        CUdeviceptr out = 0;
        if (auto ok = check(api, api.cuMemAlloc(&out, kOutBytes), "hash GPU memory"); !ok) {
            return tl::unexpected(ok.error());
        }
        std::array<std::uint64_t, 2> sums{};
        const auto digested = runDigest(out, sums);
        api.cuMemFree(out);
        if (!digested) {
            return tl::unexpected(digested.error());
        }
        char text[33];
        std::snprintf(text,
                      sizeof text,
                      "%016llx%016llx",
                      static_cast<unsigned long long>(sums[0]),
                      static_cast<unsigned long long>(sums[1]));
        return std::string(text);
    }

    std::span<std::byte> hostView() override { return {}; }

private:
    Result<void> inRange(std::uint64_t offset, std::uint64_t size) const
    {
        if (offset > m_bytes || size > m_bytes - offset) {
            return fail(ErrorCode::InvalidArgument, "copy beyond the end of a GPU buffer");
        }
        return m_context.context.use();
    }

    Result<void> runDigest(CUdeviceptr out, std::array<std::uint64_t, 2>& sums) const
    {
        const auto& api = m_context.api;
        if (auto ok = check(api, api.cuMemsetD8(out, 0, sizeof sums), "hash GPU memory"); !ok) {
            return ok;
        }
        CUdeviceptr words = m_mapping.address();
        unsigned long long count = m_bytes / 8;
        unsigned long long tail = m_bytes % 8;
        unsigned long long first = m_keys.first;
        unsigned long long second = m_keys.second;
        void* arguments[] = {&words, &count, &tail, &first, &second, &out};
        constexpr unsigned kThreads = 256;
        constexpr unsigned long long kMaxBlocks = 2048;
        const auto blocks =
            static_cast<unsigned>(std::min((count + kThreads) / kThreads, kMaxBlocks));
        const CUresult launched = api.cuLaunchKernel(
            m_context.digest, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr);
        if (auto ok = check(api, launched, "hash GPU memory"); !ok) {
            return ok;
        }
        return check(api, api.cuMemcpyDtoH(sums.data(), out, sizeof sums), "hash GPU memory");
    }

    CudaMemoryContext m_context;
    DigestKeys m_keys;
    cuda::Mapping m_mapping;
    UniqueFd m_fd;
    std::uint64_t m_bytes;
};

class CudaMemory final : public MemorySpace
{
public:
    explicit CudaMemory(const CudaMemoryContext& context)
        : m_context(context)
    {
        // Secret, so that nobody can prepare contents with equal digests.
        std::random_device random;
        const auto word = [&] { return (std::uint64_t{random()} << 32) | random(); };
        m_keys = {word(), word()};
    }

    const char* name() const override { return "cuda-vmm"; }

    Result<std::unique_ptr<SharedBuffer>> allocate(std::uint64_t bytes) override
    {
        const auto& api = m_context.api;
        if (auto ok = m_context.context.use(); !ok) {
            return tl::unexpected(ok.error());
        }
        auto rounded = cuda::roundedSize(api, m_context.index, bytes);
        if (!rounded) {
            return tl::unexpected(rounded.error());
        }
        const CUmemAllocationProp prop = cuda::sharedAllocation(m_context.index);
        CUmemGenericAllocationHandle handle = 0;
        if (auto ok =
                check(api, api.cuMemCreate(&handle, *rounded, &prop, 0), "allocate GPU memory");
            !ok) {
            ok.error().message += ": " + std::to_string(*rounded) + " bytes wanted, "
                                  + std::to_string(freeBytes()) + " free";
            return tl::unexpected(ok.error());
        }
        int descriptor = -1;
        const CUresult exported = api.cuMemExportToShareableHandle(
            &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        UniqueFd fd(exported == CUDA_SUCCESS ? descriptor : -1);
        auto mapping = cuda::Mapping::map(api, m_context.index, handle, *rounded, true);
        if (!mapping) {
            return tl::unexpected(mapping.error());
        }
        if (auto ok = check(api, exported, "export GPU memory as a descriptor"); !ok) {
            return tl::unexpected(ok.error());
        }
        const CUresult zeroed = api.cuMemsetD32(mapping->address(), 0, *rounded / 4);
        if (auto ok = check(api, zeroed, "fill GPU memory"); !ok) {
            return tl::unexpected(ok.error());
        }
        if (auto ok = check(api, api.cuCtxSynchronize(), "fill GPU memory"); !ok) {
            return tl::unexpected(ok.error());
        }
        return std::make_unique<CudaBuffer>(
            m_context, m_keys, std::move(*mapping), std::move(fd), bytes);
    }

    std::uint64_t freeBytes() const override
    {
        std::size_t available = 0;
        std::size_t total = 0;
        if (!m_context.context.use()
            || m_context.api.cuMemGetInfo(&available, &total) != CUDA_SUCCESS) {
            return 0;
        }
        return available;
    }

private:
    CudaMemoryContext m_context;
    DigestKeys m_keys;
};

} // namespace

std::unique_ptr<MemorySpace> makeCudaMemory(const CudaMemoryContext& context)
{
    return std::make_unique<CudaMemory>(context);
}

} // namespace lathe::worker
