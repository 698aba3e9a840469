// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/llm/recording.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>

namespace lathe::llm {
namespace {

constexpr double kLongestPauseMs = 100;

class ReplayTransport final : public Transport
{
public:
    ReplayTransport(boost::asio::io_context& io,
                    std::shared_ptr<const Recording> recording,
                    double pace)
        : m_io(io)
        , m_recording(std::move(recording))
        , m_pace(pace)
    {}

    Id start(HttpRequest request, HttpHandlers handlers) override
    {
        const Id id = ++m_last;
        const auto it = m_recording->responses.find(request.turn);
        auto& playing = m_playing
                            .try_emplace(id,
                                         m_io,
                                         std::move(handlers),
                                         it == m_recording->responses.end() ? nullptr : &it->second,
                                         request.turn)
                            .first->second;
        wait(id, playing, 0);
        return id;
    }

    void cancel(Id id) override { m_playing.erase(id); }

private:
    struct Playing
    {
        Playing(boost::asio::io_context& io, HttpHandlers h, const RecordedResponse* r, int t)
            : timer(io)
            , handlers(std::move(h))
            , response(r)
            , turn(t)
        {}
        boost::asio::steady_timer timer;
        HttpHandlers handlers;
        const RecordedResponse* response;
        int turn;
        std::size_t next = 0;
        bool headSent = false;
    };

    void wait(Id id, Playing& playing, double ms)
    {
        playing.timer.expires_after(
            std::chrono::microseconds(static_cast<std::int64_t>(ms * 1000)));
        playing.timer.async_wait(
            [this, id, alive = std::weak_ptr(m_alive)](const boost::system::error_code& error) {
                if (!error && !alive.expired()) {
                    step(id);
                }
            });
    }

    void step(Id id)
    {
        const auto it = m_playing.find(id);
        if (it == m_playing.end()) {
            return;
        }
        Playing& playing = it->second;
        if (playing.response == nullptr) {
            finish(it,
                   fail(ErrorCode::NotFound,
                        "the recording ends before turn " + std::to_string(playing.turn)));
            return;
        }
        const auto& chunks = playing.response->chunks;
        if (!playing.headSent) {
            playing.headSent = true;
            const auto onHead = playing.handlers.onHead;
            onHead(playing.response->head);
        } else if (playing.next < chunks.size()) {
            const auto onBytes = playing.handlers.onBytes;
            onBytes(chunks[playing.next++].bytes);
        } else {
            finish(it, {});
            return;
        }
        const auto still = m_playing.find(id); // a handler may have cancelled
        if (still == m_playing.end()) {
            return;
        }
        const auto next = still->second.next;
        const double pause =
            next < chunks.size() ? chunks[next].atMs - (next > 0 ? chunks[next - 1].atMs : 0) : 0;
        wait(id, still->second, std::clamp(pause, 0.0, kLongestPauseMs) * m_pace);
    }

    void finish(std::map<Id, Playing>::iterator it, Result<void> result)
    {
        const auto onDone = std::move(it->second.handlers.onDone);
        m_playing.erase(it);
        onDone(std::move(result));
    }

    boost::asio::io_context& m_io;
    std::shared_ptr<const Recording> m_recording;
    double m_pace;
    std::map<Id, Playing> m_playing;
    Id m_last = 0;
    std::shared_ptr<char> m_alive = std::make_shared<char>();
};

} // namespace

std::unique_ptr<Transport> makeReplayTransport(boost::asio::io_context& io,
                                               std::shared_ptr<const Recording> recording,
                                               double pace)
{
    return std::make_unique<ReplayTransport>(io, std::move(recording), pace);
}

} // namespace lathe::llm
