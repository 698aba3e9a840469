// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/llm/timers.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>

namespace lathe::llm {
namespace {

class AsioTimers final : public Timers
{
public:
    explicit AsioTimers(boost::asio::io_context& io)
        : m_io(io)
    {}

    Id after(double seconds, std::function<void()> call) override
    {
        const Id id = ++m_last;
        auto& timer = m_timers.try_emplace(id, m_io).first->second;
        timer.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(
            std::chrono::duration<double>(std::max(seconds, 0.0))));
        timer.async_wait([this, id, call = std::move(call)](
                             const boost::system::error_code& error) {
            if (!error
                && m_timers.erase(id) > 0) { // a wait that was cancelled never touches this object
                call();
            }
        });
        return id;
    }

    void cancel(Id id) override { m_timers.erase(id); }

private:
    boost::asio::io_context& m_io;
    std::map<Id, boost::asio::steady_timer> m_timers;
    Id m_last = 0;
    std::shared_ptr<char> m_alive = std::make_shared<char>();
};

} // namespace

std::unique_ptr<Timers> makeAsioTimers(boost::asio::io_context& io)
{
    return std::make_unique<AsioTimers>(io);
}

} // namespace lathe::llm
