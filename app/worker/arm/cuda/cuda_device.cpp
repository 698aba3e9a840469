// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/cupti_trace.h"
#include "device.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <driver_api.h>
#include <optional>

namespace lathe::arm {
namespace {

using cuda::check;
using Clock = std::chrono::steady_clock;

// The delay must outlast the host's queueing of a sample; it grows with what the host was seen to
// need.
constexpr double kFirstDelayNs = 100e3;
constexpr double kLongestDelayNs = 20e6;
constexpr double kDelayMargin = 1.5;

class CudaArmDevice final : public Device
{
public:
    explicit CudaArmDevice(int index)
        : m_index(index)
    {}

    ~CudaArmDevice() override
    {
        m_trace.reset();
        if (!m_context || !m_context->use()) {
            return;
        }
        if (m_flushMemory != 0) {
            m_api.cuMemFree(m_flushMemory);
        }
        for (const CUevent event : {m_start, m_stop}) {
            if (event != nullptr) {
                m_api.cuEventDestroy(event);
            }
        }
        if (m_module != nullptr) {
            m_api.cuModuleUnload(m_module);
        }
    }

    std::string name() const override { return "cuda:" + std::to_string(m_index); }

    Result<void> open() override
    {
        auto api = cuda::loadDriver();
        if (!api) {
            return tl::unexpected(api.error());
        }
        m_api = *api;
        auto context = cuda::PrimaryContext::retain(m_api, m_index);
        if (!context) {
            return tl::unexpected(context.error());
        }
        m_context.emplace(std::move(*context));
        if (auto ok =
                step(m_api.cuModuleLoadData(&m_module, cuda::kKernelsPtx), "load lathe's kernels");
            !ok) {
            return ok;
        }
        if (auto ok =
                step(m_api.cuModuleGetFunction(&m_delay, m_module, "latheDelay"), "latheDelay");
            !ok) {
            return ok;
        }
        if (auto ok = step(m_api.cuEventCreate(&m_start, CU_EVENT_DEFAULT), "create an event");
            !ok) {
            return ok;
        }
        return step(m_api.cuEventCreate(&m_stop, CU_EVENT_DEFAULT), "create an event");
    }

    Result<std::shared_ptr<void>> map(UniqueFd buffer, std::uint64_t bytes, bool writable) override
    {
        if (auto ok = m_context->use(); !ok) {
            return tl::unexpected(ok.error());
        }
        CUmemGenericAllocationHandle handle = 0;
        // The driver's interface: the descriptor's number in the pointer's value. The handle holds
        // its own reference.
        void* number = reinterpret_cast<void*>(static_cast<std::uintptr_t>(buffer.get()));
        const CUresult imported = m_api.cuMemImportFromShareableHandle(
            &handle, number, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        if (auto ok = step(imported, "import shared GPU memory"); !ok) {
            return tl::unexpected(ok.error());
        }
        auto mapping = cuda::Mapping::map(m_api, m_index, handle, bytes, writable);
        if (!mapping) {
            return tl::unexpected(mapping.error());
        }
        auto owner = std::make_shared<cuda::Mapping>(std::move(*mapping));
        void* address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(owner->address()));
        return std::shared_ptr<void>(std::move(owner), address);
    }

    Result<void> synchronise() override { return step(m_api.cuCtxSynchronize(), "GPU work"); }

    Result<void> flush(std::uint64_t bytes) override
    {
        if (bytes == 0) {
            return {};
        }
        if (bytes > m_flushBytes) {
            if (m_flushMemory != 0) {
                m_api.cuMemFree(m_flushMemory);
                m_flushMemory = 0;
                m_flushBytes = 0;
            }
            if (auto ok =
                    step(m_api.cuMemAlloc(&m_flushMemory, bytes), "allocate memory for the flush");
                !ok) {
                return ok;
            }
            m_flushBytes = bytes;
        }
        // Queued on the default stream, in front of what is timed: the delay that follows need not
        // wait for the host.
        return step(m_api.cuMemsetD32Async(m_flushMemory, ++m_flushRound, bytes / 4, nullptr),
                    "flush the L2 cache");
    }

    Result<void> markStart() override
    {
        auto nanoseconds = static_cast<unsigned long long>(m_delayNs);
        void* arguments[] = {&nanoseconds};
        const CUresult delayed =
            m_api.cuLaunchKernel(m_delay, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
        if (auto ok = step(delayed, "queue the delay kernel"); !ok) {
            return ok;
        }
        if (auto ok = step(m_api.cuEventRecord(m_start, nullptr), "record an event"); !ok) {
            return ok;
        }
        m_queuedFrom = Clock::now();
        return {};
    }

    Result<DeviceTime> markStop() override
    {
        if (auto ok = step(m_api.cuEventRecord(m_stop, nullptr), "record an event"); !ok) {
            return tl::unexpected(ok.error());
        }
        const double queueNs =
            std::chrono::duration<double, std::nano>(Clock::now() - m_queuedFrom).count();
        const bool starved = queueNs > m_delayNs;
        m_delayNs = std::clamp(
            std::max(m_delayNs * 0.98, queueNs * kDelayMargin), kFirstDelayNs, kLongestDelayNs);
        if (auto ok = step(m_api.cuEventSynchronize(m_stop), "GPU work"); !ok) {
            return tl::unexpected(ok.error());
        }
        float milliseconds = 0;
        if (auto ok =
                step(m_api.cuEventElapsedTime(&milliseconds, m_start, m_stop), "read the events");
            !ok) {
            return tl::unexpected(ok.error());
        }
        return DeviceTime{static_cast<double>(milliseconds) * 1e-3, starved};
    }

    Result<void> startTrace() override
    {
        if (!m_trace) {
            auto trace = CuptiTrace::load();
            if (!trace) {
                return tl::unexpected(trace.error());
            }
            m_trace = std::move(*trace);
        }
        if (auto ok = synchronise(); !ok) {
            return ok;
        }
        return m_trace->start();
    }

    Result<std::vector<Span>> stopTrace() override
    {
        if (!m_trace) {
            return fail(ErrorCode::Internal, "no trace was started");
        }
        if (auto ok = synchronise(); !ok) {
            return tl::unexpected(ok.error());
        }
        return m_trace->stop();
    }

private:
    Result<void> step(CUresult result, const char* what) const
    {
        return check(m_api, result, what);
    }

    int m_index;
    cuda::DriverApi m_api;
    std::optional<cuda::PrimaryContext> m_context;
    CUmodule m_module = nullptr;
    CUfunction m_delay = nullptr;
    CUevent m_start = nullptr;
    CUevent m_stop = nullptr;
    double m_delayNs = kFirstDelayNs;
    Clock::time_point m_queuedFrom;
    CUdeviceptr m_flushMemory = 0;
    std::uint64_t m_flushBytes = 0;
    unsigned m_flushRound = 0;
    std::unique_ptr<CuptiTrace> m_trace;
};

} // namespace

std::unique_ptr<Device> makeCudaDevice(int index)
{
    return std::make_unique<CudaArmDevice>(index);
}

} // namespace lathe::arm
