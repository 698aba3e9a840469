// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "candidate_arm.h"
#include "open_task.h"

#include <lathe/worker/bandwidth.h>
#include <lathe/worker/builder.h>
#include <lathe/worker/cuda_device.h>
#include <lathe/worker/judge.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lathe::worker {

/// What outlives single evaluations: open tasks, the waiting candidate sandbox, the last right
/// candidates (parents of the next ones), the devices' memory. Owned by the judge, evaluation
/// thread only.
class Workshop
{
public:
    Workshop(const Sandbox& sandbox, Builder& builder, JudgeSettings settings);
    ~Workshop();
    Workshop(const Workshop&) = delete;
    Workshop& operator=(const Workshop&) = delete;

    struct Device
    {
        ArmSettings arm;
        std::unique_ptr<CudaDevice> cuda; ///< null: the CPU
        std::unique_ptr<MemorySpace> memory;
        std::vector<std::unique_ptr<CandidateArm>> waiting; ///< the next one to be used first
        std::string quarantine; ///< why nothing runs on it any more; empty: it is well
    };
    /// The device of a request, opened at first use.
    Result<Device*> device(const protocol::EvaluateRequest& request);
    Result<OpenTask*> openTask(const protocol::EvaluateRequest& request, Device& device);
    /// Starts a waiting sandbox when there is none.
    void ensureWaiting(Device& device);
    /// The waiting sandbox that is ready first; background work starts the next.
    Result<std::unique_ptr<CandidateArm>> takeWaiting(Device& device);
    /// A kept candidate with that content, or null. It has to be given back with keep().
    std::unique_ptr<CandidateArm> takeKept(const std::string& key);
    void keep(std::unique_ptr<CandidateArm> candidate);
    /// Ends these when nobody waits for a verdict, at the latest before the next evaluation.
    void retire(std::unique_ptr<CandidateArm> candidate);
    void retire(std::unique_ptr<CandidateArm::Loaded> loaded);
    void retire(std::unique_ptr<ArmProcess> process);
    void endRetired();
    /// Stops or continues all that works in the background on the device's machine.
    void pauseBackground(bool stopped);
    void closeTask(const OpenTask* task);
    /// One round of background work.
    void idle();

    [[nodiscard]] Builder& builder() { return m_builder; }
    [[nodiscard]] const Sandbox& sandbox() const { return m_sandbox; }
    [[nodiscard]] const JudgeSettings& settings() const { return m_settings; }
    [[nodiscard]] CopyBandwidth& bandwidth() { return m_bandwidth; }
    [[nodiscard]] protocol::TargetInfo targetInfo(const Device& device,
                                                  const std::string& torch) const;
    std::filesystem::path freshFolder(const std::string& kind);

private:
    void startWaiting(Device& device);

    const Sandbox& m_sandbox;
    Builder& m_builder;
    JudgeSettings m_settings;
    CopyBandwidth m_bandwidth;
    Ledger m_background;
    std::uint64_t m_folders = 0;
    std::vector<std::pair<std::string, std::unique_ptr<Device>>> m_devices;
    // Tasks before candidates: a candidate's processes name variants of a task, so candidates go
    // first.
    std::vector<std::unique_ptr<OpenTask>> m_tasks; ///< most recently used first
    std::vector<std::unique_ptr<CandidateArm>> m_kept;
    std::vector<std::unique_ptr<CandidateArm>> m_retired;
    std::vector<std::unique_ptr<CandidateArm::Loaded>> m_retiredLoads;
    std::vector<std::unique_ptr<ArmProcess>> m_retiredProcesses;
};

} // namespace lathe::worker
