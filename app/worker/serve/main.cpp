// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "capabilities.h"
#include "cuda_probe.h"
#include "options.h"
#include "server.h"

#include <lathe/base/files.h>
#include <lathe/base/version.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kScratchPrefix = "scratch-";

/// A private folder below the cache, removed at the end; those of killed workers are removed here.
class Scratch
{
public:
    static Result<fs::path> make(const fs::path& cache)
    {
        if (auto made = makeFolders(cache); !made) {
            return tl::unexpected(made.error());
        }
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(cache, ignored)) {
            const std::string name = entry.path().filename().string();
            int pid = 0;
            if (name.starts_with(kScratchPrefix)) {
                std::from_chars(
                    name.data() + kScratchPrefix.size(), name.data() + name.size(), pid);
            }
            if (pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH) {
                fs::remove_all(entry.path(), ignored);
            }
        }
        return makeTempFolder(cache,
                              std::string(kScratchPrefix) + std::to_string(::getpid()) + "-");
    }
};

/// One machine-wide place whatever the user and TMPDIR are: the locks are between users too.
fs::path lockFolder()
{
    const fs::path folder = "/tmp/lathe-locks";
    if (::mkdir(folder.c_str(), 0777) == 0) {
        ::chmod(folder.c_str(), 01777);
    }
    return folder;
}

BuilderSettings builderSettings(const WorkerOptions& options, const CudaProbe& cuda)
{
    BuilderSettings settings;
    settings.cacheFolder = options.cache / "builds";
    settings.includeFolders = options.includes;
    settings.nvcc = options.nvcc;
    settings.python = options.python;
    if (!cuda.architecture.empty()) {
        settings.cudaArch = cuda.architecture;
    }
    return settings;
}

/// Half of the machine's memory, and never more than an arm is likely to need: a candidate that
/// fills its share must leave the machine usable.
std::uint64_t memoryOfOneSandbox()
{
    constexpr std::uint64_t kMost = 16ull << 30;
    const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
    const auto pageBytes = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
    const std::uint64_t half = pages * pageBytes / 2;
    return half == 0 ? kMost : std::min(kMost, half);
}

class WorkerBench final : public Bench
{
public:
    WorkerBench(const WorkerOptions& options, fs::path scratch)
        : m_options(options)
        , m_scratch(std::move(scratch))
        , m_cuda(probeCuda())
        , m_sandbox(Sandbox::detect(options.allowUnsandboxed))
        , m_builder(m_sandbox, builderSettings(options, m_cuda))
    {
        JudgeSettings settings;
        settings.arm.armBinary = options.arm;
        settings.arm.python = options.python;
        settings.arm.affinity = physicalCores();
        settings.arm.threads = static_cast<int>(settings.arm.affinity.size());
        settings.arm.memoryBytes =
            options.memoryBytes != 0 ? options.memoryBytes : memoryOfOneSandbox();
        settings.scratchFolder = m_scratch;
        settings.lockFolder = lockFolder();
        m_judge = Judge::create(m_sandbox, m_builder, std::move(settings));
    }
    ~WorkerBench() override
    {
        m_judge.reset();
        std::error_code ignored;
        fs::remove_all(m_scratch, ignored);
    }
    WorkerBench(const WorkerBench&) = delete;
    WorkerBench& operator=(const WorkerBench&) = delete;
    protocol::WorkerHello hello() override
    {
        return describeWorker(m_options, m_sandbox, m_builder, m_cuda);
    }
    Judge& judge() override { return *m_judge; }

private:
    WorkerOptions m_options;
    fs::path m_scratch;
    CudaProbe m_cuda;
    Sandbox m_sandbox;
    Builder m_builder;
    std::unique_ptr<Judge> m_judge;
};

/// Ending signals as a descriptor; every thread inherits the mask, children get theirs reset.
int blockSignals()
{
    ::signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        sigaddset(&set, signal);
    }
    ::sigprocmask(SIG_BLOCK, &set, nullptr);
    return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int serve(const WorkerOptions& options)
{
    const UniqueFd signals(blockSignals());
    // Whatever prints to stdout in here must not get into the protocol.
    const UniqueFd in(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10));
    const UniqueFd out(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 10));
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    Server server(in.get(), out.get(), signals.get(), [&]() -> Result<std::unique_ptr<Bench>> {
        auto scratch = Scratch::make(options.cache);
        if (!scratch) {
            return tl::unexpected(scratch.error());
        }
        return std::make_unique<WorkerBench>(options, std::move(*scratch));
    });
    return server.run();
}

int doctor(const WorkerOptions& options)
{
    const CudaProbe cuda = probeCuda();
    const Sandbox sandbox = Sandbox::detect(options.allowUnsandboxed);
    const Builder builder(sandbox, builderSettings(options, cuda));
    const auto hello = describeWorker(options, sandbox, builder, cuda);
    const std::string text =
        options.json ? protocol::encodeHello(hello).json + "\n" : doctorText(hello);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return sandbox.report().usable ? 0 : 1;
}

int runMain(const std::vector<std::string>& words)
{
    ::umask(022); // what is published must be readable to the users inside the sandbox
    const auto options = parseOptions(words);
    if (!options) {
        std::fprintf(stderr, "lathe-worker: %s\n%s", options.error().message.c_str(), usageText());
        return 2;
    }
    switch (options->command) {
    case Command::Serve:
        return serve(*options);
    case Command::Doctor:
        return doctor(*options);
    case Command::Version:
        std::printf("lathe-worker %s\n", version());
        return 0;
    case Command::Help:
        std::fputs(usageText(), stdout);
        return 0;
    }
    return 2;
}

} // namespace
} // namespace lathe::worker

int main(int argc, char** argv)
{
    return lathe::worker::runMain(std::vector<std::string>(argv + 1, argv + argc));
}
