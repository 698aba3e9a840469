// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "digest.h"

#include <lathe/base/unique_fd.h>
#include <lathe/worker/memory.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

class HostBuffer final : public SharedBuffer
{
public:
    HostBuffer(UniqueFd file, UniqueFd reader, std::byte* data, std::uint64_t bytes)
        : m_file(std::move(file))
        , m_reader(std::move(reader))
        , m_data(data)
        , m_bytes(bytes)
    {}
    HostBuffer(const HostBuffer&) = delete;
    HostBuffer& operator=(const HostBuffer&) = delete;
    ~HostBuffer() override { ::munmap(m_data, m_bytes); }

    [[nodiscard]] std::uint64_t bytes() const override { return m_bytes; }
    [[nodiscard]] int fd(Access access) override
    {
        return access == Access::Read ? m_reader.get() : m_file.get();
    }
    Result<void> sealForReaders() override
    {
        if (m_sealed) {
            return {};
        }
        if (::fcntl(m_file.get(),
                    F_ADD_SEALS,
                    F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
            != 0) {
            return fail(ErrorCode::Unsupported,
                        "this kernel cannot seal shared memory (F_SEAL_FUTURE_WRITE, Linux 5.1)",
                        std::strerror(errno));
        }
        m_sealed = true;
        return {};
    }
    [[nodiscard]] bool readOnlyEnforced() const override { return m_sealed; }

    Result<void> upload(std::uint64_t offset, std::span<const std::byte> host) override
    {
        if (!inside(offset, host.size())) {
            return fail(ErrorCode::InvalidArgument, "a copy is beyond its buffer");
        }
        std::copy(host.begin(), host.end(), m_data + offset);
        return {};
    }
    Result<void> download(std::uint64_t offset, std::span<std::byte> host) override
    {
        if (!inside(offset, host.size())) {
            return fail(ErrorCode::InvalidArgument, "a copy is beyond its buffer");
        }
        std::copy_n(m_data + offset, host.size(), host.begin());
        return {};
    }
    Result<void> poison(std::uint32_t pattern) override
    {
        const std::uint32_t byte = pattern & 0xffu;
        if (pattern == byte * 0x01010101u) {
            std::memset(m_data, static_cast<int>(byte), m_bytes);
            return {};
        }
        const std::uint64_t words = m_bytes / 4;
        for (std::uint64_t i = 0; i < words; ++i) {
            std::memcpy(m_data + 4 * i, &pattern, 4);
        }
        std::memcpy(m_data + 4 * words, &pattern, m_bytes % 4);
        return {};
    }
    Result<std::string> hash() override { return digestHex({m_data, m_bytes}); }
    [[nodiscard]] std::span<std::byte> hostView() override { return {m_data, m_bytes}; }

private:
    [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t count) const
    {
        return offset <= m_bytes && count <= m_bytes - offset;
    }
    UniqueFd m_file;
    UniqueFd m_reader; ///< opened read-only: a shared mapping of it can never be made writable
    std::byte* m_data;
    std::uint64_t m_bytes;
    bool m_sealed = false;
};

class HostMemory final : public MemorySpace
{
public:
    [[nodiscard]] const char* name() const override { return "memfd"; }
    Result<std::unique_ptr<SharedBuffer>> allocate(std::uint64_t bytes) override
    {
        bytes = std::max<std::uint64_t>(bytes, 1);
        const std::uint64_t available = freeBytes();
        if (available != 0 && bytes > available) {
            return fail(ErrorCode::Refused,
                        "a tensor of " + std::to_string(bytes >> 20) + " MiB does not fit: "
                            + std::to_string(available >> 20) + " MiB of memory are free");
        }
        UniqueFd file(::memfd_create("lathe", MFD_CLOEXEC | MFD_ALLOW_SEALING));
        if (!file.valid() || ::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
            return fail(ErrorCode::Io, "cannot allocate shared memory", std::strerror(errno));
        }
        // An arm that holds a descriptor to write must not be able to take the pages away.
        if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) {
            return fail(ErrorCode::Unsupported, "cannot seal shared memory", std::strerror(errno));
        }
        const std::string path = "/proc/self/fd/" + std::to_string(file.get());
        UniqueFd reader(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
        void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
        if (!reader.valid() || data == MAP_FAILED) {
            return fail(ErrorCode::Io, "cannot map shared memory", std::strerror(errno));
        }
        return std::make_unique<HostBuffer>(
            std::move(file), std::move(reader), static_cast<std::byte*>(data), bytes);
    }
    [[nodiscard]] std::uint64_t freeBytes() const override
    {
        struct sysinfo info
        {};
        if (::sysinfo(&info) != 0) {
            return 0;
        }
        // Free and buffers only: a floor, because reclaimable page cache is not in it; so it is not
        // used to refuse what half of the machine's memory could hold.
        const std::uint64_t unit = info.mem_unit;
        return std::max((info.freeram + info.bufferram) * unit, info.totalram * unit / 2);
    }
};

} // namespace

std::unique_ptr<MemorySpace> makeHostMemory()
{
    return std::make_unique<HostMemory>();
}

} // namespace lathe::worker
