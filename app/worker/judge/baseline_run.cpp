// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "bench.h"
#include "evaluation_run.h"
#include "health.h"

#include <lathe/base/clock.h>
#include <lathe/base/json.h>
#include <lathe/worker/conditions.h>
#include <lathe/worker/device_lock.h>

#include <cmath>
#include <fmt/format.h>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;
using protocol::Verdict;

Result<void> EvaluationRun::health()
{
    const bool several = m_variants.size() > 1;
    nlohmann::json detail = nlohmann::json::object();
    std::vector<std::string> findings;
    for (ReferenceVariant* variant : m_variants) {
        stage("verify", "checking the health of " + variant->name());
        HealthCheck check(*variant, m_device->memory->freeBytes(), cancelFd(), m_ledger);
        if (auto done = check.run(); !done) {
            return done;
        }
        // Whoever asks for no more than the check waits for the compilers here.
        if (m_request.until == protocol::Until::Verify && !m_request.against.empty()) {
            waitForCompiled(*variant);
            for (const std::string& mode : compileModes()) {
                const CompiledVariant* arm = m_task->compiled(*variant, mode, false);
                if (arm != nullptr && !arm->failure().empty()) {
                    check.add("it does not run under compile:" + mode + ": " + arm->failure());
                }
            }
        }
        for (const std::string& finding : check.findings()) {
            findings.push_back(several ? variant->name() + ": " + finding : finding);
        }
        if (detail.empty()) { // the headline's figures
            detail = check.detail();
        }
    }
    detail["findings"] = findings;
    protocol::GateResult gate{
        "health",
        findings.empty() ? protocol::GateStatus::Pass : protocol::GateStatus::Warn,
        "deterministic, depends on its inputs, zeros fail, honest arithmetic agrees",
        dumpJson(detail)};
    if (!findings.empty()) {
        gate.reason = fmt::format("{}", fmt::join(findings, "; "));
    }
    m_sink(protocol::GateEvent{std::move(gate)});
    return {};
}

Result<protocol::EvaluateDone> EvaluationRun::baseline()
{
    if (auto opened = open(); !opened) {
        return tl::unexpected(opened.error());
    }
    if (auto ready = prepareVariants(); !ready) {
        if (!ready.error().error) {
            m_board->fail("health", {}, ready.error().reason, "{}", {});
        }
        return stopped(ready.error());
    }
    (void)m_task->waitForArms(1, cancelFd());
    if (auto done = health(); !done || m_cancel.cancelled()) {
        if (!done && done.error().code == ErrorCode::Refused) {
            return stopped(
                {Verdict::Refused, done.error().message, done.error().detail, false, {}});
        }
        return done || m_cancel.cancelled() ? fail(ErrorCode::Cancelled, "cancelled")
                                            : tl::unexpected(done.error());
    }
    if (m_request.until == protocol::Until::Build || m_request.until == protocol::Until::Verify) {
        return finish(Verdict::Correct, "the task can be judged");
    }
    for (ReferenceVariant* variant : m_variants) {
        waitForCompiled(*variant);
        stage("bench", "timing " + variant->name());
        if (auto again = variant->advance(true, cancelFd(), m_ledger); !again) {
            return stopped(
                {Verdict::Refused, again.error().message, again.error().detail, false, {}});
        }
        BenchArms arms;
        arms.reference = variant;
        arms.compiled = readyCompiled(*variant, true);
        auto twin = variant->makeTwin(cancelFd(), m_ledger);
        arms.twin = twin ? twin->get() : nullptr;
        const BenchPlan plan = benchPlan();
        const auto lock = lockDevice("bench");
        if (!lock) {
            return stopped({Verdict::Refused, lock.error().message, {}, false, lock.error()});
        }
        m_workshop.pauseBackground(true);
        const auto outcome = benchVariant(arms, plan, m_sink, cancelFd(), m_ledger);
        if (outcome && !m_device->cuda) {
            addLimit(*variant, outcome->candidateUs);
        }
        m_workshop.pauseBackground(false);
        if (!outcome) {
            const Error& error = outcome.error().error;
            return stopped(
                {Verdict::Refused,
                 "the reference failed while it was timed: " + error.message,
                 error.detail,
                 false,
                 error.code == ErrorCode::Cancelled ? std::optional(error) : std::nullopt});
        }
        if (outcome->aaFloorPercent) {
            m_done.aaFloorPercent =
                std::max(m_done.aaFloorPercent.value_or(0), *outcome->aaFloorPercent);
        }
    }
    if (m_request.until == protocol::Until::Profile) {
        profile();
    }
    return finish(Verdict::Correct, "the task can be judged");
}

} // namespace lathe::worker
