// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <driver_api.h>

namespace lathe::cuda {
extern const char* const kProbePtx; ///< probe_kernels.cu
}

namespace lathe::probe {

inline constexpr std::uint64_t kBytes = 512ull << 20; ///< each way; far over any L2

/// Launches the probe's kernels in whichever process it lives.
class Kernels
{
public:
    static Result<Kernels> load()
    {
        auto api = cuda::loadDriver();
        if (!api) {
            return tl::unexpected(api.error());
        }
        Kernels kernels;
        kernels.m_api = *api;
        CUmodule module = nullptr;
        if (auto ok =
                cuda::check(*api, api->cuModuleLoadData(&module, cuda::kProbePtx), "load kernels");
            !ok) {
            return tl::unexpected(ok.error());
        }
        const auto find = [&](CUfunction& function, const char* name) {
            return api->cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS;
        };
        if (!find(kernels.m_scale, "probeScale") || !find(kernels.m_overwrite, "probeOverwrite")
            || !find(kernels.m_hang, "probeHang")) {
            return fail(ErrorCode::Internal, "the probe's kernels are missing");
        }
        return kernels;
    }
    Result<void> scale(CUdeviceptr in, CUdeviceptr out) const
    {
        unsigned long long vectors = kBytes / 16;
        void* arguments[] = {&in, &out, &vectors};
        return launch(m_scale, static_cast<unsigned>(vectors / 256), 256, arguments, "probeScale");
    }
    Result<void> overwrite(CUdeviceptr in) const
    {
        void* arguments[] = {&in};
        return launch(m_overwrite, 1, 32, arguments, "probeOverwrite");
    }
    Result<void> hang(CUdeviceptr flag) const
    {
        void* arguments[] = {&flag};
        return launch(m_hang, 1, 1, arguments, "probeHang");
    }
    [[nodiscard]] const cuda::DriverApi& api() const { return m_api; }

private:
    Result<void> launch(CUfunction function,
                        unsigned blocks,
                        unsigned threads,
                        void** arguments,
                        const char* name) const
    {
        return cuda::check(
            m_api,
            m_api.cuLaunchKernel(
                function, blocks, 1, 1, threads, 1, 1, 0, nullptr, arguments, nullptr),
            name);
    }
    cuda::DriverApi m_api;
    CUfunction m_scale = nullptr;
    CUfunction m_overwrite = nullptr;
    CUfunction m_hang = nullptr;
};

} // namespace lathe::probe
