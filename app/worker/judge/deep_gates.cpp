// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// The gates that look for other things than wrong values in one process: a second process, other
// weights, kernels that do nothing, operators that are not allowed, work that goes on by itself.
#include "verification.h"

#include <lathe/base/clock.h>
#include <lathe/base/text.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fmt/format.h>
#include <unistd.h>
#include <utility>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::FieldTag;
using protocol::Verdict;

namespace {

/// Operators that allocate, describe or move memory and compute nothing.
bool onlyMoves(std::string_view name)
{
    constexpr std::array<std::string_view, 44> kNames{"empty",
                                                      "empty_like",
                                                      "empty_strided",
                                                      "new_empty",
                                                      "zeros",
                                                      "zeros_like",
                                                      "new_zeros",
                                                      "full",
                                                      "full_like",
                                                      "new_full",
                                                      "ones",
                                                      "ones_like",
                                                      "zero_",
                                                      "fill_",
                                                      "view",
                                                      "_unsafe_view",
                                                      "reshape",
                                                      "_reshape_alias",
                                                      "as_strided",
                                                      "t",
                                                      "transpose",
                                                      "permute",
                                                      "expand",
                                                      "expand_as",
                                                      "slice",
                                                      "select",
                                                      "narrow",
                                                      "squeeze",
                                                      "unsqueeze",
                                                      "flatten",
                                                      "unflatten",
                                                      "detach",
                                                      "alias",
                                                      "contiguous",
                                                      "clone",
                                                      "copy_",
                                                      "to",
                                                      "_to_copy",
                                                      "resize_",
                                                      "set_",
                                                      "item",
                                                      "is_nonzero",
                                                      "_local_scalar_dense",
                                                      "lift_fresh"};
    constexpr std::string_view kPrefix = "aten::";
    if (!name.starts_with(kPrefix)) {
        return name.starts_with("detach");
    }
    name.remove_prefix(kPrefix.size());
    name = name.substr(0, name.find('.'));
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

} // namespace

bool Verification::librariesForbidden() const
{
    const auto& libraries = m_variant.context().task.libraries;
    return libraries.size() == 1 && libraries.front() == "none";
}

tl::expected<void, GateStop> Verification::floatMode(const OutputShape& shape,
                                                     const std::string& gate)
{
    constexpr std::int64_t kFlush = 1;
    const std::int64_t left = shape.floatMode & ~m_variant.contract().floatMode;
    if (left == 0) {
        return {};
    }
    return tl::unexpected(rejected(
        gate,
        (left & kFlush) != 0
            ? "forward leaves the processor flushing subnormal numbers to zero (or no longer doing "
              "so) for everything that runs after it"
            : "forward leaves the processor rounding in another direction for everything that runs "
              "after it"));
}

tl::expected<void, GateStop> Verification::freshProcess()
{
    const std::string gate = "fresh_process";
    auto fresh = m_candidate.load(m_variant, "fresh", m_cancelFd, m_ledger);
    if (!fresh) {
        GateStop stop{gate, fresh.error(), "{}"};
        if (!stop.stop.error) {
            stop.stop.reason = "in a fresh process: " + stop.stop.reason;
        }
        return tl::unexpected(stop);
    }
    auto* const before = std::exchange(m_loaded, fresh->get());
    auto right = forward(
        m_variant.sets()[1], gate, gate, " of the first call in a fresh process", kPoisonNan);
    tl::expected<void, GateStop> done;
    if (right) {
        m_board.pass(
            gate,
            m_variant.name(),
            "loaded anew in another process, the candidate comes to the right result again");
        done = otherWeights();
    } else {
        done = tl::unexpected(right.error());
    }
    if (done) {
        done = libraries();
    }
    m_loaded = before;
    return done;
}

/// In the fresh process, which is not used for anything else afterwards.
tl::expected<void, GateStop> Verification::otherWeights()
{
    const std::string gate = "weights";
    const double timeout = m_variant.context().task.importTimeoutSeconds;
    auto other = m_variant.otherWeights(m_cancelFd, m_ledger);
    if (!other) {
        if (other.error().code == ErrorCode::Cancelled) {
            return tl::unexpected(machineError(gate, other.error()));
        }
        m_board.warn(gate,
                     m_variant.name(),
                     "the reference could not be run with other weights: " + other.error().message);
        return {};
    }
    if (*other == nullptr) {
        m_board.skip(gate, "the outputs do not depend on weights");
        return {};
    }
    {
        const Stopwatch watch(m_ledger.armSeconds);
        const auto reply = m_loaded->process->call(m_variant.replaceWeightsRequest(**other),
                                                   descriptors((*other)->weights, Access::Read),
                                                   timeout,
                                                   m_cancelFd);
        if (!reply) {
            return tl::unexpected(GateStop{
                gate,
                stopFor(reply.error(), m_loaded->process.get(), "taking other weights", timeout)});
        }
        if (reply->message.type() == ArmMessage::Failed) {
            return tl::unexpected(GateStop{gate, stopForFailed(reply->message)});
        }
    }
    const bool frozen = m_variant.context().task.weights == "frozen";
    auto right = forward((*other)->expected,
                         gate,
                         gate,
                         frozen ? " of a second instance that has other weights"
                                : " after the weights were overwritten in place",
                         kPoisonFinite,
                         0);
    if (!right) {
        return tl::unexpected(right.error());
    }
    m_board.pass(
        gate,
        m_variant.name(),
        frozen ? "a second instance in the same process has other weights and the right result"
               : "after the weights were overwritten in place the result is right");
    return {};
}

tl::expected<void, GateStop> Verification::libraries()
{
    if (!librariesForbidden()) {
        return {};
    }
    const std::string gate = "own_kernels";
    auto shape = run(1, protocol::kRunOperators, gate);
    if (!shape) {
        return tl::unexpected(shape.error());
    }
    std::vector<std::string> calls;
    for (const std::string& name : splitLines(shape->operators)) {
        if (!name.empty() && !onlyMoves(name)) {
            calls.push_back(name);
        }
    }
    if (calls.empty()) {
        return {};
    }
    return tl::unexpected(rejected(
        gate,
        fmt::format("the task allows no library, and forward calls {}", fmt::join(calls, ", "))));
}

/// Once more without the candidate's kernels: what is right then does not come from them.
tl::expected<void, GateStop> Verification::ownKernels()
{
    const std::string gate = "own_kernels";
    const bool any =
        std::any_of(m_variant.contract().tensors.begin(),
                    m_variant.contract().tensors.end(),
                    [](const protocol::TensorInfo& info) { return info.elements() > 0; });
    if (m_candidate.format() != "native" || !any) {
        if (librariesForbidden()) {
            m_board.pass(gate, m_variant.name(), "forward calls no operator that computes");
        } else {
            m_board.skip(gate, "the candidate has no kernels that could be left out");
        }
        return {};
    }
    auto idle = m_candidate.load(
        m_variant, "without-kernels", m_cancelFd, m_ledger, protocol::kLoadSkipKernels);
    tl::expected<std::string, GateStop> right = tl::unexpected(GateStop{});
    if (idle) {
        auto* const before = std::exchange(m_loaded, idle->get());
        right = forward(m_variant.sets()[1], gate, gate, "", kPoisonNan);
        m_loaded = before;
    }
    const auto& error =
        idle ? (right ? std::optional<Error>() : right.error().stop.error) : idle.error().error;
    if (error) {
        return tl::unexpected(machineError(gate, *error));
    }
    if (!right && right.error().stop.verdict == Verdict::Wrong) {
        m_board.pass(gate, m_variant.name(), "without the candidate's kernels the result is wrong");
        return {};
    }
    if (!right || !idle) {
        // A candidate may look at what its kernels left and raise: that shows nothing.
        m_board.warn(gate,
                     m_variant.name(),
                     "the candidate fails without its kernels, so that this shows nothing about "
                     "where the result comes from: "
                         + (idle ? right.error() : GateStop{gate, idle.error(), {}}).stop.reason);
        return {};
    }
    const std::string text =
        "without the candidate's kernels the result is right all the same: they do not compute it";
    if (librariesForbidden()) {
        return tl::unexpected(rejected(gate, text));
    }
    m_board.warn(gate, m_variant.name(), text);
    return {};
}

tl::expected<void, GateStop> Verification::idle()
{
    // Threads of an OpenMP team spin before they sleep, for longer where the machine is busy: who
    // is honest is quiet in one of the windows.
    constexpr int kWindows = 20;
    constexpr useconds_t kWindowUs = 100'000;
    constexpr double kMostShare = 0.4;
    const std::string gate = "idle";
    if (m_variant.context().device != "cpu") {
        m_board.skip(gate, "only watched on the CPU");
        return {};
    }
    double seconds = 0;
    double used = 0;
    for (int window = 0; window < kWindows; ++window) {
        const double before = m_candidate.host().usage().first;
        const std::int64_t startNs = monotonicNs();
        ::usleep(kWindowUs);
        seconds = static_cast<double>(monotonicNs() - startNs) / 1e9;
        used = m_candidate.host().usage().first - before;
        if (used <= kMostShare * seconds) {
            m_board.pass(gate, m_variant.name(), "nothing runs while nothing is asked");
            return {};
        }
    }
    return tl::unexpected(
        rejected(gate,
                 fmt::format("the candidate's processes never rest: {:.0f} ms of processor time in "
                             "the last {:.0f} ms in which they were asked nothing",
                             1e3 * used,
                             1e3 * seconds)));
}

} // namespace lathe::worker
