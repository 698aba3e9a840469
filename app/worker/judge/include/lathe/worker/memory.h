// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

/// The memory that judge and arms share: the judge owns it, an arm maps it by a descriptor. On the
/// CPU it is a memfd, on CUDA a VMM allocation exported as a POSIX descriptor. Used from the
/// evaluation thread only.
namespace lathe::worker {

/// What an arm may do with the descriptor it is handed.
enum class Access : std::uint8_t { Read, ReadWrite };

/// One tensor's dense, contiguous bytes. Destruction unmaps and closes; arms that still map it keep
/// their mapping.
class SharedBuffer
{
public:
    virtual ~SharedBuffer() = default;
    [[nodiscard]] virtual std::uint64_t bytes() const = 0;

    /// The descriptor to send (SCM_RIGHTS), owned by the buffer. On the CPU the descriptor itself
    /// is what keeps a reader from writing; on CUDA the arm maps with the access of the message,
    /// see readOnlyEnforced(). -1: not available.
    [[nodiscard]] virtual int fd(Access access) = 0;

    /// From now on nobody but the judge can write, through any descriptor handed out before or
    /// later (CPU: F_SEAL_FUTURE_WRITE, which spares the judge's own mapping). Idempotent. Mappings
    /// an arm already has writable stay so: seal only buffers whose writers have ended or were
    /// never given a writable descriptor.
    virtual Result<void> sealForReaders() = 0;
    /// Whether an arm that is handed fd(Access::Read) is kept from writing by the kernel or the
    /// driver.
    [[nodiscard]] virtual bool readOnlyEnforced() const = 0;

    /// Host bytes into the buffer, and back. Sizes beyond the buffer are InvalidArgument errors. On
    /// CUDA these block until the copy is done.
    virtual Result<void> upload(std::uint64_t offset, std::span<const std::byte> host) = 0;
    virtual Result<void> download(std::uint64_t offset, std::span<std::byte> host) = 0;

    /// Fills all bytes with a repeating 4-byte pattern.
    virtual Result<void> poison(std::uint32_t pattern) = 0;

    /// A 128-bit digest of the bytes, as 32 hex characters; equal bytes give equal digests on the
    /// same MemorySpace.
    virtual Result<std::string> hash() = 0;

    /// The judge's own view, when the memory is host memory; empty on a device (use download).
    [[nodiscard]] virtual std::span<std::byte> hostView() = 0;
};

/// Where buffers come from: one per device.
class MemorySpace
{
public:
    virtual ~MemorySpace() = default;
    [[nodiscard]] virtual const char* name() const = 0; ///< "memfd", "cuda-vmm"
    /// A zeroed buffer of at least one byte. Refused when the device cannot hold it, with the
    /// figures.
    virtual Result<std::unique_ptr<SharedBuffer>> allocate(std::uint64_t bytes) = 0;
    /// Bytes still available, 0 when unknown.
    [[nodiscard]] virtual std::uint64_t freeBytes() const = 0;
};

/// memfd memory of this machine.
std::unique_ptr<MemorySpace> makeHostMemory();

} // namespace lathe::worker
