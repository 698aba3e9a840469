// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "model_server/model_server.h"

#include <lathe/base/json.h>
#include <lathe/base/text.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <charconv>

namespace lathe::testing {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// One request and its answer; closes afterwards.
class ModelServer::Connection : public std::enable_shared_from_this<Connection>
{
public:
    Connection(ModelServer& server, tcp::socket socket)
        : m_server(server)
        , m_socket(std::move(socket))
        , m_timer(m_socket.get_executor())
    {
        error_code ignored;
        m_socket.set_option(tcp::no_delay(true), ignored); // events leave as they are made
    }

    void start()
    {
        asio::async_read_until(m_socket,
                               m_in,
                               "\r\n\r\n",
                               [self = shared_from_this()](error_code error, std::size_t bytes) {
                                   if (!error && !self->m_closed) {
                                       self->readBody(bytes);
                                   }
                               });
    }

    void close()
    {
        m_closed = true;
        error_code ignored;
        m_socket.close(ignored);
        m_timer.cancel();
    }
    [[nodiscard]] bool open() const { return m_socket.is_open(); }

private:
    void readBody(std::size_t headBytes)
    {
        const auto* data = static_cast<const char*>(m_in.data().data());
        m_seen.head.assign(data, headBytes);
        m_in.consume(headBytes);
        std::size_t length = 0;
        for (const auto& line : splitLines(m_seen.head)) {
            std::string name = line.substr(0, 15);
            std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
                return static_cast<char>(std::tolower(c));
            });
            if (name == "content-length:") {
                const auto value = trimmed(std::string_view(line).substr(15));
                std::from_chars(value.data(), value.data() + value.size(), length);
            }
        }
        const std::size_t missing = length > m_in.size() ? length - m_in.size() : 0;
        asio::async_read(m_socket,
                         m_in,
                         asio::transfer_exactly(missing),
                         [self = shared_from_this()](error_code error, std::size_t) {
                             if (!error && !self->m_closed) {
                                 self->answer();
                             }
                         });
    }

    void answer()
    {
        m_seen.body.assign(static_cast<const char*>(m_in.data().data()), m_in.size());
        m_server.m_requests.push_back(m_seen);
        std::size_t turn = 1;
        if (const auto json = parseJson(m_seen.body)) {
            for (const auto& message : json->value("messages", nlohmann::json::array())) {
                turn += stringOr(message, "role") == "assistant" ? 1 : 0;
            }
        }
        if (turn > m_server.m_script.turns.size()) {
            plain(400, "application/json", R"({"error":{"message":"the script is over"}})", {});
            return;
        }
        const auto& faults = m_server.m_script.turns[turn - 1].faults;
        const std::size_t attempt = m_server.m_attempts[turn]++;
        const Fault* fault = attempt < faults.size() ? &faults[attempt] : nullptr;
        if (fault != nullptr && (fault->kind == "http" || fault->kind == "redirect")) {
            plain(fault->status, "application/json", fault->body, fault->header);
            return;
        }
        if (fault != nullptr && fault->kind == "html") {
            plain(200, "text/html", fault->body, {});
            return;
        }
        m_events = m_server.m_script.events(turn, m_seen.body.size());
        if (fault != nullptr) {
            m_events.resize(std::min(m_events.size(), fault->after));
            if (fault->kind == "error_in_stream") {
                m_events.push_back("data: {\"error\":{\"message\":"
                                   + dumpJson(nlohmann::json(fault->body))
                                   + ",\"type\":\"server_error\"}}");
            }
            m_stall = fault->kind == "stall";
            m_cut = fault->kind == "cut";
        }
        m_out = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: "
                "chunked\r\nConnection: close\r\n\r\n";
        write(&Connection::nextEvent);
    }

    void
    plain(int status, const std::string& type, const std::string& body, const std::string& header)
    {
        m_out = "HTTP/1.1 " + std::to_string(status) + " Scripted\r\nContent-Type: " + type
                + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n"
                + (header.empty() ? "" : header + "\r\n") + "\r\n" + body;
        write(&Connection::close);
    }

    void nextEvent()
    {
        if (m_next >= m_events.size()) {
            if (m_stall) {
                asio::async_read(m_socket,
                                 m_in,
                                 asio::transfer_at_least(1),
                                 [self = shared_from_this()](error_code, std::size_t) {
                                     self->close(); // the client gave up
                                 });
                return;
            }
            if (m_cut) {
                close();
                return;
            }
            m_out = "0\r\n\r\n";
            write(&Connection::close);
            return;
        }
        const std::string data =
            (m_server.m_script.keepAlives ? ": still here\n\n" : "") + m_events[m_next++] + "\n\n";
        char size[20];
        const auto end = std::to_chars(size, size + sizeof size, data.size(), 16).ptr;
        m_out = std::string(size, end) + "\r\n" + data + "\r\n";
        if (m_server.m_script.eventDelayMs <= 0) {
            write(&Connection::nextEvent);
            return;
        }
        m_timer.expires_after(std::chrono::microseconds(
            static_cast<std::int64_t>(m_server.m_script.eventDelayMs * 1000)));
        m_timer.async_wait([self = shared_from_this()](error_code error) {
            if (!error && !self->m_closed) {
                self->write(&Connection::nextEvent);
            }
        });
    }

    void write(void (Connection::*then)())
    {
        asio::async_write(m_socket,
                          asio::buffer(m_out),
                          [self = shared_from_this(), then](error_code error, std::size_t) {
                              if (self->m_closed) {
                                  return;
                              }
                              if (error) {
                                  self->close();
                              } else {
                                  ((*self).*then)();
                              }
                          });
    }

    ModelServer& m_server;
    tcp::socket m_socket;
    asio::steady_timer m_timer;
    asio::streambuf m_in;
    std::string m_out;
    Seen m_seen;
    std::vector<std::string> m_events;
    std::size_t m_next = 0;
    bool m_stall = false;
    bool m_cut = false;
    bool m_closed = false;
};

ModelServer::ModelServer(asio::io_context& io, ModelScript script, unsigned short port)
    : m_io(io)
    , m_acceptor(io, tcp::endpoint(asio::ip::address_v4::loopback(), port))
    , m_script(std::move(script))
{
    accept();
}

ModelServer::~ModelServer()
{
    for (const auto& weak : m_connections) {
        if (const auto connection = weak.lock()) {
            connection->close();
        }
    }
}

int ModelServer::openConnections() const
{
    return static_cast<int>(
        std::count_if(m_connections.begin(), m_connections.end(), [](const auto& weak) {
            const auto connection = weak.lock();
            return connection && connection->open();
        }));
}

void ModelServer::accept()
{
    m_acceptor.async_accept([this](error_code error, tcp::socket socket) {
        if (error) {
            return; // closed: this may be gone
        }
        const auto connection = std::make_shared<Connection>(*this, std::move(socket));
        m_connections.push_back(connection);
        connection->start();
        accept();
    });
}

} // namespace lathe::testing
