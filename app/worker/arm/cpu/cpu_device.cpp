// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>

namespace lathe::arm {
namespace {

/// Reads and writes every cache line of the buffer from each core of the affinity mask: private
/// caches are emptied too, not only the shared one.
class CacheFlusher
{
public:
    Result<void> run(std::uint64_t bytes)
    {
        if (m_buffer.size() < bytes) {
            try {
                m_buffer.assign(bytes, 1);
            } catch (const std::bad_alloc&) {
                return fail(ErrorCode::Unsupported,
                            "There is not enough memory to flush the caches.");
            }
        }
        cpu_set_t allowed;
        CPU_ZERO(&allowed);
        sched_getaffinity(0, sizeof allowed, &allowed);
        std::vector<std::thread> threads;
        const int cores = std::max(1, CPU_COUNT(&allowed));
        for (int core = 0, slot = 0; core < CPU_SETSIZE && slot < cores; ++core)
            if (CPU_ISSET(core, &allowed))
                threads.emplace_back(
                    [this, core, slot = slot++, cores] { stream(core, slot, cores); });
        for (std::thread& thread : threads)
            thread.join();
        return {};
    }

private:
    void stream(int core, int slot, int cores)
    {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        sched_setaffinity(0, sizeof one, &one);
        constexpr std::size_t kLine = 64;
        const std::size_t size = m_buffer.size();
        // Each writes a part of its own and reads the whole.
        const std::size_t begin =
            size / static_cast<std::size_t>(cores) * static_cast<std::size_t>(slot);
        const std::size_t end = begin + size / static_cast<std::size_t>(cores);
        volatile unsigned char* const lines = m_buffer.data();
        for (std::size_t i = begin; i < end; i += kLine)
            lines[i] = static_cast<unsigned char>(lines[i] + 1);
        unsigned sum = 0;
        for (std::size_t i = 0; i < begin; i += kLine)
            sum += lines[i];
        for (std::size_t i = end; i < size; i += kLine)
            sum += lines[i];
        m_sink.fetch_add(sum, std::memory_order_relaxed);
    }

    std::vector<unsigned char> m_buffer;
    std::atomic<unsigned> m_sink{0};
};

class CpuDevice : public Device
{
public:
    [[nodiscard]] std::string name() const override { return "cpu"; }
    Result<void> open() override { return {}; }

    Result<std::shared_ptr<void>> map(UniqueFd buffer, std::uint64_t bytes, bool writable) override
    {
        struct stat status
        {};
        if (fstat(buffer.get(), &status) != 0)
            return fail(
                ErrorCode::InvalidArgument, "A buffer cannot be used.", std::strerror(errno));
        if (static_cast<std::uint64_t>(status.st_size) < bytes)
            return fail(ErrorCode::InvalidArgument,
                        "A buffer has " + std::to_string(status.st_size)
                            + " bytes, the tensor needs " + std::to_string(bytes) + ".");
        // An empty tensor still wants an address of its own.
        const std::size_t length = std::max<std::uint64_t>(bytes, 1);
        if (status.st_size == 0)
            return std::shared_ptr<void>(new char[length],
                                         [](void* p) { delete[] static_cast<char*>(p); });
        void* const memory = mmap(nullptr,
                                  length,
                                  writable ? PROT_READ | PROT_WRITE : PROT_READ,
                                  MAP_SHARED | MAP_POPULATE,
                                  buffer.get(),
                                  0);
        if (memory == MAP_FAILED)
            return fail(
                ErrorCode::InvalidArgument, "A buffer could not be mapped.", std::strerror(errno));
        return std::shared_ptr<void>(memory, [length](void* p) { munmap(p, length); });
    }

    Result<void> synchronise() override { return {}; }
    Result<void> flush(std::uint64_t bytes) override { return m_flusher.run(bytes); }
    Result<void> markStart() override { return {}; }
    Result<DeviceTime> markStop() override { return DeviceTime(); }
    Result<void> startTrace() override { return {}; }
    Result<std::vector<Span>> stopTrace() override { return std::vector<Span>(); }

private:
    CacheFlusher m_flusher;
};

} // namespace

std::unique_ptr<Device> makeCpuDevice()
{
    return std::make_unique<CpuDevice>();
}

} // namespace lathe::arm
