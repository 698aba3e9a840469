// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compiled_variant.h"
#include "reference_variant.h"

#include <lathe/worker/sandbox.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lathe::worker {

/// A task that is being worked on: its file, its reference sandboxes and what is known of its
/// variants.
class OpenTask
{
public:
    /// Same task source and settings: the same arms can be used.
    static std::string keyOf(const protocol::TaskSpec& task,
                             const std::string& device,
                             const std::optional<std::uint64_t>& replaySeed);

    static Result<std::unique_ptr<OpenTask>> open(const Sandbox& sandbox,
                                                  const ArmSettings& arm,
                                                  MemorySpace& memory,
                                                  const std::filesystem::path& folder,
                                                  const protocol::TaskSpec& task,
                                                  const std::optional<std::uint64_t>& replaySeed);
    ~OpenTask();
    OpenTask(const OpenTask&) = delete;
    OpenTask& operator=(const OpenTask&) = delete;

    [[nodiscard]] const std::string& key() const { return m_key; }
    [[nodiscard]] const TaskContext& context() const { return m_context; }
    [[nodiscard]] bool alive() const;
    ReferenceVariant& variant(const protocol::Variant& variant);
    /// Null until it is asked for the first time with start.
    CompiledVariant* compiled(ReferenceVariant& variant, const std::string& mode, bool start);
    /// Background work: one step at a time, the variants in the order they were asked for. True
    /// when work is left.
    bool advance(Ledger& ledger);
    /// Stops or continues everything of the references; what is timed is let run one by one.
    void pauseReference(bool stopped);
    /// Stops or continues the compilations (not the eager arms, which are timed).
    void pauseCompilers(bool stopped);
    /// True while no compilation is under way.
    [[nodiscard]] bool compilersQuiet() const;
    /// Waits until the compilations of these variants, and any other that has begun, are over. Only
    /// Cancelled.
    Result<void> waitForCompilers(const std::vector<ReferenceVariant*>& variants,
                                  const std::function<void(const CompiledVariant&)>& onWait,
                                  int cancelFd,
                                  Ledger& ledger);
    [[nodiscard]] std::string torchText() const { return m_torch; }
    Result<void> waitForArms(double timeoutSeconds, int cancelFd);

private:
    OpenTask() = default;
    std::string m_key;
    std::filesystem::path m_folder;
    std::string m_torch;
    TaskContext m_context;
    ArmSettings m_arm;
    const Sandbox* m_sandbox = nullptr;
    std::unique_ptr<ArmHost> m_host;
    std::unique_ptr<ArmHost> m_compilers;
    // After the hosts: their processes end before their sandboxes.
    std::vector<std::unique_ptr<ReferenceVariant>> m_variants;
    struct Compiled
    {
        const ReferenceVariant* variant;
        std::string mode;
        std::unique_ptr<CompiledVariant> arm;
    };
    std::vector<Compiled> m_compiled;
};

} // namespace lathe::worker
