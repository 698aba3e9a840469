// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace boost::asio {
class io_context;
}

namespace lathe::llm {

struct HttpHeader
{
    std::string name;
    std::string value;
};

/// One POST to a model endpoint.
struct HttpRequest
{
    std::string url;
    std::vector<HttpHeader> headers; ///< nothing secret: these may be logged
    std::string
        bearerKey; ///< sent as Authorization to the URL's own origin only; empty: no such header
    std::string body;
    double connectSeconds = 20;
    double idleSeconds = 300; ///< without a byte, also before the first
    int turn = 0;             ///< of the run, from 1: names the answer in a recording
};

struct HttpHead
{
    int status = 0;
    std::vector<HttpHeader> headers;
    /// The value of a header, its name in any case; empty when absent.
    [[nodiscard]] std::string value(std::string_view name) const;
};

struct HttpHandlers
{
    std::function<void(const HttpHead&)> onHead;
    std::function<void(std::string_view)> onBytes; ///< one call per chunk as it came
    std::function<void(Result<void>)>
        onDone; ///< once, unless cancelled; an HTTP error status is not a failure
};

/// Moves bytes: the network, or a recording. Core thread; callbacks never run inside start() or
/// cancel().
class Transport
{
public:
    using Id = std::uint64_t;
    virtual ~Transport() = default;
    virtual Id start(HttpRequest request, HttpHandlers handlers) = 0;
    /// The request's connection is closed before this returns and none of its handlers is called
    /// any more.
    virtual void cancel(Id id) = 0;
};

/// libcurl's multi interface on the io_context's sockets and timers. Redirects are followed within
/// the same host only.
std::unique_ptr<Transport> makeCurlTransport(boost::asio::io_context& io);

} // namespace lathe::llm
