// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_state.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/text.h>
#include <lathe/worker/arm_host.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {
namespace {

namespace fs = std::filesystem;
using protocol::ArmMessage;
using protocol::FieldTag;

constexpr int kControlFd = 3;
// Importing PyTorch 2.11 for CUDA 13 maps 3.0 GiB (VmSize, x86-64); the rest is for what it opens
// later.
constexpr std::uint64_t kTorchAddressBytes = 4ull << 30;
constexpr const char* kArmFolder = "/lathe/bin";
constexpr const char* kInductorFolder = "/lathe/inductor";
/// Reference arms of all workers share compile caches, so they share one user id.
constexpr unsigned kReferenceUid = 0x5fffff00;

/// "home = /opt/x/bin" of a virtual environment.
fs::path virtualEnvironmentHome(const fs::path& prefix)
{
    const auto text = readFile(prefix / "pyvenv.cfg", 1u << 16).value_or("");
    for (const std::string& line : splitLines(text)) {
        const auto equals = line.find('=');
        if (equals != std::string::npos
            && trimmed(std::string_view(line).substr(0, equals)) == "home") {
            return fs::path(trimmed(std::string_view(line).substr(equals + 1)));
        }
    }
    return {};
}

/// The environment's own folder and the folder of the Python that it was made from.
void addPython(std::vector<Mount>& mounts, const fs::path& python)
{
    std::error_code error;
    const auto add = [&](const fs::path& prefix) {
        if (prefix.has_relative_path() && prefix != "/usr" && prefix != "/usr/local"
            && fs::is_directory(prefix, error)) {
            mounts.push_back({fs::canonical(prefix, error), prefix, false});
        }
    };
    const fs::path prefix = python.parent_path().parent_path();
    add(prefix);
    const fs::path home = virtualEnvironmentHome(prefix);
    if (!home.empty()) {
        add(home.parent_path());
    }
    const fs::path base = fs::canonical(python, error).parent_path().parent_path();
    if (base != prefix && base != home.parent_path()) {
        add(base);
    }
}

/// Phases of reference arms must be able to write what earlier ones left there.
Result<void> giveFolder(const fs::path& folder, unsigned uid)
{
    if (auto made = makeFolders(folder); !made) {
        return made;
    }
    if (uid != 0 && ::chown(folder.c_str(), uid, uid) != 0) {
        return fail(ErrorCode::Io,
                    "Cannot give the compile cache " + folder.string() + " to the reference arms",
                    std::strerror(errno)); // NOLINT(concurrency-mt-unsafe)
    }
    return {};
}

SandboxOptions armOptions(const ArmSettings& settings,
                          const fs::path& taskFolder,
                          const fs::path& candidateFolder,
                          bool isolated)
{
    SandboxOptions options;
    options.purpose = "arm";
    options.command = {std::string(kArmFolder) + "/" + settings.armBinary.filename().string(),
                       "zygote",
                       "--control-fd",
                       std::to_string(kControlFd)};
    options.mounts = {{fs::absolute(settings.armBinary).parent_path(), kArmFolder, false},
                      {fs::absolute(taskFolder), "/task", false},
                      {fs::absolute(candidateFolder), "/candidate", false}};
    addPython(options.mounts, settings.python);
    options.environment = {"LATHE_PYTHON=" + settings.python.string()};
    if (!settings.inductorCache.empty()) {
        options.mounts.push_back({fs::absolute(settings.inductorCache), kInductorFolder, true});
    }
    const std::string cache = settings.inductorCache.empty() ? "/tmp/inductor"
                              : isolated                     ? kInductorFolder
                                         : fs::absolute(settings.inductorCache).string();
    options.environment.push_back("TORCHINDUCTOR_CACHE_DIR=" + cache);
    options.environment.push_back("TRITON_CACHE_DIR=" + cache + "/triton");
    if (settings.threads > 0) {
        for (const char* name : {"OMP_NUM_THREADS=", "MKL_NUM_THREADS="}) {
            options.environment.push_back(name + std::to_string(settings.threads));
        }
    }
    options.gpu = settings.device.starts_with("cuda");
    options.keepSetuid = true;
    options.memoryBytes = settings.memoryBytes;
    options.libraryBytes = kTorchAddressBytes;
    // Threads count too: several phases live in one sandbox, each with a pool as large as the
    // machine, and a compiled arm starts a compiler a core.
    options.maxProcesses = std::max(options.maxProcesses, 48 * settings.threads);
    return options;
}

class ZygoteHost final : public ArmHost
{
public:
    ZygoteHost(std::shared_ptr<ArmState> state, std::string taskPath, std::string candidatePath)
        : m_state(std::move(state))
        , m_taskPath(std::move(taskPath))
        , m_candidatePath(std::move(candidatePath))
    {}
    ~ZygoteHost() override { stop(); }

    Result<std::string> waitReady(double timeoutSeconds, int cancelFd) override
    {
        if (m_state->readyText.empty()) {
            auto ready = m_state->await(ArmMessage::Ready, 0, deadlineIn(timeoutSeconds), cancelFd);
            if (!ready) {
                return withOutput(ready.error(), "The arm did not start");
            }
            if (ready->type() == ArmMessage::Failed) {
                return fail(ErrorCode::Unsupported,
                            "The arm did not start: " + ready->text(FieldTag::Text2),
                            ready->text(FieldTag::Text3));
            }
        }
        return m_state->readyText;
    }

    [[nodiscard]] bool alive() const override { return m_state->alive(); }

    [[nodiscard]] bool ready() override
    {
        if (m_state->readyText.empty() && alive()) {
            m_state->await(ArmMessage::Ready, 0, monotonicNs(), -1);
        }
        return !m_state->readyText.empty() || !alive();
    }

    void pause(bool stopped) override { m_state->pause(stopped); }

    Result<std::unique_ptr<ArmProcess>> fork(const std::string& phase, int cancelFd) override
    {
        constexpr double kStartSeconds = 120; // torch's import on a busy machine
        if (auto ready = waitReady(kStartSeconds, cancelFd); !ready) {
            return tl::unexpected(ready.error());
        }
        auto sockets = protocol::makePacketPair();
        if (!sockets) {
            return tl::unexpected(sockets.error());
        }
        auto output = m_state->drain.open();
        if (!output) {
            return tl::unexpected(output.error());
        }
        const unsigned uid = m_state->nextUid();
        const std::uint32_t serial = ++m_state->serial;
        const auto packet = forkRequest(phase, uid).packet(serial);
        if (!packet) {
            return tl::unexpected(packet.error());
        }
        auto sent = protocol::sendPacket(
            m_state->control.get(), *packet, {sockets->second.get(), output->writeEnd.get()});
        if (!sent) {
            return tl::unexpected(withOutput(sent.error(), "The arm is gone").error());
        }
        constexpr double kForkSeconds = 20;
        auto forked =
            m_state->await(ArmMessage::Forked, serial, deadlineIn(kForkSeconds), cancelFd);
        if (!forked) {
            if (forked.error().code == ErrorCode::Timeout) {
                m_state->stopAll(); // a zygote that does not answer is of no use to anyone
            }
            return tl::unexpected(
                withOutput(forked.error(), "The arm did not start a process").error());
        }
        if (forked->type() == ArmMessage::Failed) {
            return fail(ErrorCode::Unsupported,
                        "The arm cannot start a process: " + forked->text(FieldTag::Text2),
                        forked->text(FieldTag::Text3));
        }
        const std::int64_t pid = forked->integer(FieldTag::Int);
        m_state->endedPhases.erase(pid); // of an earlier process of that number
        m_state->livePhases[pid] = uid;
        return std::make_unique<PhaseProcess>(
            m_state, pid, uid, std::move(sockets->first), std::move(output->tail));
    }

    [[nodiscard]] std::string taskPath() const override { return m_taskPath; }
    [[nodiscard]] std::string candidatePath() const override { return m_candidatePath; }
    void stop() override { m_state->stopAll(); }

    [[nodiscard]] std::pair<double, std::uint64_t> usage() const override
    {
        std::pair<double, std::uint64_t> sum = {0, 0};
        for (const TreeProcess& process : m_state->tree()) {
            sum.first += process.cpuSeconds;
            sum.second += process.residentBytes;
        }
        return sum;
    }

private:
    protocol::ArmWriter forkRequest(const std::string& phase, unsigned uid) const
    {
        const ArmSettings& settings = m_state->settings;
        protocol::ArmWriter request(ArmMessage::Fork);
        request.integer(FieldTag::Int, uid)
            .text(FieldTag::Text, phase)
            .integers(FieldTag::Ints, {settings.affinity.begin(), settings.affinity.end()})
            .integer(FieldTag::Int2, settings.threads)
            .text(FieldTag::Text2, settings.device);
        return request;
    }

    Result<std::string> withOutput(const Error& error, const char* what) const
    {
        if (error.code == ErrorCode::Cancelled) {
            return tl::unexpected(error);
        }
        return fail(
            error.code, std::string(what) + ": " + error.message, m_state->zygoteOutput->take());
    }

    std::shared_ptr<ArmState> m_state;
    std::string m_taskPath;
    std::string m_candidatePath;
};

} // namespace

Result<std::unique_ptr<ArmHost>> ArmHost::start(const Sandbox& sandbox,
                                                const ArmSettings& settings,
                                                const fs::path& taskFolder,
                                                const fs::path& candidateFolder)
{
    if (::access(settings.armBinary.c_str(), X_OK) != 0) {
        return fail(ErrorCode::NotFound,
                    "There is no arm at " + settings.armBinary.string()
                        + ": build lathe-arm or name it with --arm");
    }
    auto state = std::make_shared<ArmState>();
    state->settings = settings;
    state->isolated = sandbox.isolated();
    // Reference arms share one compile cache, so they share one user as well.
    const bool reference = !settings.inductorCache.empty();
    if (sandbox.firstUid() != 0 && reference) {
        state->nextUid = [] { return kReferenceUid; };
    } else {
        state->nextUid = [sandbox] { return sandbox.takeUid(); };
    }
    if (reference) {
        const unsigned owner = sandbox.firstUid() != 0 ? kReferenceUid : 0;
        if (auto given = giveFolder(settings.inductorCache, owner); !given) {
            return tl::unexpected(given.error());
        }
    }
    auto sockets = protocol::makePacketPair();
    if (!sockets) {
        return tl::unexpected(sockets.error());
    }
    auto output = state->drain.open();
    if (!output) {
        return tl::unexpected(output.error());
    }
    SandboxOptions options = armOptions(settings, taskFolder, candidateFolder, sandbox.isolated());
    options.passFds = {{sockets->second.get(), kControlFd},
                       {output->writeEnd.get(), 1},
                       {output->writeEnd.get(), 2}};
    auto child = sandbox.start(options);
    if (!child) {
        return tl::unexpected(child.error());
    }
    state->sandbox = std::move(*child);
    state->control = std::move(sockets->first);
    state->zygoteOutput = std::move(output->tail);
    const bool isolated = sandbox.isolated();
    return std::make_unique<ZygoteHost>(std::move(state),
                                        isolated ? "/task" : fs::absolute(taskFolder).string(),
                                        isolated ? "/candidate"
                                                 : fs::absolute(candidateFolder).string());
}

SandboxOptions armSandboxOptions(const ArmSettings& settings,
                                 const fs::path& taskFolder,
                                 const fs::path& candidateFolder,
                                 bool isolated,
                                 std::string* inside)
{
    SandboxOptions options = armOptions(settings, taskFolder, candidateFolder, isolated);
    if (inside != nullptr) {
        *inside = options.command.front();
    }
    options.command.clear();
    options.keepSetuid = false;
    return options;
}

} // namespace lathe::worker
