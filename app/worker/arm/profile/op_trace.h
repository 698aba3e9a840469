// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace lathe::arm {

class SpanLog;

/// Records every PyTorch operator of every thread into a log while it lives. One at a time in a
/// process. Operators nest as they call each other.
class OpTrace
{
public:
    explicit OpTrace(SpanLog& log);
    ~OpTrace();
    OpTrace(const OpTrace&) = delete;
    OpTrace& operator=(const OpTrace&) = delete;

private:
    std::uint64_t m_handle;
};

} // namespace lathe::arm
