// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/unique_fd.h>

#include <atomic>

namespace lathe::process {

/// A pollable one-way switch (eventfd): cancel() from any thread, wait on fd() or ask cancelled().
class CancelSource
{
public:
    CancelSource();
    void cancel();
    [[nodiscard]] bool cancelled() const { return m_cancelled.load(std::memory_order_acquire); }
    [[nodiscard]] int fd() const { return m_fd.get(); }

private:
    UniqueFd m_fd;
    std::atomic<bool> m_cancelled{false};
};

} // namespace lathe::process
