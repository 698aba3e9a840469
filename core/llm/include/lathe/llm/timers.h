// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace lathe::llm {

/// Delayed calls on the core thread; tests put a manual clock in its place.
class Timers
{
public:
    using Id = std::uint64_t;
    virtual ~Timers() = default;
    virtual Id after(double seconds, std::function<void()> call) = 0;
    virtual void cancel(Id id) = 0;
};

std::unique_ptr<Timers> makeAsioTimers(boost::asio::io_context& io);

} // namespace lathe::llm
