// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "open_task.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>
#include <lathe/base/sha256.h>
#include <lathe/protocol/types_json.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>

namespace lathe::worker {

std::string OpenTask::keyOf(const protocol::TaskSpec& task,
                            const std::string& device,
                            const std::optional<std::uint64_t>& replaySeed)
{
    return sha256Hex(task.source + '\0' + dumpJson(protocol::toJson(task)) + '\0' + device + '\0'
                     + (replaySeed ? std::to_string(*replaySeed) : std::string("secret")));
}

Result<std::unique_ptr<OpenTask>> OpenTask::open(const Sandbox& sandbox,
                                                 const ArmSettings& arm,
                                                 MemorySpace& memory,
                                                 const std::filesystem::path& folder,
                                                 const protocol::TaskSpec& task,
                                                 const std::optional<std::uint64_t>& replaySeed)
{
    std::unique_ptr<OpenTask> out(new OpenTask);
    out->m_key = keyOf(task, arm.device, replaySeed);
    out->m_folder = folder;
    out->m_arm = arm;
    out->m_arm.inductorCache = cacheFolder() / "inductor";
    out->m_sandbox = &sandbox;
    const auto taskFolder = folder / "task";
    const auto emptyFolder = folder / "none";
    for (const auto& made : {taskFolder, emptyFolder}) {
        if (auto done = makeFolders(made); !done) {
            return tl::unexpected(done.error());
        }
    }
    if (auto written = writeFileAtomic(taskFolder / "reference.py", task.source); !written) {
        return tl::unexpected(written.error());
    }
    auto host = ArmHost::start(sandbox, out->m_arm, taskFolder, emptyFolder);
    if (!host) {
        return tl::unexpected(host.error());
    }
    out->m_host = std::move(*host);
    out->m_context.task = task;
    out->m_context.device = arm.device;
    out->m_context.replaySeed = replaySeed;
    out->m_context.memory = &memory;
    out->m_context.host = out->m_host.get();
    out->m_context.taskFile = out->m_host->taskPath() + "/reference.py";
    return out;
}

OpenTask::~OpenTask()
{
    m_compiled.clear();
    m_variants.clear();
    m_compilers.reset();
    m_host.reset();
    std::error_code ignored;
    std::filesystem::remove_all(m_folder, ignored);
}

bool OpenTask::alive() const
{
    // A reference that somebody killed says nothing of the task: it is tried again, in a new
    // sandbox.
    const bool killed = std::any_of(m_variants.begin(), m_variants.end(), [](const auto& variant) {
        return variant->killed();
    });
    return m_host->alive() && !killed && (!m_compilers || m_compilers->alive());
}

Result<void> OpenTask::waitForArms(double timeoutSeconds, int cancelFd)
{
    auto text = m_host->waitReady(timeoutSeconds, cancelFd);
    if (!text) {
        return tl::unexpected(text.error());
    }
    m_torch = std::move(*text);
    return {};
}

ReferenceVariant& OpenTask::variant(const protocol::Variant& variant)
{
    for (const auto& known : m_variants) {
        if (known->name() == variant.name) {
            return *known;
        }
    }
    return *m_variants.emplace_back(std::make_unique<ReferenceVariant>(m_context, variant));
}

CompiledVariant* OpenTask::compiled(ReferenceVariant& variant, const std::string& mode, bool start)
{
    for (const Compiled& known : m_compiled) {
        if (known.variant == &variant && known.mode == mode) {
            return known.arm.get();
        }
    }
    if (!start) {
        return nullptr;
    }
    if (!m_compilers) {
        auto host = ArmHost::start(*m_sandbox, m_arm, m_folder / "task", m_folder / "none");
        if (!host) {
            return nullptr;
        }
        m_compilers = std::move(*host);
    }
    m_compiled.push_back(
        {&variant, mode, std::make_unique<CompiledVariant>(*m_compilers, variant, mode)});
    return m_compiled.back().arm.get();
}

bool OpenTask::advance(Ledger& ledger)
{
    for (const auto& variant : m_variants) {
        if (variant->ready()) {
            continue;
        }
        const auto done = variant->advance(false, -1, ledger);
        if (done && !*done) {
            return true;
        }
    }
    // One compilation at a time: they are the ones that fill the machine.
    for (const Compiled& compiled : m_compiled) {
        if (compiled.arm->settled()) {
            continue;
        }
        const auto done = compiled.arm->advance(false, -1, ledger);
        if (done && !*done) {
            return true;
        }
    }
    return false;
}

void OpenTask::pauseReference(bool stopped)
{
    m_host->pause(stopped);
}

void OpenTask::pauseCompilers(bool stopped)
{
    if (m_compilers) {
        m_compilers->pause(stopped);
    }
}

bool OpenTask::compilersQuiet() const
{
    return std::none_of(m_compiled.begin(), m_compiled.end(), [](const Compiled& compiled) {
        return compiled.arm->busy();
    });
}

Result<void> OpenTask::waitForCompilers(const std::vector<ReferenceVariant*>& variants,
                                        const std::function<void(const CompiledVariant&)>& onWait,
                                        int cancelFd,
                                        Ledger& ledger)
{
    for (const Compiled& compiled : m_compiled) {
        const bool wanted =
            std::find(variants.begin(), variants.end(), compiled.variant) != variants.end();
        if (compiled.arm->settled() || !(wanted || compiled.arm->busy())) {
            continue;
        }
        onWait(*compiled.arm);
        const auto done = compiled.arm->advance(true, cancelFd, ledger);
        if (!done) {
            return tl::unexpected(done.error());
        }
    }
    return {};
}

} // namespace lathe::worker
