// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/protocol/arm_wire.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

namespace lathe::protocol {
namespace {

tl::unexpected<Error> systemError(const char* what)
{
    return fail(ErrorCode::Protocol, what, std::strerror(errno));
}

/// Readable, or why not.
Result<void> waitReadable(int socket, std::int64_t deadlineNs, int cancelFd)
{
    while (true) {
        int timeoutMs = -1;
        if (deadlineNs >= 0) {
            const std::int64_t left = deadlineNs - monotonicNs();
            timeoutMs = static_cast<int>(
                std::clamp<std::int64_t>((left + 999'999) / 1'000'000, 0, 1'000'000'000));
        }
        std::array<pollfd, 2> fds{{{socket, POLLIN, 0}, {cancelFd, POLLIN, 0}}};
        const int ready = ::poll(fds.data(), cancelFd >= 0 ? 2 : 1, timeoutMs);
        if (ready < 0 && errno != EINTR) {
            return systemError("waiting for an arm failed");
        }
        if (ready > 0 && cancelFd >= 0 && fds[1].revents != 0) {
            return fail(ErrorCode::Cancelled, "cancelled");
        }
        if (ready > 0 && fds[0].revents != 0) {
            return {};
        }
        if (ready == 0 && deadlineNs >= 0 && monotonicNs() >= deadlineNs) {
            return fail(ErrorCode::Timeout, "no answer within the deadline");
        }
    }
}

} // namespace

Result<void> sendPacket(int socket, std::string_view bytes, const std::vector<int>& fds)
{
    if (bytes.empty() || bytes.size() > kMaxPacketBytes || fds.size() > kMaxPacketFds) {
        return fail(ErrorCode::InvalidArgument, "a packet is over the wire's limits");
    }
    iovec part{const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<char> control;
    if (!fds.empty()) {
        control.resize(CMSG_SPACE(fds.size() * sizeof(int)));
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
        std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    }
    while (true) {
        const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL);
        if (sent == static_cast<ssize_t>(bytes.size())) {
            return {};
        }
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        return systemError("the arm's socket is closed");
    }
}

Result<ArmPacket> receivePacket(int socket, std::int64_t deadlineNs, int cancelFd)
{
    ArmPacket packet;
    std::string buffer(kMaxPacketBytes, '\0');
    std::vector<char> control(CMSG_SPACE(kMaxPacketFds * sizeof(int)));
    while (true) {
        if (auto ready = waitReadable(socket, deadlineNs, cancelFd); !ready) {
            return tl::unexpected(ready.error());
        }
        iovec part{buffer.data(), buffer.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        const ssize_t received = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
        if (received < 0) {
            if (errno == EINTR || errno == EAGAIN) {
                continue;
            }
            return systemError("the arm's socket failed");
        }
        // Descriptors first: also those of a packet that is refused must be owned, so that they get
        // closed.
        for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
             header = CMSG_NXTHDR(&message, header)) {
            if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
                continue;
            }
            const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (std::size_t i = 0; i < count; ++i) {
                int fd = -1;
                std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
                packet.fds.emplace_back(fd);
            }
        }
        if (received == 0) {
            return fail(ErrorCode::Protocol, "the arm is gone");
        }
        if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
            return fail(ErrorCode::Protocol, "an arm sent a packet over the wire's limits");
        }
        buffer.resize(static_cast<std::size_t>(received));
        packet.bytes = std::move(buffer);
        return packet;
    }
}

Result<std::pair<UniqueFd, UniqueFd>> makePacketPair()
{
    std::array<int, 2> fds{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds.data()) != 0) {
        return fail(ErrorCode::Io, "cannot make a socket pair", std::strerror(errno));
    }
    std::pair<UniqueFd, UniqueFd> pair{UniqueFd(fds[0]), UniqueFd(fds[1])};
    for (const int fd : fds) {
        // A whole packet has to fit, whatever the machine's default is; a refusal shows at the
        // first large packet.
        const int bytes = 4 * static_cast<int>(kMaxPacketBytes);
        ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    }
    return pair;
}

} // namespace lathe::protocol
