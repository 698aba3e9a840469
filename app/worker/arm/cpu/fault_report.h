// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace lathe::arm {

/// While it lives, a fatal signal's report names this kernel as the one that was running. Main
/// thread only.
class CurrentKernel
{
public:
    explicit CurrentKernel(const char* name);
    ~CurrentKernel();
    CurrentKernel(const CurrentKernel&) = delete;
    CurrentKernel& operator=(const CurrentKernel&) = delete;

private:
    const char* m_before;
};

/// Takes away the handlers that libraries installed at load (libtvm_ffi symbolises a C++ stack,
/// which takes a second).
void resetFatalSignals();

/// Says on stderr what a fatal signal hit before the process dies of it: the kernel that ran, and
/// whether the address lies in a read-only input. A write to such an input is also answered on the
/// phase's socket as Failed "contract", because the judge should be able to say so instead of
/// "crashed". socket -1: stderr only.
void installFaultReport(int socket);

/// Declares [data, data + bytes) as read-only memory of the input with this number, in a set of
/// inputs.
void addProtectedRange(const void* data, std::size_t bytes, int input, std::int64_t set);
void removeProtectedRanges(std::int64_t set);

/// The serial that an answer from the signal handler must carry.
void setFaultSerial(unsigned serial);

} // namespace lathe::arm
