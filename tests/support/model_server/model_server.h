// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model_server/model_script.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace lathe::testing {

/// Plays a script over HTTP on 127.0.0.1: OpenAI chat completions, streamed. The turn is found from
/// the request (its assistant messages so far), so a retry gets the same turn again. Lives on the
/// io_context's thread.
class ModelServer
{
public:
    struct Seen
    {
        std::string head;
        std::string body;
    };

    ModelServer(boost::asio::io_context& io, ModelScript script, unsigned short port = 0);
    ~ModelServer();
    ModelServer(const ModelServer&) = delete;
    ModelServer& operator=(const ModelServer&) = delete;
    [[nodiscard]] unsigned short port() const { return m_acceptor.local_endpoint().port(); }
    [[nodiscard]] std::string baseUrl() const
    {
        return "http://127.0.0.1:" + std::to_string(port()) + "/v1";
    }
    [[nodiscard]] const std::vector<Seen>& requests() const { return m_requests; }
    [[nodiscard]] int openConnections() const;

private:
    class Connection;
    void accept();
    boost::asio::io_context& m_io;
    boost::asio::ip::tcp::acceptor m_acceptor;
    ModelScript m_script;
    std::vector<Seen> m_requests;
    std::map<std::size_t, std::size_t> m_attempts; ///< per turn
    std::vector<std::weak_ptr<Connection>> m_connections;
};

} // namespace lathe::testing
