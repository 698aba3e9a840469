// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "health.h"

#include "decode.h"
#include "gates.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

namespace {

/// A set of its own for inputs that are put together from two others.
constexpr std::int64_t kMixedSet = 1000;
constexpr std::size_t kMostInputs = 32;
constexpr std::size_t kMostElements = 4u << 20; // looked at for range and variation
constexpr double kShortestUs = 30;
constexpr double kLongestUs = 2e6;
constexpr double kLargest = 1e30;
constexpr double kSmallest = 1e-30;

Result<std::vector<double>> valuesOf(SharedBuffer& buffer, const protocol::TensorInfo& info)
{
    const auto bytes = HostBytes::of(buffer, info.bytes());
    if (!bytes) {
        return tl::unexpected(bytes.error());
    }
    const std::size_t parts =
        static_cast<std::size_t>(info.elements()) * partsPerElement(info.dtype);
    std::vector<double> out(std::min(parts, kMostElements));
    decode(info.dtype, bytes->view(), 0, out);
    return out;
}

bool isCancelled(const Error& error)
{
    return error.code == ErrorCode::Cancelled;
}

} // namespace

HealthCheck::HealthCheck(ReferenceVariant& variant,
                         std::uint64_t freeBytes,
                         int cancelFd,
                         Ledger& ledger)
    : m_variant(variant)
    , m_freeBytes(freeBytes)
    , m_cancelFd(cancelFd)
    , m_ledger(ledger)
{}

Result<void> HealthCheck::run()
{
    seeds();
    values();
    memory();
    for (const auto& step :
         {&HealthCheck::determinism, &HealthCheck::dependence, &HealthCheck::runTime}) {
        if (auto done = (this->*step)(); !done) {
            return done;
        }
    }
    return {};
}

Result<HealthCheck::Digests> HealthCheck::outputsOf(std::int64_t set)
{
    const Stopwatch watch(m_ledger.armSeconds);
    const double timeout = m_variant.context().task.forwardTimeoutSeconds;
    ArmProcess* const eager = m_variant.eager();
    if (eager == nullptr) {
        return Digests{};
    }
    const auto ran = eager->call(
        ArmWriter(ArmMessage::Run).integer(FieldTag::Int, set), {}, timeout, m_cancelFd);
    const auto right = ran ? expectReply(*ran, ArmMessage::Described) : tl::unexpected(ran.error());
    auto fill = fillCall(*eager, TensorGroup::Outputs, set, m_variant.outputs(), 60);
    if (right && fill) {
        const auto shape = OutputShape::from(ran->message);
        if (!shape || shape->tensors != m_variant.contract().tensors) {
            add("forward returns tensors of other shapes or dtypes for other inputs of the same "
                "shape; let the shapes follow from the inputs' shapes alone");
            return Digests{};
        }
        const auto copied = eager->call(fill->request, fill->fds, fill->timeoutSeconds, m_cancelFd);
        if (copied && expectReply(*copied, ArmMessage::Ok)) {
            Digests digests;
            for (const auto& buffer : m_variant.outputs()) {
                digests.push_back(buffer->hash().value_or(std::string{}));
            }
            return digests;
        }
        if (!copied && isCancelled(copied.error())) {
            return tl::unexpected(copied.error());
        }
    }
    if (!right && isCancelled(right.error())) {
        return tl::unexpected(right.error());
    }
    m_variant.loseEager();
    add("the reference failed when it ran again"
        + (right ? std::string() : ": " + right.error().message));
    return Digests{};
}

Result<void> HealthCheck::determinism()
{
    auto first = outputsOf(0);
    if (!first) {
        return tl::unexpected(first.error());
    }
    auto second = first->empty() ? Digests{} : outputsOf(0);
    if (!second) {
        return tl::unexpected(second.error());
    }
    if (first->empty() || second->empty()) {
        return {};
    }
    m_base = *second;
    if (*first == *second) {
        return {};
    }
    const auto deviations =
        m_variant.compare(m_variant.sets()[0], m_variant.outputs(), m_variant.outputs().size());
    bool outside = false;
    for (std::size_t i = 0; deviations && i < deviations->size(); ++i) {
        outside = outside || !m_variant.limits(i).voidReason.empty()
                  || !whyOutside((*deviations)[i],
                                 m_variant.limits(i),
                                 m_variant.contract().tensors[i].dtype)
                          .empty();
    }
    add(outside || !deviations
            ? "the reference gives other values when it runs again on the same inputs; take the "
              "randomness out of forward, or give it as an input and declare \"stochastic\""
            : "the reference gives other bits when it runs again, within the tolerance: fine for "
              "atomics and parallel sums");
    m_base.clear();
    return {};
}

void HealthCheck::seeds()
{
    const InputSet& a = m_variant.sets()[0];
    const InputSet& b = m_variant.sets()[1];
    if (a.inputs.empty()) {
        add("get_inputs() gives no tensor, so that there is nothing to vary: give forward an "
            "input");
        return;
    }
    for (std::size_t i = 0; i < std::min(a.hashes.size(), b.hashes.size()); ++i) {
        if (a.hashes[i] == b.hashes[i] && a.infos[i].elements() > 1) {
            add(fmt::format(
                "input tensor {} is the same for every seed; draw it with torch's random "
                "numbers inside get_inputs()",
                i));
        }
    }
}

Result<void> HealthCheck::dependence()
{
    const InputSet& a = m_variant.sets()[0];
    const InputSet& b = m_variant.sets()[1];
    bool depends = false;
    for (std::size_t i = 0; i < a.golden.size() && i < b.golden.size(); ++i) {
        const auto& info = a.goldenShape.tensors[i];
        if (info.bytes() != b.goldenShape.tensors[i].bytes()) {
            depends = true;
            break;
        }
        const auto first = HostBytes::of(*a.golden[i], info.bytes());
        const auto second = HostBytes::of(*b.golden[i], info.bytes());
        const auto deviation =
            first && second ? compareWithGolden(
                info.dtype, first->view(), info.dtype, second->view(), b.scales[i])
                            : tl::unexpected(first ? second.error() : first.error());
        depends =
            depends || !deviation
            || !whyOutside(*deviation, m_variant.limits(i), m_variant.calibration()[i].dtype())
                    .empty();
    }
    if (!depends) {
        add("the outputs are the same for different seeds: a constant would pass; let them depend "
            "on "
            "the inputs");
        return {};
    }
    // One input at a time from the other set: only sets of the same shapes can be mixed.
    if (a.infos != b.infos || m_base.empty()) {
        return {};
    }
    for (std::size_t i = 0; i < std::min(a.inputs.size(), kMostInputs); ++i) {
        if (a.hashes[i] == b.hashes[i] || m_base.empty()) {
            continue;
        }
        if (auto done = inputDependence(i, m_base); !done) {
            return done;
        }
    }
    return {};
}

Result<void> HealthCheck::inputDependence(std::size_t input, const Digests& base)
{
    const InputSet& a = m_variant.sets()[0];
    const InputSet& b = m_variant.sets()[1];
    ArmProcess* const eager = m_variant.eager();
    if (eager == nullptr) {
        return {};
    }
    auto fds = descriptors(a.inputs, Access::Read);
    fds[input] = b.inputs[input]->fd(Access::Read);
    auto request = a.bindRequest(m_variant.context().task.mutates, kMixedSet);
    const auto bound = eager->call(request, fds, 60, m_cancelFd);
    if (!bound && isCancelled(bound.error())) {
        return tl::unexpected(bound.error());
    }
    if (!bound || !expectReply(*bound, ArmMessage::Ok)) {
        return {};
    }
    const std::size_t before = m_findings.size();
    const auto outputs = outputsOf(kMixedSet);
    if (!outputs) {
        return tl::unexpected(outputs.error());
    }
    if (outputs->empty()) {
        // Inputs that only fit each other are no fault of the task's.
        m_findings.resize(before);
        m_base.clear();
        return m_variant.advance(true, m_cancelFd, m_ledger).map([](bool) {});
    }
    if (*outputs == base) {
        add(fmt::format("the outputs do not depend on input tensor {}: a candidate could leave it "
                        "out; use it in forward or take it out of get_inputs()",
                        input));
    }
    return {};
}

void HealthCheck::values()
{
    const InputSet& set = m_variant.sets()[0];
    for (std::size_t i = 0; i < set.golden.size(); ++i) {
        const auto& info = set.goldenShape.tensors[i];
        const std::string name = m_variant.contract().nameOf(i);
        const auto values = valuesOf(*set.golden[i], info);
        if (!values || values->empty()) {
            continue; // nothing to look at, and nothing that could be wrong
        }
        const auto odd = std::count_if(
            values->begin(), values->end(), [](double v) { return !std::isfinite(v); });
        if (odd > 0) {
            add(fmt::format(
                "{:.3g} % of {} are NaN or infinite; draw inputs that forward is defined "
                "for",
                100.0 * static_cast<double>(odd) / static_cast<double>(values->size()),
                name));
            continue;
        }
        const auto limits = m_variant.limits(i);
        if (!limits.voidReason.empty()) {
            add(fmt::format("{} cannot be judged: {}", name, limits.voidReason));
            continue;
        }
        const auto [low, high] = std::minmax_element(values->begin(), values->end());
        const double largest = std::max(std::abs(*low), std::abs(*high));
        if (*low == *high && values->size() > 1) {
            add(fmt::format(
                "{} is {:.6g} everywhere: a constant would pass for these inputs", name, *low));
            continue;
        }
        if (!comparedExactly(info.dtype) && (largest > kLargest || largest < kSmallest)) {
            add(fmt::format("{} reaches {:.3g} at most, which leaves no room for honest rounding; "
                            "scale the inputs",
                            name,
                            largest));
        }
        if (static_cast<std::size_t>(info.elements()) == values->size()) {
            axes(i, *values);
        }
    }
}

void HealthCheck::axes(std::size_t output, const std::vector<double>& values)
{
    const auto& shape = m_variant.sets()[0].goldenShape.tensors[output].shape;
    std::size_t inner = values.size();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const auto extent = static_cast<std::size_t>(shape[axis]);
        const std::size_t span = inner; // elements of one pass over this and the inner axes
        inner /= extent;
        if (extent < 2) {
            continue;
        }
        bool varies = false;
        for (std::size_t at = 0; at < values.size() && !varies; ++at) {
            varies = at % span >= inner && values[at] != values[at - inner];
        }
        if (!varies) {
            add(fmt::format("{} is the same all along axis {}: a wrong index there would not show; "
                            "let it vary",
                            m_variant.contract().nameOf(output),
                            axis));
        }
    }
}

void HealthCheck::memory()
{
    m_bytes = m_variant.leastBytes();
    if (m_freeBytes > 0 && m_bytes > m_freeBytes / 8) {
        add(fmt::format("inputs, weights and outputs take {} MiB of {} MiB free, and several arms "
                        "hold them at once; use a smaller variant for this machine",
                        m_bytes >> 20,
                        m_freeBytes >> 20));
    }
}

Result<void> HealthCheck::runTime()
{
    ArmProcess* const eager = m_variant.eager();
    if (eager == nullptr) {
        return {};
    }
    constexpr int kCalls = 3;
    const auto reply = eager->call(
        ArmWriter(ArmMessage::Time).integers(FieldTag::Ints, {0}).integer(FieldTag::Int, kCalls),
        {},
        kCalls * m_variant.context().task.forwardTimeoutSeconds,
        m_cancelFd);
    if (!reply) {
        if (isCancelled(reply.error())) {
            return tl::unexpected(reply.error());
        }
        m_variant.loseEager();
        add("the reference failed when it was timed: " + reply.error().message);
        return {};
    }
    const auto seconds = reply->message.floats(FieldTag::Floats);
    if (!expectReply(*reply, ArmMessage::Timed) || !seconds || seconds->empty()) {
        return {};
    }
    m_callUs = seconds->back() / kCalls * 1e6;
    if (m_callUs < kShortestUs) {
        add(fmt::format("one call takes {:.3g} us, which is mostly the call itself; use a larger "
                        "variant",
                        m_callUs));
    } else if (m_callUs > kLongestUs) {
        add(fmt::format("one call takes {:.3g} s, so that every evaluation takes minutes; use a "
                        "smaller variant",
                        m_callUs / 1e6));
    }
    return {};
}

nlohmann::json HealthCheck::detail() const
{
    auto limitsJson = nlohmann::json::array();
    for (std::size_t i = 0; i < m_variant.calibration().size(); ++i) {
        const auto limits = m_variant.limits(i);
        limitsJson.push_back({{"output", i},
                              {"norm", measure(limits.norm)},
                              {"element", measure(limits.element)},
                              {"floor", measure(limits.floor)},
                              {"trials", m_variant.calibration()[i].trials()}});
    }
    return {{"limits", std::move(limitsJson)},
            {"findings", m_findings},
            {"callUs", m_callUs},
            {"bytes", m_bytes}};
}

} // namespace lathe::worker
