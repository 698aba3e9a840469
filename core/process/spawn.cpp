// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/clock.h>
#include <lathe/process/spawn.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::process {
namespace {

constexpr unsigned kCloseRangeCloexec = 1u << 2;
constexpr int kFallbackMaxFd = 65536;

std::string errnoText(int error)
{
    return std::strerror(
        error); // NOLINT(concurrency-mt-unsafe): glibc's is thread-safe for known errors
}

struct Pipe
{
    UniqueFd readEnd;
    UniqueFd writeEnd;
};

Result<Pipe> makePipe()
{
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) {
        return fail(ErrorCode::Io, "Cannot make a pipe: " + errnoText(errno));
    }
    return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

/// argv[0] with a slash as it is, else the first executable of that name in PATH.
Result<std::string> findProgram(const std::string& name)
{
    if (name.find('/') != std::string::npos) {
        return name;
    }
    const char* variable = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe)
    std::string_view path = variable != nullptr ? variable : "/usr/local/bin:/usr/bin:/bin";
    while (!path.empty()) {
        const auto end = path.find(':');
        const std::string_view folder = path.substr(0, end);
        path = end == std::string_view::npos ? std::string_view() : path.substr(end + 1);
        const std::string candidate = std::string(folder.empty() ? "." : folder) + "/" + name;
        if (::access(candidate.c_str(), X_OK) == 0) {
            return candidate;
        }
    }
    return fail(ErrorCode::NotFound, "Cannot start " + name + ": no such program in PATH");
}

/// Everything the child needs between fork and exec, made before: only async-signal-safe calls may
/// follow a fork in a program with threads.
struct ChildPlan
{
    const char* program = nullptr;
    char* const* argv = nullptr;
    char* const* envp = nullptr;
    const char* workingFolder = nullptr;
    std::vector<std::pair<int, int>>
        fds;         ///< {ours, the child's}; the second of all is above the first's targets
    int highest = 2; ///< the highest number in the child
    std::vector<int> cgroups;
    int errorFd = -1;
    pid_t parent = 0;
    bool newSession = true;
    bool dieWithParent = true;
};

[[noreturn]] void childFailed(int errorFd)
{
    const int error = errno;
    [[maybe_unused]] const auto written = ::write(errorFd, &error, sizeof error);
    ::_exit(127);
}

void resetSignals()
{
    struct sigaction defaults = {};
    defaults.sa_handler = SIG_DFL;
    for (int signal = 1; signal < NSIG; ++signal) {
        ::sigaction(signal, &defaults, nullptr);
    }
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void closeOnExecAll()
{
    if (::syscall(SYS_close_range, 3u, ~0u, kCloseRangeCloexec) == 0) {
        return;
    }
    struct rlimit limit = {};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, kFallbackMaxFd));
    for (int fd = 3; fd < end; ++fd) {
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
}

[[noreturn]] void runChild(ChildPlan& plan)
{
    // Sources first move above every target, so that no dup2 overwrites one that is still needed.
    const int base = plan.highest + 1;
    int errorFd = ::fcntl(plan.errorFd, F_DUPFD_CLOEXEC, base);
    if (errorFd < 0) {
        childFailed(plan.errorFd);
    }
    if (plan.newSession ? ::setsid() < 0 : ::setpgid(0, 0) < 0) {
        childFailed(errorFd);
    }
    if (plan.dieWithParent) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != plan.parent) {
            ::_exit(127);
        }
    }
    for (const int cgroup : plan.cgroups) {
        if (::write(cgroup, "0", 1) != 1) { // "0" names the writer itself
            childFailed(errorFd);
        }
    }
    for (auto& [ours, theirs] : plan.fds) {
        ours = ::fcntl(ours, F_DUPFD_CLOEXEC, base);
        if (ours < 0) {
            childFailed(errorFd);
        }
    }
    closeOnExecAll();
    for (const auto& [ours, theirs] : plan.fds) {
        if (::dup2(ours, theirs) < 0) {
            childFailed(errorFd);
        }
    }
    if (plan.workingFolder != nullptr && ::chdir(plan.workingFolder) != 0) {
        childFailed(errorFd);
    }
    resetSignals();
    ::execve(plan.program, plan.argv, plan.envp);
    childFailed(errorFd);
}

std::vector<char*> pointers(const std::vector<std::string>& words)
{
    std::vector<char*> out;
    out.reserve(words.size() + 1);
    for (const std::string& word : words) {
        out.push_back(
            const_cast<char*>(word.c_str())); // NOLINT(cppcoreguidelines-pro-type-const-cast)
    }
    out.push_back(nullptr);
    return out;
}

int pidfdOpen(pid_t pid)
{
    const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
    if (fd >= 0) {
        ::fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
}

/// 0 when the exec succeeded, else its errno.
int readExecError(int fd)
{
    int error = 0;
    ssize_t bytes = 0;
    do {
        bytes = ::read(fd, &error, sizeof error);
    } while (bytes < 0 && errno == EINTR);
    return bytes == static_cast<ssize_t>(sizeof error) ? error : 0;
}

int waitBlocking(pid_t pid)
{
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/// The child's ends of its standard streams.
struct ChildStreams
{
    UniqueFd null;
    UniqueFd in;
    UniqueFd out;
    UniqueFd err;
};

Result<ChildStreams> connectStreams(const SpawnOptions& options, Child& child, ChildPlan& plan)
{
    ChildStreams streams;
    const auto attach = [&](UniqueFd& ours, UniqueFd& theirs, int number) -> Result<void> {
        auto pipe = makePipe();
        if (!pipe) {
            return tl::unexpected(pipe.error());
        }
        ours = std::move(number == 0 ? pipe->writeEnd : pipe->readEnd);
        theirs = std::move(number == 0 ? pipe->readEnd : pipe->writeEnd);
        plan.fds.emplace_back(theirs.get(), number);
        return {};
    };
    if (options.pipeStdin) {
        if (auto done = attach(child.stdinFd, streams.in, 0); !done) {
            return tl::unexpected(done.error());
        }
    } else {
        streams.null = UniqueFd(::open("/dev/null", O_RDWR | O_CLOEXEC));
        plan.fds.emplace_back(streams.null.get(), 0);
    }
    if (options.pipeStdout) {
        if (auto done = attach(child.stdoutFd, streams.out, 1); !done) {
            return tl::unexpected(done.error());
        }
    }
    if (options.mergeStderr) {
        plan.fds.emplace_back(options.pipeStdout ? streams.out.get() : 1, 2);
    } else if (options.pipeStderr) {
        if (auto done = attach(child.stderrFd, streams.err, 2); !done) {
            return tl::unexpected(done.error());
        }
    }
    return streams;
}

} // namespace

Child::Child(Child&& other) noexcept
    : stdinFd(std::move(other.stdinFd))
    , stdoutFd(std::move(other.stdoutFd))
    , stderrFd(std::move(other.stderrFd))
    , pidFd(std::move(other.pidFd))
    , m_pid(std::exchange(other.m_pid, -1))
{}

Child& Child::operator=(Child&& other) noexcept
{
    if (this != &other) {
        kill();
        stdinFd = std::move(other.stdinFd);
        stdoutFd = std::move(other.stdoutFd);
        stderrFd = std::move(other.stderrFd);
        pidFd = std::move(other.pidFd);
        m_pid = std::exchange(other.m_pid, -1);
    }
    return *this;
}

Child::~Child()
{
    kill();
}

void Child::signalGroup(int signal) const
{
    if (m_pid > 0) {
        ::kill(-m_pid, signal);
    }
}

bool Child::tryWait(int& status)
{
    if (m_pid <= 0) {
        return false;
    }
    siginfo_t info = {};
    if (::waitid(P_PID, static_cast<id_t>(m_pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0
        || info.si_pid == 0) {
        return false;
    }
    // Before the leader is reaped its number still names the group: end what it left behind.
    ::kill(-m_pid, SIGKILL);
    status = waitBlocking(m_pid);
    m_pid = -1;
    return true;
}

bool Child::wait(int& status, std::int64_t deadlineNs)
{
    while (m_pid > 0) {
        if (tryWait(status)) {
            return true;
        }
        const std::int64_t left = deadlineNs < 0 ? INT64_MAX : deadlineNs - monotonicNs();
        if (left <= 0) {
            return false;
        }
        constexpr std::int64_t kMs = 1'000'000;
        std::int64_t ms = std::min<std::int64_t>(left / kMs + 1, 3'600'000);
        pollfd entry = {pidFd.get(), POLLIN, 0};
        if (!pidFd.valid()) {
            ms = std::min<std::int64_t>(ms, 10); // a kernel without pidfd: look again soon
        }
        ::poll(&entry, pidFd.valid() ? 1 : 0, static_cast<int>(ms));
    }
    return false;
}

void Child::kill()
{
    if (m_pid > 0) {
        ::kill(-m_pid, SIGKILL);
        ::kill(m_pid, SIGKILL);
        waitBlocking(m_pid);
        m_pid = -1;
    }
}

Result<Child> spawn(const SpawnOptions& options)
{
    if (options.command.empty()) {
        return fail(ErrorCode::InvalidArgument, "Cannot start a program: the command is empty");
    }
    auto program = findProgram(options.command.front());
    if (!program) {
        return tl::unexpected(program.error());
    }
    auto errorPipe = makePipe();
    if (!errorPipe) {
        return tl::unexpected(errorPipe.error());
    }
    Child child;
    ChildPlan plan;
    auto streams = connectStreams(options, child, plan);
    if (!streams) {
        return tl::unexpected(streams.error());
    }
    plan.fds.insert(plan.fds.end(), options.passFds.begin(), options.passFds.end());
    for (const auto& [ours, theirs] : plan.fds) {
        plan.highest = std::max(plan.highest, theirs);
    }
    const std::vector<char*> argv = pointers(options.command);
    const std::vector<char*> envp = pointers(options.environment);
    plan.program = program->c_str();
    plan.argv = argv.data();
    plan.envp = options.replaceEnvironment ? envp.data() : environ;
    plan.workingFolder = options.workingFolder.empty() ? nullptr : options.workingFolder.c_str();
    plan.errorFd = errorPipe->writeEnd.get();
    plan.cgroups = options.enterCgroups;
    plan.parent = ::getpid();
    plan.newSession = options.newSession;
    plan.dieWithParent = options.dieWithParent;

    // The parent's handlers must not run in the child: signals stay blocked until it has reset
    // them.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t pid = ::fork();
    if (pid == 0) {
        runChild(plan);
    }
    const int forkError = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (pid < 0) {
        return fail(ErrorCode::Io, "Cannot start " + *program + ": " + errnoText(forkError));
    }
    child.m_pid = pid;
    child.pidFd = UniqueFd(pidfdOpen(pid));
    errorPipe->writeEnd.reset();
    if (const int error = readExecError(errorPipe->readEnd.get()); error != 0) {
        child.kill();
        const bool missing = error == ENOENT || error == ENOTDIR;
        return fail(missing ? ErrorCode::NotFound : ErrorCode::Io,
                    "Cannot start " + *program + ": " + errnoText(error));
    }
    return child;
}

} // namespace lathe::process
