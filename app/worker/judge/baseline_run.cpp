// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "bench.h"
#include "evaluation_run.h"

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

namespace {

constexpr double kLockSeconds = 300;

/// Whether the golden outputs of one set would pass for those of the other.
Result<bool> outputsDepend(const ReferenceVariant& variant)
{
    const InputSet& a = variant.sets()[0];
    const InputSet& b = variant.sets()[1];
    for (std::size_t i = 0; i < a.golden.size() && i < b.golden.size(); ++i) {
        const auto& info = a.goldenShape.tensors[i];
        if (info.bytes() != b.goldenShape.tensors[i].bytes()) {
            return true;
        }
        const auto first = HostBytes::of(*a.golden[i], info.bytes());
        const auto second = HostBytes::of(*b.golden[i], info.bytes());
        if (!first || !second) {
            return tl::unexpected(!first ? first.error() : second.error());
        }
        const auto deviation =
            compareWithGolden(info.dtype, first->view(), info.dtype, second->view(), b.scales[i]);
        if (!deviation) {
            return tl::unexpected(deviation.error());
        }
        const auto limits = variant.calibration()[i].limits(variant.context().task.tolerance);
        if (!whyOutside(*deviation, limits, variant.calibration()[i].dtype()).empty()) {
            return true;
        }
    }
    return false;
}

} // namespace

void EvaluationRun::health(ReferenceVariant& variant)
{
    const auto depends = outputsDepend(variant);
    if (depends && !*depends) {
        m_board->warn("health",
                      variant.name(),
                      "outputs are the same for different seeds: a constant would pass");
        return;
    }
    // Deterministic: the same call again, to the bit.
    const double timeout = variant.context().task.forwardTimeoutSeconds;
    std::vector<std::string> digests[2];
    for (auto& digest : digests) {
        const Stopwatch watch(m_ledger.armSeconds);
        const auto ran = variant.eager()->call(
            ArmWriter(ArmMessage::Run).integer(FieldTag::Int, 0), {}, timeout, cancelFd());
        auto fill = fillCall(*variant.eager(), TensorGroup::Outputs, 0, variant.outputs(), 60);
        if (!ran || !expectReply(*ran, ArmMessage::Described) || !fill) {
            m_board->warn("health", variant.name(), "the reference failed when it ran again");
            variant.loseEager();
            return;
        }
        const auto copied =
            variant.eager()->call(fill->request, fill->fds, fill->timeoutSeconds, cancelFd());
        if (!copied || !expectReply(*copied, ArmMessage::Ok)) {
            m_board->warn(
                "health", variant.name(), "the reference's outputs could not be read again");
            variant.loseEager();
            return;
        }
        for (const auto& buffer : variant.outputs()) {
            digest.push_back(buffer->hash().value_or(std::string{}));
        }
    }
    std::string voids;
    auto limitsJson = nlohmann::json::array();
    for (std::size_t i = 0; i < variant.calibration().size(); ++i) {
        const auto limits = variant.calibration()[i].limits(variant.context().task.tolerance);
        limitsJson.push_back({{"output", i},
                              {"norm", measure(limits.norm)},
                              {"element", measure(limits.element)},
                              {"floor", measure(limits.floor)},
                              {"trials", variant.calibration()[i].trials()}});
        if (!limits.voidReason.empty()) {
            voids +=
                fmt::format("{}output {}: {}", voids.empty() ? "" : "; ", i, limits.voidReason);
        }
    }
    const std::string detail = dumpJson(nlohmann::json{{"limits", limitsJson}});
    if (!voids.empty()) {
        m_board->warn("health", variant.name(), "cannot be judged: " + voids, detail);
    } else if (digests[0] != digests[1]) {
        m_board->warn(
            "health", variant.name(), "the reference gives other bits when it runs again", detail);
    } else {
        m_board->pass("health",
                      variant.name(),
                      "deterministic, depends on its inputs, zeros fail, honest arithmetic agrees",
                      detail);
    }
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
    for (ReferenceVariant* variant : m_variants) {
        stage("verify", "checking the health of " + variant->name());
        health(*variant);
        if (m_cancel.cancelled()) {
            return fail(ErrorCode::Cancelled, "cancelled");
        }
    }
    m_board->flush();
    for (ReferenceVariant* variant : m_variants) {
        if (m_request.until == protocol::Until::Build
            || m_request.until == protocol::Until::Verify) {
            break;
        }
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
        BenchPlan plan;
        plan.tier = m_request.tier;
        plan.minSeconds = m_request.minSeconds;
        plan.maxNoisePercent = m_request.maxNoisePercent;
        plan.forwardTimeoutSeconds = m_request.task.forwardTimeoutSeconds;
        plan.deviceEvents = m_device->cuda != nullptr;
        plan.privateCopies = !m_request.task.mutates.empty();
        const std::int64_t asked = monotonicNs();
        auto lock = DeviceLock::acquire(m_workshop.settings().lockFolder,
                                        m_device->arm.device,
                                        kLockSeconds,
                                        cancelFd(),
                                        [this](const std::string& holder) {
                                            stage("bench", "waiting for the device: " + holder);
                                        });
        if (!lock) {
            return stopped({Verdict::Refused, lock.error().message, {}, false, lock.error()});
        }
        m_ledger.samplingSeconds += static_cast<double>(monotonicNs() - asked) / 1e9;
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
