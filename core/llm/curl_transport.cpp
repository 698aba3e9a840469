// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The only file that sees curl: its multi interface on the io_context's descriptors and timers.
#include <lathe/base/text.h>
#include <lathe/base/version.h>
#include <lathe/llm/endpoint_profile.h>
#include <lathe/llm/transport.h>

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <cstring>
#include <map>
#include <utility>

namespace lathe::llm {

std::string HttpHead::value(std::string_view name) const
{
    for (const auto& header : headers) {
        if (header.name.size() == name.size()
            && ::strncasecmp(header.name.data(), name.data(), name.size()) == 0) {
            return header.value;
        }
    }
    return {};
}

namespace {

constexpr int kMaxRedirects = 3;

struct Origin
{
    std::string scheme;
    std::string host;
    std::string port;
};

Origin originOf(const std::string& url)
{
    Origin origin;
    CURLU* handle = curl_url();
    if (handle != nullptr && curl_url_set(handle, CURLUPART_URL, url.c_str(), 0) == CURLUE_OK) {
        const auto part = [&](CURLUPart what, unsigned flags) {
            char* text = nullptr;
            std::string out;
            if (curl_url_get(handle, what, &text, flags) == CURLUE_OK && text != nullptr) {
                out = text;
                curl_free(text);
            }
            return out;
        };
        origin = {part(CURLUPART_SCHEME, 0),
                  part(CURLUPART_HOST, 0),
                  part(CURLUPART_PORT, CURLU_DEFAULT_PORT)};
    }
    curl_url_cleanup(handle);
    return origin;
}

/// Whether a request for from may go to to with its key: same host and port, or the same host by
/// https now.
bool sameParty(const std::string& from, const std::string& to)
{
    const Origin a = originOf(from);
    const Origin b = originOf(to);
    if (a.host.empty() || a.host != b.host) {
        return false;
    }
    return (a.scheme == b.scheme && a.port == b.port)
           || (a.scheme == "http" && b.scheme == "https");
}

class CurlTransport final : public Transport
{
public:
    explicit CurlTransport(boost::asio::io_context& io)
        : m_io(io)
        , m_timer(io)
    {
        curl_global_init(CURL_GLOBAL_DEFAULT); // counted; thread-safe since 7.84
        m_multi = curl_multi_init();
        curl_multi_setopt(m_multi, CURLMOPT_SOCKETFUNCTION, &CurlTransport::onSocket);
        curl_multi_setopt(m_multi, CURLMOPT_SOCKETDATA, this);
        curl_multi_setopt(m_multi, CURLMOPT_TIMERFUNCTION, &CurlTransport::onTimer);
        curl_multi_setopt(m_multi, CURLMOPT_TIMERDATA, this);
    }

    ~CurlTransport() override
    {
        while (!m_transfers.empty()) {
            cancel(m_transfers.begin()->first);
        }
        curl_multi_cleanup(m_multi); // may still call onSocket for pooled connections
        m_sockets.clear();
        curl_global_cleanup();
    }

    CurlTransport(const CurlTransport&) = delete;
    CurlTransport& operator=(const CurlTransport&) = delete;

    Id start(HttpRequest request, HttpHandlers handlers) override
    {
        const Id id = ++m_last;
        auto& transfer = m_transfers.try_emplace(id, m_io).first->second;
        transfer.owner = this;
        transfer.id = id;
        transfer.request = std::move(request);
        transfer.handlers = std::move(handlers);
        begin(transfer);
        return id;
    }

    void cancel(Id id) override
    {
        if (const auto it = m_transfers.find(id); it != m_transfers.end()) {
            drop(it->second);
            m_transfers.erase(it);
        }
    }

private:
    struct Transfer
    {
        explicit Transfer(boost::asio::io_context& io)
            : idle(io)
        {}
        CurlTransport* owner = nullptr;
        Id id = 0;
        HttpRequest request;
        HttpHandlers handlers;
        CURL* easy = nullptr;
        curl_slist* list = nullptr;
        boost::asio::steady_timer idle;
        HttpHead head;
        bool headDone = false;
        bool headSent = false;
        int redirects = 0;
        std::vector<std::string> chunks; ///< arrived inside curl, handed out once curl has returned
        std::array<char, CURL_ERROR_SIZE> error{};
    };

    struct Socket
    {
        explicit Socket(boost::asio::io_context& io)
            : descriptor(io)
        {}
        ~Socket() { release(); }
        Socket(const Socket&) = delete;
        Socket& operator=(const Socket&) = delete;
        void release()
        {
            if (descriptor.is_open()) {
                descriptor.release(); // the descriptor is curl's to close
            }
        }
        boost::asio::posix::stream_descriptor descriptor;
        int wanted = 0;
        bool reading = false;
        bool writing = false;
    };

    void begin(Transfer& t)
    {
        t.easy = curl_easy_init();
        const auto add = [&](const std::string& line) {
            t.list = curl_slist_append(t.list, line.c_str());
        };
        for (const auto& header : t.request.headers) {
            add(header.name + ": " + header.value);
        }
        if (!t.request.bearerKey.empty()) {
            add("Authorization: Bearer " + t.request.bearerKey);
        }
        add("Expect:");
        const std::string agent = std::string("lathe/") + version();
        curl_easy_setopt(t.easy, CURLOPT_URL, t.request.url.c_str());
        curl_easy_setopt(t.easy, CURLOPT_PROTOCOLS_STR, "http,https");
        curl_easy_setopt(t.easy, CURLOPT_HTTPHEADER, t.list);
        curl_easy_setopt(
            t.easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(t.request.body.size()));
        curl_easy_setopt(t.easy, CURLOPT_POSTFIELDS, t.request.body.c_str());
        curl_easy_setopt(t.easy, CURLOPT_USERAGENT, agent.c_str());
        curl_easy_setopt(t.easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(t.easy, CURLOPT_FOLLOWLOCATION, 0L);
        curl_easy_setopt(
            t.easy, CURLOPT_QUICK_EXIT, 1L); // removal must not wait for a name lookup's thread
        curl_easy_setopt(t.easy, CURLOPT_TCP_KEEPALIVE, 1L);
        curl_easy_setopt(
            t.easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(t.request.connectSeconds * 1000));
        curl_easy_setopt(t.easy, CURLOPT_WRITEFUNCTION, &CurlTransport::onWrite);
        curl_easy_setopt(t.easy, CURLOPT_WRITEDATA, &t);
        curl_easy_setopt(t.easy, CURLOPT_HEADERFUNCTION, &CurlTransport::onHeader);
        curl_easy_setopt(t.easy, CURLOPT_HEADERDATA, &t);
        curl_easy_setopt(t.easy, CURLOPT_PRIVATE, &t);
        curl_easy_setopt(t.easy, CURLOPT_ERRORBUFFER, t.error.data());
        if (isLoopbackHost(originOf(t.request.url).host)) {
            curl_easy_setopt(t.easy, CURLOPT_NOPROXY, "*");
        }
        curl_multi_add_handle(m_multi, t.easy); // only arms the timer
        armIdle(t);
    }

    void drop(Transfer& t)
    {
        if (t.easy != nullptr) {
            curl_multi_remove_handle(m_multi, t.easy);
            curl_easy_cleanup(t.easy);
            curl_slist_free_all(t.list);
            t.easy = nullptr;
            t.list = nullptr;
        }
        t.idle.cancel();
    }

    void armIdle(Transfer& t)
    {
        t.idle.expires_after(
            std::chrono::milliseconds(static_cast<std::int64_t>(t.request.idleSeconds * 1000)));
        t.idle.async_wait([this, id = t.id, alive = std::weak_ptr(m_alive)](
                              const boost::system::error_code& error) {
            if (error || alive.expired()) {
                return;
            }
            const auto it = m_transfers.find(id);
            if (it != m_transfers.end()
                && it->second.idle.expiry()
                       <= std::chrono::steady_clock::now()) { // not re-armed meanwhile
                end(id, fail(ErrorCode::Timeout, "the endpoint sent nothing for too long"));
            }
        });
    }

    static std::size_t onWrite(char* data, std::size_t size, std::size_t count, void* user)
    {
        static_cast<Transfer*>(user)->chunks.emplace_back(data, size * count);
        return size * count;
    }

    static std::size_t onHeader(char* data, std::size_t size, std::size_t count, void* user)
    {
        Transfer& t = *static_cast<Transfer*>(user);
        const std::string_view line = trimmed({data, size * count});
        if (line.starts_with(
                "HTTP/")) { // a new status line: 100 Continue or a proxy's answer came before
            t.head = {};
            const auto space = line.find(' ');
            if (space != std::string_view::npos) {
                std::from_chars(line.data() + space + 1, line.data() + line.size(), t.head.status);
            }
        } else if (line.empty()) {
            t.headDone = t.head.status >= 200;
        } else if (const auto colon = line.find(':'); colon != std::string_view::npos) {
            t.head.headers.push_back(
                {std::string(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
        }
        return size * count;
    }

    static int onTimer(CURLM*, long milliseconds, void* user)
    {
        auto& self = *static_cast<CurlTransport*>(user);
        self.m_timer.cancel();
        if (milliseconds >= 0) {
            self.m_timer.expires_after(std::chrono::milliseconds(milliseconds));
            self.m_timer.async_wait([&self, alive = std::weak_ptr(self.m_alive)](
                                        const boost::system::error_code& error) {
                if (!error && !alive.expired()) {
                    self.act(CURL_SOCKET_TIMEOUT, 0);
                }
            });
        }
        return 0;
    }

    static int onSocket(CURL*, curl_socket_t fd, int what, void* user, void*)
    {
        auto& self = *static_cast<CurlTransport*>(user);
        if (what == CURL_POLL_REMOVE) {
            self.m_sockets.erase(fd);
            return 0;
        }
        auto& socket = self.m_sockets[fd];
        if (!socket) {
            socket = std::make_shared<Socket>(self.m_io);
            socket->descriptor.assign(fd);
        }
        socket->wanted = what;
        self.watch(fd, socket);
        return 0;
    }

    void watch(curl_socket_t fd, const std::shared_ptr<Socket>& socket)
    {
        const auto arm = [&](int bit,
                             int select,
                             bool Socket::*armed,
                             boost::asio::posix::stream_descriptor::wait_type type) {
            if ((socket->wanted & bit) == 0 || (*socket).*armed) {
                return;
            }
            (*socket).*armed = true;
            std::weak_ptr<Socket> weak = socket;
            socket->descriptor.async_wait(
                type, [this, fd, weak, armed, bit, select](const boost::system::error_code& error) {
                    const auto still = weak.lock();
                    if (!still) {
                        return; // curl let the descriptor go; its number may be another one's now
                    }
                    (*still).*armed = false;
                    if (error == boost::asio::error::operation_aborted) {
                        return;
                    }
                    if ((still->wanted & bit) != 0) {
                        act(fd, error ? CURL_CSELECT_ERR : select);
                    }
                    if (const auto it = m_sockets.find(fd);
                        it != m_sockets.end() && it->second == still) {
                        watch(fd, still);
                    }
                });
        };
        arm(CURL_POLL_IN,
            CURL_CSELECT_IN,
            &Socket::reading,
            boost::asio::posix::stream_descriptor::wait_read);
        arm(CURL_POLL_OUT,
            CURL_CSELECT_OUT,
            &Socket::writing,
            boost::asio::posix::stream_descriptor::wait_write);
    }

    void act(curl_socket_t fd, int events)
    {
        int running = 0;
        curl_multi_socket_action(m_multi, fd, events, &running);
        std::vector<Id> ids;
        for (const auto& [id, transfer] : m_transfers) {
            ids.push_back(id);
        }
        for (const Id id : ids) { // a handler may cancel any transfer, so each is looked up again
            deliver(id);
        }
        int left = 0;
        while (const CURLMsg* message = curl_multi_info_read(m_multi, &left)) {
            if (message->msg == CURLMSG_DONE) {
                void* user = nullptr;
                curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
                finished(*static_cast<Transfer*>(user), message->data.result);
            }
        }
    }

    /// Hands out what curl has collected for one transfer.
    void deliver(Id id)
    {
        auto it = m_transfers.find(id);
        if (it == m_transfers.end() || !it->second.headDone
            || redirectStatus(it->second.head.status)) {
            return;
        }
        if (!it->second.headSent) {
            it->second.headSent = true;
            it->second.handlers.onHead(it->second.head);
            it = m_transfers.find(id);
        }
        if (it == m_transfers.end() || it->second.chunks.empty()) {
            return;
        }
        armIdle(it->second);
        const auto chunks = std::exchange(it->second.chunks, {});
        for (const auto& chunk : chunks) {
            it->second.handlers.onBytes(chunk);
            it = m_transfers.find(id);
            if (it == m_transfers.end()) {
                return;
            }
        }
    }

    static bool redirectStatus(int status)
    {
        return status >= 301 && status <= 308 && status != 304;
    }

    void finished(Transfer& t, CURLcode code)
    {
        const Id id = t.id;
        if (code == CURLE_OK && redirectStatus(t.head.status)) {
            redirect(t);
            return;
        }
        deliver(id);
        if (m_transfers.find(id) == m_transfers.end()) {
            return;
        }
        if (code == CURLE_OK) {
            end(id, {});
            return;
        }
        const std::string host = originOf(t.request.url).host;
        const std::string detail = t.error[0] != '\0' ? t.error.data() : curl_easy_strerror(code);
        const bool timeout = code == CURLE_OPERATION_TIMEDOUT;
        const bool tls = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
        const bool bad = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL;
        end(id,
            fail(timeout      ? ErrorCode::Timeout
                 : tls || bad ? ErrorCode::InvalidArgument
                              : ErrorCode::Network,
                 tls   ? "the certificate of " + host + " cannot be verified"
                 : bad ? "the endpoint's URL cannot be used"
                       : "cannot reach " + host + ": " + detail,
                 detail));
    }

    void redirect(Transfer& t)
    {
        const char* location = nullptr;
        curl_easy_getinfo(t.easy, CURLINFO_REDIRECT_URL, &location);
        const std::string target = location == nullptr ? "" : location;
        const int status = t.head.status;
        if ((status == 307 || status == 308) && t.redirects < kMaxRedirects
            && sameParty(t.request.url, target)) {
            drop(t);
            ++t.redirects;
            t.request.url = target;
            t.head = {};
            t.headDone = false;
            t.chunks.clear();
            begin(t);
            return;
        }
        end(t.id,
            fail(ErrorCode::InvalidArgument,
                 "the endpoint redirects to " + originOf(target).host
                     + "; neither the request nor the key was sent there. Set the profile's "
                       "baseUrl to it if you trust it"));
    }

    void end(Id id, Result<void> result)
    {
        const auto it = m_transfers.find(id);
        if (it == m_transfers.end()) {
            return;
        }
        const auto onDone = std::move(it->second.handlers.onDone);
        drop(it->second);
        m_transfers.erase(it);
        onDone(std::move(result));
    }

    boost::asio::io_context& m_io;
    boost::asio::steady_timer m_timer;
    CURLM* m_multi = nullptr;
    std::map<Id, Transfer> m_transfers;
    std::map<curl_socket_t, std::shared_ptr<Socket>> m_sockets;
    Id m_last = 0;
    std::shared_ptr<char> m_alive =
        std::make_shared<char>(); ///< timers that fired already may run after our end
};

} // namespace

std::unique_ptr<Transport> makeCurlTransport(boost::asio::io_context& io)
{
    return std::make_unique<CurlTransport>(io);
}

} // namespace lathe::llm
