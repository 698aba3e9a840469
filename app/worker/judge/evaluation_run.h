// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "attested.h"
#include "bench.h"
#include "gates.h"
#include "verification.h"
#include "workshop.h"

#include <lathe/process/cancel.h>
#include <lathe/protocol/messages.h>
#include <lathe/worker/device_lock.h>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::worker {

/// Which variants of a task a request is about, the headline first.
std::vector<protocol::Variant> chosenVariants(const protocol::EvaluateRequest& request);

/// One evaluate or baseline request from beginning to end. Lives on the evaluation thread for that
/// long.
class EvaluationRun
{
public:
    EvaluationRun(Workshop& workshop,
                  const protocol::EvaluateRequest& request,
                  const EventSink& sink,
                  const process::CancelSource& cancel);
    ~EvaluationRun();
    Result<protocol::EvaluateDone> evaluate();
    Result<protocol::EvaluateDone> baseline();
    /// What exec needs: the build and the headline variant's tensors. done: the build failed, with
    /// its verdict.
    struct ToolInput
    {
        std::filesystem::path folder;
        ReferenceVariant* variant = nullptr;
        ArmSettings arm;
        std::optional<protocol::EvaluateDone> done;
    };
    Result<ToolInput> prepareForTool();

private:
    Result<void> open();
    tl::expected<std::filesystem::path, Stop> build(const protocol::CandidateSpec& spec,
                                                    bool announce);
    /// Imports the candidate in a sandbox of its own to see which extensions it asks for.
    Result<AskedExtensions> discover(const std::filesystem::path& folder,
                                     const protocol::CandidateSpec& spec);
    tl::expected<void, Stop> prepareVariants();
    tl::expected<void, Stop> verify();
    tl::expected<void, Stop> bench();
    tl::expected<void, Stop> benchOne(ReferenceVariant& variant);
    tl::expected<void, GateStop>
    judgeAttested(const ReferenceVariant& variant,
                  const tl::expected<std::optional<AttestedTime>, GateStop>& attested);
    tl::expected<void, Stop>
    judgeTimed(const ReferenceVariant& variant,
               Verification& verification,
               const BenchOutcome& outcome,
               const tl::expected<std::optional<AttestedTime>, GateStop>& attested);
    /// A stop of the candidate's is also its gate's.
    tl::expected<void, Stop> failedWhileTimed(const ReferenceVariant& variant, const Stop& stop);
    /// What every timing of this request has in common.
    [[nodiscard]] BenchPlan benchPlan() const;
    /// The machine-wide lock, waited for that long at most; waiting counts as sampling.
    Result<DeviceLock> lockDevice(const std::string& stageName, double seconds = 300);
    void waitForCompiled(ReferenceVariant& variant);
    [[nodiscard]] std::vector<CompiledVariant*> readyCompiled(ReferenceVariant& variant,
                                                              bool announce);
    ArmProcess* parentProcess(ReferenceVariant& variant);
    void profile();
    /// What moving the variant's bytes once takes at the measured bandwidth, in microseconds; 0
    /// when that is unknown.
    double addLimit(const ReferenceVariant& variant, double candidateUs);
    /// What a call may take longer because its data comes from memory, in microseconds: one
    /// thread's copy of the variant's bytes where no cache helps, and never less than copyUs.
    double coldAllowance(const ReferenceVariant& variant, double copyUs);
    /// The sandbox as it was proven at the start of the worker, and as the kernel says it is now.
    tl::expected<void, Stop> integrity();
    /// The gate of the same name: what every chosen variant's check finds.
    Result<void> health();
    [[nodiscard]] std::vector<std::string> untimed() const;
    void stage(const std::string& name, const std::string& text);
    void warning(const std::string& text);
    /// Gate, log and verdict of a stop; an error stop becomes the request's error.
    Result<protocol::EvaluateDone> stopped(const Stop& stop);
    Result<protocol::EvaluateDone> finish(protocol::Verdict verdict, std::string reason);
    /// After a crash or a hang on a GPU: does it still compute? If not, it is set aside.
    void checkDevice(protocol::Verdict verdict);
    [[nodiscard]] bool full() const { return m_request.tier != protocol::Tier::Quick; }
    [[nodiscard]] int cancelFd() const { return m_cancel.fd(); }
    [[nodiscard]] bool outOfTime() const;
    [[nodiscard]] std::vector<std::string> compileModes();

    Workshop& m_workshop;
    const protocol::EvaluateRequest& m_request;
    const EventSink& m_sink;
    const process::CancelSource& m_cancel;
    std::int64_t m_startedNs;
    Ledger m_ledger;
    protocol::EvaluateDone m_done;
    Workshop::Device* m_device = nullptr;
    OpenTask* m_task = nullptr;
    std::vector<ReferenceVariant*> m_variants;
    std::unique_ptr<CandidateArm> m_candidate;
    std::unique_ptr<CandidateArm> m_parent;
    bool m_parentTried = false;
    std::unique_ptr<GateBoard> m_board;
    nlohmann::json m_evidence = nlohmann::json::object();
    nlohmann::json m_attested = nlohmann::json::array();
    nlohmann::json m_limit = nlohmann::json::object();
    double m_candidateUs = 0;
    std::vector<std::string> m_timed; ///< names of variants
};

} // namespace lathe::worker
