// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "workshop.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>

#include <algorithm>
#include <fstream>
#include <unistd.h>

namespace lathe::worker {
namespace {

constexpr std::size_t kMostTasks = 2;
constexpr std::size_t kMostKept = 2;
/// Importing torch takes seconds; with two, an edit that follows at once does not wait for it.
constexpr std::size_t kMostWaiting = 2;

std::string cpuText(int cores)
{
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    std::string model = "unknown processor";
    while (std::getline(file, line)) {
        if (line.starts_with("model name")) {
            model = line.substr(std::min(line.size(), line.find(':') + 2));
            break;
        }
    }
    return "CPU: " + model + ", " + std::to_string(cores) + (cores == 1 ? " core" : " cores");
}

} // namespace

Workshop::Workshop(const Sandbox& sandbox, Builder& builder, JudgeSettings settings)
    : m_sandbox(sandbox)
    , m_builder(builder)
    , m_settings(std::move(settings))
    , m_bandwidth(m_settings.arm.threads, m_settings.arm.affinity)
{}

Workshop::~Workshop()
{
    endRetired();
    m_kept.clear();
    for (const auto& [name, device] : m_devices) {
        device->waiting.clear();
    }
    m_tasks.clear();
}

std::filesystem::path Workshop::freshFolder(const std::string& kind)
{
    return m_settings.scratchFolder / (kind + "-" + std::to_string(++m_folders));
}

Result<Workshop::Device*> Workshop::device(const protocol::EvaluateRequest& request)
{
    if (request.device != "cpu" && request.device != "cuda") {
        return fail(ErrorCode::Unsupported,
                    "unknown device " + request.device + "; known are cpu and cuda");
    }
    const std::string name = request.device == "cpu"
                                 ? "cpu"
                                 : "cuda:" + std::to_string(std::max(request.deviceIndex, 0));
    for (const auto& [known, device] : m_devices) {
        if (known == name) {
            return device.get();
        }
    }
    auto device = std::make_unique<Device>();
    device->arm = m_settings.arm;
    device->arm.device = name;
    if (name == "cpu") {
        device->memory = makeHostMemory();
    } else {
        auto cuda = CudaDevice::open(request.deviceIndex);
        if (!cuda) {
            return tl::unexpected(cuda.error());
        }
        device->cuda = std::move(*cuda);
        device->memory = device->cuda->memory();
    }
    m_devices.emplace_back(name, std::move(device));
    return m_devices.back().second.get();
}

Result<OpenTask*> Workshop::openTask(const protocol::EvaluateRequest& request, Device& device)
{
    const std::string key = OpenTask::keyOf(request.task, device.arm.device, request.replaySeed);
    for (auto it = m_tasks.begin(); it != m_tasks.end(); ++it) {
        if ((*it)->key() == key) {
            if (!(*it)->alive()) {
                closeTask(it->get());
                break;
            }
            std::rotate(m_tasks.begin(), it, it + 1);
            return m_tasks.front().get();
        }
    }
    auto task = OpenTask::open(m_sandbox,
                               device.arm,
                               *device.memory,
                               freshFolder("task"),
                               request.task,
                               request.replaySeed);
    if (!task) {
        return tl::unexpected(task.error());
    }
    while (m_tasks.size() >= kMostTasks) {
        closeTask(m_tasks.back().get());
    }
    m_tasks.insert(m_tasks.begin(), std::move(*task));
    return m_tasks.front().get();
}

void Workshop::closeTask(const OpenTask* task)
{
    endRetired();
    // Kept candidates are loaded for variants of some task; dropping them all is simpler than
    // knowing whose.
    m_kept.clear();
    std::erase_if(m_tasks, [task](const auto& open) { return open.get() == task; });
}

void Workshop::ensureWaiting(Device& device)
{
    std::erase_if(device.waiting, [](const auto& one) { return !one->host().alive(); });
    if (device.waiting.empty()) {
        startWaiting(device);
    }
}

void Workshop::startWaiting(Device& device)
{
    auto started = CandidateArm::start(m_sandbox, device.arm, freshFolder("candidate"));
    if (started) {
        device.waiting.push_back(std::move(*started));
    }
}

Result<std::unique_ptr<CandidateArm>> Workshop::takeWaiting(Device& device)
{
    std::erase_if(device.waiting, [](const auto& one) { return !one->host().alive(); });
    if (device.waiting.empty()) {
        return CandidateArm::start(m_sandbox, device.arm, freshFolder("candidate"));
    }
    auto ready = std::find_if(device.waiting.begin(), device.waiting.end(), [](const auto& one) {
        return one->host().ready();
    });
    ready = ready == device.waiting.end() ? device.waiting.begin() : ready;
    auto taken = std::move(*ready);
    device.waiting.erase(ready);
    return taken;
}

std::unique_ptr<CandidateArm> Workshop::takeKept(const std::string& key)
{
    for (auto it = m_kept.begin(); it != m_kept.end(); ++it) {
        if ((*it)->key() == key) {
            auto taken = std::move(*it);
            m_kept.erase(it);
            return taken->host().alive() ? std::move(taken) : nullptr;
        }
    }
    return nullptr;
}

void Workshop::keep(std::unique_ptr<CandidateArm> candidate)
{
    if (!candidate || !candidate->host().alive()) {
        return;
    }
    std::erase_if(m_kept, [&](const auto& kept) { return kept->key() == candidate->key(); });
    m_kept.insert(m_kept.begin(), std::move(candidate));
    if (m_kept.size() > kMostKept) {
        retire(std::move(m_kept.back()));
        m_kept.pop_back();
    }
}

void Workshop::retire(std::unique_ptr<CandidateArm> candidate)
{
    if (candidate) {
        m_retired.push_back(std::move(candidate));
    }
}

void Workshop::retire(std::unique_ptr<CandidateArm::Loaded> loaded)
{
    if (loaded) {
        m_retiredLoads.push_back(std::move(loaded));
    }
}

void Workshop::retire(std::unique_ptr<ArmProcess> process)
{
    if (process) {
        m_retiredProcesses.push_back(std::move(process));
    }
}

void Workshop::endRetired()
{
    m_retiredLoads.clear();
    m_retiredProcesses.clear();
    m_retired.clear();
}

void Workshop::pauseBackground(bool stopped)
{
    if (stopped) {
        endRetired();
    }
    for (const auto& [name, device] : m_devices) {
        for (const auto& waiting : device->waiting) {
            waiting->host().pause(stopped);
        }
    }
    for (const auto& kept : m_kept) {
        kept->host().pause(stopped);
    }
    for (const auto& task : m_tasks) {
        task->pauseReference(stopped);
        if (!stopped || !task->compilersQuiet()) {
            task->pauseCompilers(stopped);
        }
    }
}

void Workshop::idle()
{
    endRetired();
    for (const auto& [name, device] : m_devices) {
        ensureWaiting(*device);
        // One import at a time: the first is the one that is needed next.
        if (device->waiting.size() < kMostWaiting && device->waiting.back()->host().ready()) {
            startWaiting(*device);
        }
    }
    // Preparing is a chain of short questions to arms: a short nap between them is what makes it go
    // on, short enough not to be felt by a request that comes now.
    constexpr std::int64_t kSliceNs = 60'000'000;
    constexpr useconds_t kNapUs = 1000;
    const std::int64_t until = monotonicNs() + kSliceNs;
    const auto working = [this] {
        // One task at a time; the machine is small.
        return std::any_of(m_tasks.begin(), m_tasks.end(), [this](const auto& task) {
            return task->advance(m_background);
        });
    };
    while (working() && monotonicNs() < until) {
        ::usleep(kNapUs);
    }
}

protocol::TargetInfo Workshop::targetInfo(const Device& device, const std::string& torch) const
{
    protocol::TargetInfo info;
    info.name = "local";
    if (device.cuda) {
        info.device = device.cuda->facts().name;
        info.driver = device.cuda->facts().driver;
    } else {
        info.device = cpuText(static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
    }
    info.toolchain = m_builder.toolchain();
    info.torch = torch;
    info.sandbox = m_sandbox.report().rung;
    return info;
}

} // namespace lathe::worker
