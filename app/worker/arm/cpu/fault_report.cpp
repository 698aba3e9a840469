// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/fault_report.h"

#include <lathe/protocol/arm_wire.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

namespace lathe::arm {
namespace {

struct ProtectedRange
{
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::int64_t set = 0;

    std::array<char, 512> packet{}; // encoded beforehand: nothing may allocate in a signal handler
    std::size_t packetBytes = 0;
};

constexpr std::size_t kMaxRanges = 256;
constexpr std::size_t kSerialOffset = 8;
constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// A signal handler has no context argument: this is all it can reach. Written by the control thread
// between calls.
struct FaultState
{
    int socket = -1;
    std::uint32_t serial = 0;
    const char* kernel = nullptr;
    std::size_t ranges = 0;
    std::array<ProtectedRange, kMaxRanges> range;
    std::array<struct sigaction, std::size(kSignals)> before;
};
FaultState g_fault;

void say(const char* text)
{
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

const char* nameOf(int signal)
{
    switch (signal) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "SIGABRT";
    }
}

void answerProtected(std::uintptr_t address)
{
    for (std::size_t i = 0; i < g_fault.ranges; ++i) {
        ProtectedRange& range = g_fault.range[i];
        if (address < range.begin || address >= range.end)
            continue;
        say("lathe-arm: write to an input that is read-only\n");
        std::memcpy(range.packet.data() + kSerialOffset, &g_fault.serial, sizeof g_fault.serial);
        if (g_fault.socket >= 0 && range.packetBytes > 0)
            send(g_fault.socket, range.packet.data(), range.packetBytes, MSG_NOSIGNAL);
        return;
    }
}

void onFatalSignal(int signal, siginfo_t* info, void*)
{
    say("lathe-arm: ");
    say(nameOf(signal));
    if (g_fault.kernel) {
        say(" in kernel ");
        say(g_fault.kernel);
    }
    say("\n");
    if (signal == SIGSEGV || signal == SIGBUS)
        answerProtected(reinterpret_cast<std::uintptr_t>(info->si_addr));
    // What was there before (Python's faulthandler, which prints the Python stack) has the last
    // word.
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
        if (kSignals[i] == signal)
            sigaction(signal, &g_fault.before[i], nullptr);
    raise(signal);
}

} // namespace

CurrentKernel::CurrentKernel(const char* name)
    : m_before(g_fault.kernel)
{
    g_fault.kernel = name;
}
CurrentKernel::~CurrentKernel()
{
    g_fault.kernel = m_before;
}

void resetFatalSignals()
{
    for (const int signal : kSignals)
        std::signal(signal, SIG_DFL);
}

void installFaultReport(int socket)
{
    g_fault.socket = socket;
    // Its own stack, so that a stack overflow is reported too. Lives as long as the process.
    constexpr std::size_t kStackBytes = 64 * 1024;
    void* const stack =
        mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack != MAP_FAILED) {
        stack_t alternate{};
        alternate.ss_sp = stack;
        alternate.ss_size = kStackBytes;
        sigaltstack(&alternate, nullptr);
    }
    struct sigaction action
    {};
    action.sa_sigaction = onFatalSignal;
    action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_NODEFER);
    for (std::size_t i = 0; i < std::size(kSignals); ++i)
        sigaction(kSignals[i], &action, &g_fault.before[i]);
}

void addProtectedRange(const void* data, std::size_t bytes, int input, std::int64_t set)
{
    if (g_fault.ranges == kMaxRanges || bytes == 0)
        return;
    const auto packet = protocol::ArmWriter(protocol::ArmMessage::Failed)
                            .text(protocol::FieldTag::Text, "contract")
                            .text(protocol::FieldTag::Text2,
                                  "The candidate wrote to input " + std::to_string(input)
                                      + ", which forward must not change.")
                            .packet(0);
    ProtectedRange& range = g_fault.range[g_fault.ranges];
    range.begin = reinterpret_cast<std::uintptr_t>(data);
    range.end = range.begin + bytes;
    range.set = set;
    range.packetBytes = 0;
    if (packet && packet->size() <= range.packet.size()) {
        std::copy(packet->begin(), packet->end(), range.packet.begin());
        range.packetBytes = packet->size();
    }
    ++g_fault.ranges;
}

void removeProtectedRanges(std::int64_t set)
{
    const auto begin = g_fault.range.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(g_fault.ranges);
    const auto kept =
        std::remove_if(begin, end, [set](const ProtectedRange& range) { return range.set == set; });
    g_fault.ranges = static_cast<std::size_t>(kept - begin);
}

void setFaultSerial(unsigned serial)
{
    g_fault.serial = serial;
}

} // namespace lathe::arm
