// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/process/cancel.h>

#include <cstdint>
#include <sys/eventfd.h>
#include <unistd.h>

namespace lathe::process {

CancelSource::CancelSource()
    : m_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))
{}

void CancelSource::cancel()
{
    m_cancelled.store(true, std::memory_order_release);
    const std::uint64_t one = 1;
    // A full counter means that the descriptor is readable already.
    [[maybe_unused]] const auto written = ::write(m_fd.get(), &one, sizeof one);
}

} // namespace lathe::process
