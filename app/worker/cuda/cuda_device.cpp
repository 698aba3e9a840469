// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda_memory.h"
#include "nvml.h"

#include <lathe/worker/cuda_device.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace lathe::worker {
namespace {

using cuda::check;

int attribute(const cuda::DriverApi& api, CUdevice device, CUdevice_attribute which)
{
    int value = 0;
    return api.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value : 0;
}

std::string pciBusId(const cuda::DriverApi& api, CUdevice device)
{
    char text[32] = {};
    return api.cuDeviceGetPCIBusId(text, sizeof text, device) == CUDA_SUCCESS ? text : "";
}

CudaFacts readFacts(const cuda::DriverApi& api, CUdevice device, int index, const cuda::Nvml& nvml)
{
    CudaFacts facts;
    facts.index = index;
    char name[256] = {};
    if (api.cuDeviceGetName(name, sizeof name, device) == CUDA_SUCCESS) {
        facts.name = name;
    }
    int version = 0;
    api.cuDriverGetVersion(&version);
    const std::string supported =
        "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    const std::string driver = nvml.driverVersion();
    facts.driver = driver.empty() ? supported : driver + " (" + supported + ")";
    facts.architecture =
        std::to_string(attribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR))
        + std::to_string(attribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    std::size_t total = 0;
    if (api.cuDeviceTotalMem(&total, device) == CUDA_SUCCESS) {
        facts.totalBytes = total;
    }
    facts.l2Bytes =
        static_cast<std::uint64_t>(attribute(api, device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
    facts.multiprocessors = attribute(api, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    facts.sharedMemory =
        attribute(api, device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0
        && attribute(api, device, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED)
               != 0;
    return facts;
}

class DriverDevice final : public CudaDevice
{
public:
    DriverDevice(const cuda::DriverApi& api, cuda::PrimaryContext context, int index)
        : m_api(api)
        , m_context(std::move(context))
        , m_nvml(pciBusId(api, m_context.device()))
        , m_facts(readFacts(api, m_context.device(), index, m_nvml))
    {}
    ~DriverDevice() override
    {
        if (m_module != nullptr && m_context.use()) {
            m_api.cuModuleUnload(m_module);
        }
    }

    Result<void> loadKernels()
    {
        if (auto ok = check(m_api,
                            m_api.cuModuleLoadData(&m_module, cuda::kKernelsPtx),
                            "load lathe's kernels");
            !ok) {
            return ok;
        }
        if (auto ok = check(m_api,
                            m_api.cuModuleGetFunction(&m_canary, m_module, "latheCanary"),
                            "latheCanary");
            !ok) {
            return ok;
        }
        return check(
            m_api, m_api.cuModuleGetFunction(&m_digest, m_module, "latheDigest"), "latheDigest");
    }

    const CudaFacts& facts() const override { return m_facts; }
    std::string clocks() const override { return m_nvml.clocks(); }
    std::string throttle() const override { return m_nvml.throttle(); }

    Result<void> canary(double timeoutSeconds) override
    {
        if (auto ok = m_context.use(); !ok) {
            return ok;
        }
        if (m_stuck) {
            return fail(ErrorCode::Timeout,
                        "the GPU did not answer an earlier canary kernel: restart the worker");
        }
        // Kept for the device's life: allocating synchronises, which a hung device never finishes.
        if (m_canaryMemory == 0) {
            if (auto ok =
                    check(m_api, m_api.cuMemAlloc(&m_canaryMemory, 2 * kCanaryWords * 4), "canary");
                !ok) {
                return ok;
            }
            if (auto ok =
                    check(m_api, m_api.cuStreamCreate(&m_stream, CU_STREAM_NON_BLOCKING), "canary");
                !ok) {
                return ok;
            }
        }
        return runCanary(timeoutSeconds);
    }

    std::unique_ptr<MemorySpace> memory() override
    {
        return makeCudaMemory({m_api, m_context, m_facts.index, m_digest});
    }

private:
    static constexpr unsigned kCanaryWords = 4096;

    Result<void> runCanary(double timeoutSeconds)
    {
        std::vector<unsigned> words(kCanaryWords);
        ++m_round; // fresh values, so that an old answer cannot pass
        for (unsigned i = 0; i < kCanaryWords; ++i) {
            words[i] = i * 2654435761u + m_round;
        }
        CUdeviceptr in = m_canaryMemory;
        CUdeviceptr out = m_canaryMemory + kCanaryWords * 4;
        if (auto ok =
                check(m_api, m_api.cuMemcpyHtoD(in, words.data(), kCanaryWords * 4), "canary");
            !ok) {
            return ok;
        }
        unsigned count = kCanaryWords;
        void* arguments[] = {&in, &out, &count};
        const CUresult launched = m_api.cuLaunchKernel(
            m_canary, kCanaryWords / 256, 1, 1, 256, 1, 1, 0, m_stream, arguments, nullptr);
        if (auto ok = check(m_api, launched, "canary"); !ok) {
            return ok;
        }
        if (auto ok = waitForStream(timeoutSeconds); !ok) {
            return ok;
        }
        std::vector<unsigned> answer(kCanaryWords);
        if (auto ok =
                check(m_api, m_api.cuMemcpyDtoH(answer.data(), out, kCanaryWords * 4), "canary");
            !ok) {
            return ok;
        }
        for (unsigned i = 0; i < kCanaryWords; ++i) {
            if (answer[i] != words[i] * 3u + i) {
                return fail(ErrorCode::Internal,
                            "the GPU computed a canary kernel wrongly: do not trust this device");
            }
        }
        return {};
    }

    Result<void> waitForStream(double timeoutSeconds)
    {
        using Clock = std::chrono::steady_clock;
        const auto deadline = Clock::now() + std::chrono::duration<double>(timeoutSeconds);
        while (true) {
            const CUresult state = m_api.cuStreamQuery(m_stream);
            if (state != CUDA_ERROR_NOT_READY) {
                return check(m_api, state, "canary");
            }
            if (Clock::now() > deadline) {
                m_stuck = true;
                return fail(ErrorCode::Timeout, "the GPU does not answer a canary kernel");
            }
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
    }

    cuda::DriverApi m_api;
    cuda::PrimaryContext m_context;
    cuda::Nvml m_nvml;
    CudaFacts m_facts;
    CUmodule m_module = nullptr;
    CUfunction m_canary = nullptr;
    CUfunction m_digest = nullptr;
    CUdeviceptr m_canaryMemory = 0; ///< freed with the context
    CUstream m_stream = nullptr;
    unsigned m_round = 0;
    bool m_stuck = false;
};

} // namespace

int CudaDevice::count(std::string& why)
{
    auto api = cuda::loadDriver();
    if (!api) {
        why = api.error().message;
        return 0;
    }
    int devices = 0;
    if (auto ok = check(*api, api->cuDeviceGetCount(&devices), "count GPUs"); !ok) {
        why = ok.error().message;
        return 0;
    }
    if (devices == 0) {
        why = "the CUDA driver shows no device";
    }
    return devices;
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(int index)
{
    auto api = cuda::loadDriver();
    if (!api) {
        return tl::unexpected(api.error());
    }
    auto context = cuda::PrimaryContext::retain(*api, index);
    if (!context) {
        context.error().code = ErrorCode::Unsupported;
        return tl::unexpected(context.error());
    }
    auto device = std::make_unique<DriverDevice>(*api, std::move(*context), index);
    if (auto ok = device->loadKernels(); !ok) {
        return tl::unexpected(ok.error());
    }
    return device;
}

} // namespace lathe::worker
