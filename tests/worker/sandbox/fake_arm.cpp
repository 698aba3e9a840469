// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// A zygote without torch: speaks the arm's wire so that the host can be tested alone. Its phases do
// what the text of a LoadCandidate request says, mostly harm.
#include <lathe/protocol/arm_wire.h>

#include <arpa/inet.h>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <string>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace lathe::protocol;
using lathe::UniqueFd;

void answer(int socket, std::uint32_t serial, const ArmWriter& message)
{
    if (!sendPacket(socket, message.packet(serial).value())) {
        ::_exit(3);
    }
}

std::string readText(const std::string& path)
{
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char buffer[4096];
    const ssize_t bytes = fd.valid() ? ::read(fd.get(), buffer, sizeof buffer) : -1;
    return bytes < 0 ? "errno " + std::to_string(errno)
                     : std::string(buffer, static_cast<std::size_t>(bytes));
}

int connectTo(int port)
{
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                           : errno;
}

int countForks(int wanted)
{
    int count = 0;
    for (; count < wanted; ++count) {
        const pid_t pid = ::fork();
        if (pid < 0) {
            break;
        }
        if (pid == 0) {
            ::setsid();
            ::pause();
            ::_exit(0);
        }
    }
    return count;
}

/// Touches memory page by page; the kernel ends this process at its limit.
void eatMemory(std::size_t bytes)
{
    auto* memory = static_cast<char*>(::mmap(nullptr,
                                             bytes,
                                             PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                                             -1,
                                             0));
    for (std::size_t at = 0; at < bytes; at += 4096) {
        memory[at] = 1;
    }
}

void flood(std::size_t bytes)
{
    const std::string block(65536, 'f');
    for (std::size_t sent = 0; sent < bytes; sent += block.size()) {
        [[maybe_unused]] const auto written = ::write(1, block.data(), block.size());
    }
    [[maybe_unused]] const auto written = ::write(2, "the end\xff", 8);
}

ArmWriter act(const std::string& action, const std::string& argument)
{
    ArmWriter ok(ArmMessage::Ok);
    const auto number = std::strtoull(argument.c_str(), nullptr, 10);
    if (action == "crash") {
        std::signal(SIGSEGV, SIG_DFL); // a sanitizer's handler would turn it into an exit
        ::raise(SIGSEGV);
    } else if (action == "exit") {
        ::_exit(static_cast<int>(number));
    } else if (action == "hang") {
        for (;;) {
            ::pause();
        }
    } else if (action == "flood") {
        flood(number);
    } else if (action == "read") {
        ok.text(FieldTag::Text, readText(argument));
    } else if (action == "write") {
        const UniqueFd fd(::open(argument.c_str(), O_WRONLY | O_CREAT, 0644));
        ok.integer(FieldTag::Int, fd.valid() ? 0 : errno);
    } else if (action == "connect") {
        ok.integer(FieldTag::Int, connectTo(static_cast<int>(number)));
    } else if (action == "forks") {
        ok.integer(FieldTag::Int, countForks(static_cast<int>(number)));
    } else if (action == "uid") {
        ok.integer(FieldTag::Int, ::getuid()).text(FieldTag::Text, readText("/proc/self/status"));
    } else if (action == "killzygote") {
        ok.integer(FieldTag::Int, ::kill(::getppid(), SIGKILL) == 0 ? 0 : errno);
    } else if (action == "environment") {
        std::string all;
        for (char** variable = environ; *variable != nullptr; ++variable) {
            all += *variable + std::string("\n");
        }
        ok.text(FieldTag::Text, all);
    } else if (action == "memory") {
        eatMemory(number);
    }
    return ok;
}

[[noreturn]] void runPhase(UniqueFd socket)
{
    while (true) {
        auto packet = receivePacket(socket.get(), -1);
        if (!packet) {
            ::_exit(0);
        }
        auto message = ArmReader::parse(packet->bytes);
        if (!message || message->type() == ArmMessage::Exit) {
            ::_exit(0);
        }
        const std::string text = message->text(FieldTag::Text);
        const auto colon = text.find(':');
        const std::string argument = colon == std::string::npos ? "" : text.substr(colon + 1);
        if (text.starts_with("lie")) {
            answer(socket.get(), message->serial() + 7, ArmWriter(ArmMessage::Ok));
        } else if (text.starts_with("garbage")) {
            [[maybe_unused]] const auto sent = sendPacket(socket.get(), "not a message at all");
        } else {
            answer(socket.get(), message->serial(), act(text.substr(0, colon), argument));
        }
    }
}

void forkPhase(int control, const ArmReader& request, std::vector<UniqueFd> fds)
{
    const pid_t pid = ::fork();
    if (pid == 0) {
        const auto uid = static_cast<uid_t>(request.integer(FieldTag::Int));
        ::dup2(fds.at(1).get(), 1);
        ::dup2(fds.at(1).get(), 2);
        ::close(control);
        fds.at(1).reset();
        if (uid != 0
            && (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0
                || ::setresuid(uid, uid, uid) != 0)) {
            ::_exit(99);
        }
        runPhase(std::move(fds.at(0)));
    }
    answer(control, request.serial(), ArmWriter(ArmMessage::Forked).integer(FieldTag::Int, pid));
}

void reapAll(int control)
{
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        answer(control,
               0,
               ArmWriter(ArmMessage::ChildExited)
                   .integer(FieldTag::Int, pid)
                   .integer(FieldTag::Int2, status));
    }
}

} // namespace

int main(int argc, char** argv)
{
    if (argc < 4 || std::string(argv[1]) != "zygote") {
        return 2;
    }
    const int control = std::atoi(argv[3]);
    ::fcntl(control, F_SETFD, FD_CLOEXEC);
    answer(control,
           0,
           ArmWriter(ArmMessage::Ready).text(FieldTag::Text, "none").text(FieldTag::Text2, "none"));
    while (true) {
        pollfd entry = {control, POLLIN, 0};
        if (::poll(&entry, 1, 5) > 0) {
            auto packet = receivePacket(control, -1);
            if (!packet) {
                return 0;
            }
            auto request = ArmReader::parse(packet->bytes);
            if (request && request->type() == ArmMessage::Fork) {
                forkPhase(control, *request, std::move(packet->fds));
            }
        }
        reapAll(control);
    }
}
