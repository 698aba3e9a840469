// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/ui/shell/stall_monitor.h>

#include <nlohmann/json.hpp>

#include <QMetaObject>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <execinfo.h>
#include <time.h>
#include <unistd.h>

namespace lathe::ui {
namespace {

constexpr std::int64_t kLongNs = 50'000'000;
constexpr std::int64_t kStackAfterNs = 30'000'000;
constexpr std::size_t kMostListed = 100;
constexpr int kDepth = 60;

// What the signal's handler fills; read on the same thread, when the wait is over.
std::array<void*, kDepth> g_frames;
volatile std::sig_atomic_t g_depth = 0;

void noteStack(int)
{
    const int before = errno;
    g_depth = backtrace(g_frames.data(), kDepth);
    errno = before;
}

std::string readable(const char* line)
{
    // "binary(mangled+0x12) [0x...]"
    const std::string text(line);
    const auto open = text.find('(');
    const auto plus = text.find('+', open == std::string::npos ? 0 : open);
    if (open == std::string::npos || plus == std::string::npos || plus == open + 1) {
        return text.substr(text.rfind('/', open == std::string::npos ? 0 : open) + 1);
    }
    const std::string mangled = text.substr(open + 1, plus - open - 1);
    int status = 0;
    char* plain = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string name = status == 0 && plain != nullptr ? plain : mangled;
    std::free(plain);
    return name;
}

std::vector<std::string> takeStack()
{
    std::vector<std::string> stack;
    const int depth = g_depth;
    g_depth = 0;
    char** lines = depth > 0 ? backtrace_symbols(g_frames.data(), depth) : nullptr;
    for (int i = 2; lines != nullptr && i < depth; ++i) { // without the handler and its trampoline
        stack.push_back(readable(lines[i]));
    }
    std::free(lines);
    return stack;
}

double ms(std::int64_t ns)
{
    return static_cast<double>(ns) / 1e6;
}

} // namespace

const char* Stall::cause() const
{
    const std::int64_t elsewhere = std::max<std::int64_t>(0, gapNs - cpuNs - queuedNs);
    return queuedNs >= cpuNs && queuedNs >= elsewhere ? "starved"
           : cpuNs >= elsewhere                       ? "working"
                                                      : "blocked";
}

StallMonitor::StallMonitor(std::filesystem::path report, QObject* parent)
    : QObject(parent)
    , m_report(std::move(report))
    , m_gui(pthread_self())
    , m_guiId(gettid())
    , m_madeNs(monotonicNs())
{
    backtrace(g_frames.data(), kDepth); // loads what it needs now, not in the handler
    struct sigaction action = {};
    action.sa_handler = noteStack;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);
    m_thread = std::thread([this] { beat(); });
}

StallMonitor::~StallMonitor()
{
    m_stop = true;
    m_thread.join();
    std::signal(SIGUSR2, SIG_IGN);
    write();
}

StallMonitor::Clocks StallMonitor::now() const
{
    Clocks clocks;
    clockid_t cpu{};
    timespec time{};
    if (pthread_getcpuclockid(m_gui, &cpu) == 0 && clock_gettime(cpu, &time) == 0) {
        clocks.cpuNs = static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
    }
    // proc(5): time on a core, time waiting for one, number of slices
    const std::string path = "/proc/self/task/" + std::to_string(m_guiId) + "/schedstat";
    if (std::FILE* file = std::fopen(path.c_str(), "re")) {
        long long ran = 0;
        long long queued = 0;
        if (std::fscanf(file, "%lld %lld", &ran, &queued) == 2) {
            clocks.queuedNs = queued;
        }
        (void)std::fclose(file);
    }
    clocks.wallNs = monotonicNs();
    return clocks;
}

void StallMonitor::beat()
{
    bool noted = false;
    while (!m_stop) {
        std::this_thread::sleep_for(std::chrono::milliseconds(4));
        const std::int64_t since = m_waitingSinceNs;
        if (since != 0) {
            if (!noted && m_startNs != 0 && monotonicNs() - since > kStackAfterNs) {
                noted = true;
                pthread_kill(m_gui, SIGUSR2);
            }
            continue;
        }
        noted = false;
        const Clocks posted = now();
        m_waitingSinceNs = posted.wallNs;
        QMetaObject::invokeMethod(
            this, [this, posted] { handled(posted); }, Qt::QueuedConnection);
    }
}

void StallMonitor::handled(const Clocks& posted)
{
    const Clocks end = now();
    const std::int64_t gap = end.wallNs - posted.wallNs;
    if (m_startNs == 0) { // what waited until the loop began waited for the start of the program
        m_startNs = end.wallNs;
        m_waitingSinceNs = 0;
        return;
    }
    const std::int64_t queued = end.queuedNs - posted.queuedNs;
    m_longestNs = std::max(m_longestNs, gap);
    m_longestOwnNs = std::max(m_longestOwnNs, gap - queued);
    m_over50OwnMs += gap - queued > kLongNs ? 1 : 0;
    if (gap > kLongNs) {
        ++m_over50Ms;
        if (m_long.size() < kMostListed) {
            m_long.push_back(
                {posted.wallNs - m_startNs, gap, end.cpuNs - posted.cpuNs, queued, takeStack()});
        }
    }
    g_depth = 0;
    ++m_samples;
    m_waitingSinceNs = 0;
}

void StallMonitor::write() const
{
    auto list = nlohmann::json::array();
    for (const Stall& stall : m_long) {
        list.push_back({{"atMs", stall.atNs / 1'000'000},
                        {"ms", ms(stall.gapNs)},
                        {"cpuMs", ms(stall.cpuNs)},
                        {"queuedMs", ms(stall.queuedNs)},
                        {"cause", stall.cause()},
                        {"stack", stall.stack}});
    }
    const nlohmann::json json{{"over50", list},
                              {"longestMs", longestMs()},
                              {"longestOwnMs", ms(m_longestOwnNs)},
                              {"samples", m_samples},
                              {"over50Ms", m_over50Ms},
                              {"over50OwnMs", m_over50OwnMs},
                              {"startMs", ms(m_startNs == 0 ? 0 : m_startNs - m_madeNs)}};
    if (const auto written = writeFileAtomic(m_report, dumpJson(json, 2) + "\n"); !written) {
        qWarning("%s", written.error().message.c_str());
    }
}

} // namespace lathe::ui
