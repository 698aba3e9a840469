// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "verification.h"

#include <lathe/base/clock.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <thread>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmValue;
using protocol::ArmWriter;
using protocol::FieldTag;
using protocol::Verdict;

namespace {

constexpr std::array kGates{"build",
                            "load",
                            "contract",
                            "numerics",
                            "call_order",
                            "fresh_contents",
                            "inputs",
                            "fresh_process",
                            "weights",
                            "own_kernels",
                            "idle",
                            "integrity",
                            "timed_outputs",
                            "attested"};

std::string shapeText(const protocol::TensorInfo& info)
{
    return fmt::format("{}[{}]", protocol::toString(info.dtype), fmt::join(info.shape, ", "));
}

bool isSequence(ArmValue::Kind kind)
{
    return kind == ArmValue::Kind::Tuple || kind == ArmValue::Kind::List;
}

/// Same arrangement of tensors; a tuple may stand for a list.
bool sameStructure(const ArmValue& a, const ArmValue& b)
{
    if (a.kind != b.kind && !(isSequence(a.kind) && isSequence(b.kind))) {
        return false;
    }
    return a.integer == b.integer && a.text == b.text
           && std::equal(
               a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), sameStructure);
}

} // namespace

bool carriesState(const protocol::TaskSpec& task)
{
    return task.buffers == "compare";
}

GateStop wrong(const std::string& gate, std::string reason, std::string detail)
{
    return {gate, {Verdict::Wrong, std::move(reason), {}, false, {}}, std::move(detail)};
}

GateStop rejected(const std::string& gate, std::string reason)
{
    return {gate, {Verdict::Rejected, std::move(reason), {}, false, {}}, "{}"};
}

GateStop machineError(const std::string& gate, const Error& error)
{
    return {gate, {Verdict::Refused, error.message, error.detail, false, error}, "{}"};
}

std::vector<std::string> gatesAfter(const std::string& gate)
{
    const auto at = std::find(kGates.begin(), kGates.end(), gate);
    return at == kGates.end() ? std::vector<std::string>{}
                              : std::vector<std::string>(at + 1, kGates.end());
}

Verification::Verification(ReferenceVariant& variant,
                           CandidateArm& candidate,
                           GateBoard& board,
                           bool thorough,
                           int cancelFd,
                           Ledger& ledger)
    : m_variant(variant)
    , m_candidate(candidate)
    , m_board(board)
    , m_thorough(thorough)
    , m_cancelFd(cancelFd)
    , m_ledger(ledger)
{}

tl::expected<void, GateStop> Verification::run()
{
    auto loaded = m_candidate.main(m_variant, m_cancelFd, m_ledger);
    if (!loaded) {
        return tl::unexpected(GateStop{"load", loaded.error(), "{}"});
    }
    m_loaded = *loaded;
    m_board.pass(
        "load", m_variant.name(), "ModelNew is constructed and has the reference's weights");
    if (auto ok = numerics(); !ok) {
        return ok;
    }
    for (const auto gate :
         {&Verification::callOrder, &Verification::freshContents, &Verification::inputsUnchanged}) {
        if (auto ok = (this->*gate)(); !ok) {
            return ok;
        }
    }
    if (!m_thorough) {
        return {};
    }
    for (const auto gate :
         {&Verification::freshProcess, &Verification::ownKernels, &Verification::idle}) {
        if (auto ok = (this->*gate)(); !ok) {
            return ok;
        }
    }
    return {};
}

tl::expected<void, GateStop> Verification::contract(const OutputShape& shape)
{
    const OutputShape& expected = m_variant.contract();
    if (shape.tensors.size() != expected.tensors.size()) {
        return tl::unexpected(wrong("contract",
                                    fmt::format("forward returns {} tensors, the reference {}",
                                                shape.tensors.size(),
                                                expected.tensors.size())));
    }
    for (std::size_t i = 0; i < shape.tensors.size(); ++i) {
        const auto& got = shape.tensors[i];
        const auto& want = expected.tensors[i];
        if (got.shape != want.shape || got.dtype != want.dtype) {
            return tl::unexpected(
                wrong("contract",
                      fmt::format("{} has another {} than the reference's: {} instead of {}",
                                  expected.nameOf(i),
                                  got.shape != want.shape ? "shape" : "dtype",
                                  shapeText(got),
                                  shapeText(want))));
        }
    }
    if (!std::equal(shape.structure.begin(),
                    shape.structure.end(),
                    expected.structure.begin(),
                    expected.structure.end(),
                    sameStructure)) {
        return tl::unexpected(wrong(
            "contract", "forward returns its tensors in another structure than the reference"));
    }
    for (std::size_t i = 0; i < std::min(shape.aliases.size(), expected.aliases.size()); ++i) {
        if (shape.aliases[i] != expected.aliases[i]) {
            return tl::unexpected(wrong(
                "contract",
                shape.aliases[i] >= 0
                    ? fmt::format(
                        "output {} shares its memory with input {}, the reference's does not",
                        i,
                        shape.aliases[i])
                    : fmt::format("output {} is a copy where the reference returns input {} itself",
                                  i,
                                  expected.aliases[i])));
        }
    }
    return {};
}

tl::expected<OutputShape, GateStop>
Verification::run(std::int64_t set, std::int64_t flags, const std::string& gate)
{
    const double timeout = m_variant.context().task.forwardTimeoutSeconds;
    const Stopwatch watch(m_ledger.armSeconds);
    const auto reply =
        m_loaded->process->call(m_variant.runRequest(set, flags), {}, timeout, m_cancelFd);
    if (!reply) {
        return tl::unexpected(GateStop{
            gate, stopFor(reply.error(), m_loaded->process.get(), "running forward", timeout)});
    }
    if (reply->message.type() == ArmMessage::Failed) {
        return tl::unexpected(GateStop{gate, stopForFailed(reply->message)});
    }
    auto described = OutputShape::from(reply->message);
    if (reply->message.type() != ArmMessage::Described || !described) {
        return tl::unexpected(
            GateStop{gate,
                     {Verdict::Crashed,
                      "the candidate's process sent something that is not an answer",
                      {},
                      false,
                      {}}});
    }
    return std::move(*described);
}

tl::expected<std::string, GateStop> Verification::forward(const InputSet& set,
                                                          const std::string& gate,
                                                          const std::string& compareGate,
                                                          const std::string& when,
                                                          std::uint32_t poison,
                                                          std::int64_t runAs)
{
    auto shape = run(runAs < 0 ? set.id : runAs, 0, gate);
    if (!shape) {
        return tl::unexpected(shape.error());
    }
    if (auto ok = contract(*shape); !ok) {
        return tl::unexpected(ok.error());
    }
    if (auto ok = floatMode(*shape, gate); !ok) {
        return tl::unexpected(ok.error());
    }
    return collect(set, compareGate, when, poison, true);
}

tl::expected<std::string, GateStop> Verification::collect(const InputSet& set,
                                                          const std::string& gate,
                                                          const std::string& when,
                                                          std::uint32_t poison,
                                                          bool withBuffers)
{
    constexpr double kCopySeconds = 60;
    const auto buffers = m_loaded->outputBuffers(m_variant);
    if (!buffers) {
        return tl::unexpected(machineError(gate, buffers.error()));
    }
    Buffers& outputs = **buffers;
    const std::size_t count = withBuffers ? outputs.size() : m_variant.contract().beforeBuffers();
    for (const auto& buffer : outputs) {
        if (auto done = buffer->poison(poison); !done) {
            return tl::unexpected(machineError(gate, done.error()));
        }
    }
    {
        const Stopwatch watch(m_ledger.armSeconds);
        auto call = fillCall(
            *m_loaded->process, TensorGroup::Outputs, set.id, outputs, count, kCopySeconds);
        if (!call) {
            return tl::unexpected(machineError(gate, call.error()));
        }
        const auto reply =
            m_loaded->process->call(call->request, call->fds, call->timeoutSeconds, m_cancelFd);
        if (!reply) {
            return tl::unexpected(GateStop{gate,
                                           stopFor(reply.error(),
                                                   m_loaded->process.get(),
                                                   "handing its outputs over",
                                                   kCopySeconds)});
        }
        if (reply->message.type() == ArmMessage::Failed) {
            return tl::unexpected(GateStop{gate, stopForFailed(reply->message)});
        }
    }
    std::vector<std::string> digests;
    for (std::size_t i = 0; i < count; ++i) {
        auto digest = outputs[i]->hash();
        if (!digest) {
            return tl::unexpected(machineError(gate, digest.error()));
        }
        digests.push_back(std::move(*digest));
    }
    const auto known = m_loaded->rightOutputs.find(set.seed);
    if (known != m_loaded->rightOutputs.end() && known->second.size() >= count
        && std::equal(digests.begin(), digests.end(), known->second.begin())) {
        return std::string{}; // to the bit what was right before
    }
    auto deviations = m_variant.compare(set, outputs, count);
    if (!deviations) {
        return tl::unexpected(machineError(gate, deviations.error()));
    }
    auto detail = within(*deviations, gate, when);
    if (detail && count == outputs.size()) {
        m_loaded->rightOutputs[set.seed] = std::move(digests);
    }
    return detail;
}

tl::expected<std::string, GateStop> Verification::within(const std::vector<Deviation>& deviations,
                                                         const std::string& gate,
                                                         const std::string& when)
{
    std::string worstDetail = "{}";
    double worstShare = -1;
    for (std::size_t i = 0; i < deviations.size(); ++i) {
        const auto& info = m_variant.contract().tensors[i];
        const auto limits = m_variant.limits(i);
        const auto detail = numericsDetail(deviations[i], limits, info, i);
        const std::string why = whyOutside(deviations[i], limits, info.dtype);
        if (!why.empty()) {
            std::string where;
            if (deviations[i].worstIndex >= 0) {
                where = info.shape.empty()
                            ? std::string("; ")
                            : fmt::format(
                                "; worst at [{}]: ",
                                fmt::join(unravel(deviations[i].worstIndex, info.shape), ", "));
                where += fmt::format(
                    "expected {:.6g}, got {:.6g}", deviations[i].expected, deviations[i].got);
            }
            return tl::unexpected(
                wrong(gate,
                      fmt::format("{}{}: {}{}", m_variant.contract().nameOf(i), when, why, where),
                      detail));
        }
        const double share = limits.norm > 0 ? deviations[i].relRmse / limits.norm : 0;
        if (share > worstShare) {
            worstShare = share;
            worstDetail = detail;
        }
    }
    return worstDetail;
}

tl::expected<void, GateStop> Verification::numerics()
{
    const std::string& variant = m_variant.name();
    std::vector<std::string> voids;
    for (std::size_t i = 0; i < m_variant.calibration().size(); ++i) {
        const auto limits = m_variant.limits(i);
        if (!limits.voidReason.empty()) {
            voids.push_back(
                fmt::format("{}: {}", m_variant.contract().nameOf(i), limits.voidReason));
        }
    }
    std::string detail;
    bool first = true;
    for (const std::int64_t id : {0, 1}) {
        auto right = forward(m_variant.sets()[static_cast<std::size_t>(id)],
                             first ? "contract" : "numerics",
                             "numerics",
                             "",
                             kPoisonNan);
        if (right || right.error().gate == "numerics") {
            if (first) {
                m_board.pass(
                    "contract",
                    variant,
                    "number, structure, shape and dtype of the outputs are the reference's");
            }
            first = false;
        }
        if (!right) {
            return tl::unexpected(right.error());
        }
        detail = std::move(*right);
    }
    if (voids.size() == m_variant.calibration().size()) {
        return tl::unexpected(
            GateStop{"numerics",
                     {Verdict::Refused,
                      fmt::format("the task cannot be judged: {}", fmt::join(voids, "; ")),
                      {},
                      false,
                      {}}});
    }
    if (!voids.empty()) {
        m_board.warn("numerics",
                     variant,
                     fmt::format("not everything can be judged: {}", fmt::join(voids, "; ")),
                     detail);
    } else {
        m_board.pass("numerics",
                     variant,
                     "all elements of 2 secret input sets are within the spread of honest "
                     "arithmetic around the "
                     "float64 reference",
                     detail);
    }
    return {};
}

tl::expected<std::string, GateStop> Verification::forwardMoved(MovingInputs& moving,
                                                               const InputSet& set,
                                                               const std::string& gate,
                                                               const std::string& when)
{
    if (auto shown = moving.show(set); !shown) {
        return tl::unexpected(machineError(gate, shown.error()));
    }
    return forward(set, gate, gate, when, kPoisonFinite, MovingInputs::kId);
}

tl::expected<void, GateStop> Verification::callOrder()
{
    const std::string gate = "call_order";
    const std::string when = " of a repeated call";
    auto moving = m_loaded->movingInputs(m_variant, m_cancelFd, m_ledger);
    if (!moving) {
        return tl::unexpected(GateStop{gate, moving.error(), "{}"});
    }
    const auto& sets = m_variant.sets();
    // The same contents again, at an address where nothing else has been yet.
    auto right = *moving != nullptr ? forwardMoved(**moving, sets[0], gate, when)
                                    : forward(sets[0], gate, gate, when, kPoisonFinite);
    if (right && m_thorough) {
        right = forward(sets[1], gate, gate, when, kPoisonFinite);
    }
    if (!right) {
        return tl::unexpected(right.error());
    }
    m_board.pass(
        gate, m_variant.name(), "repeated calls on earlier inputs give the right result again");
    return {};
}

tl::expected<void, GateStop> Verification::freshContents()
{
    const std::string gate = "fresh_contents";
    auto* const moving = m_loaded->moving.get();
    if (moving == nullptr) {
        m_board.skip(gate, "the inputs cannot be exchanged in place");
        return {};
    }
    const std::string when = ", called on the memory of earlier inputs with other contents";
    const auto& sets = m_variant.sets();
    auto right = forwardMoved(
        *moving, sets[static_cast<std::size_t>(ReferenceVariant::kUnseenSet)], gate, when);
    if (right && m_thorough) {
        right = forwardMoved(*moving, sets[1], gate, when);
    }
    if (!right) {
        return tl::unexpected(right.error());
    }
    m_board.pass(gate,
                 m_variant.name(),
                 "the same memory with other contents, a few elements or all of them, gives other "
                 "results");
    return {};
}

tl::expected<void, GateStop> Verification::inputsUnchanged()
{
    bool enforced = true;
    for (const InputSet& set : m_variant.sets()) {
        for (std::size_t i = 0; i < set.inputs.size(); ++i) {
            enforced = enforced && set.inputs[i]->readOnlyEnforced();
            if (set.inputs[i]->readOnlyEnforced() && !m_thorough) {
                continue;
            }
            const auto hash = set.inputs[i]->hash();
            if (!hash) {
                return tl::unexpected(machineError("inputs", hash.error()));
            }
            if (*hash != set.hashes[i]) {
                return tl::unexpected(
                    wrong("inputs",
                          fmt::format(
                              "input {} was changed and the task does not declare it mutable", i)));
            }
        }
    }
    m_board.pass("inputs",
                 m_variant.name(),
                 enforced ? "inputs are mapped read-only: a write would have faulted"
                          : "inputs have the same bytes as before");
    return {};
}

tl::expected<void, GateStop> Verification::checkTimed(const TimedCalls& timing)
{
    const std::string gate = "timed_outputs";
    auto loaded = m_candidate.main(m_variant, m_cancelFd, m_ledger);
    if (!loaded) {
        return tl::unexpected(GateStop{gate, loaded.error(), "{}"});
    }
    m_loaded = *loaded;
    const bool exchangeable = timing.lastSet >= MovingInputs::kTimed;
    const auto& last = m_variant.sets()[static_cast<std::size_t>(
        timing.lastSet - (exchangeable ? MovingInputs::kTimed : 0))];
    if (auto timed = timedCalls({timing.lastSet}, 1, last, gate, " of a timed call"); !timed) {
        return timed;
    }
    if (exchangeable) {
        if (auto right = checkExchanged(timing.calls, gate); !right) {
            return right;
        }
        for (std::size_t at = 0; at < m_loaded->timed.size(); ++at) {
            if (auto right = checkExchangedMeanwhile(at, timing.us, gate); !right) {
                return right;
            }
        }
        m_variant.endFresh();
    }
    if (m_thorough) {
        // Nobody has seen these: neither verification nor timing nor the exchange.
        m_variant.redraw({ReferenceVariant::kUnseenSet});
        if (auto drawn = m_variant.advance(true, m_cancelFd, m_ledger); !drawn) {
            return tl::unexpected(machineError(gate, drawn.error()));
        }
        if (auto bound = m_loaded->bind(m_variant, m_cancelFd, m_ledger); !bound) {
            return tl::unexpected(GateStop{gate, bound.error(), "{}"});
        }
    }
    const auto& unseen = m_variant.sets()[static_cast<std::size_t>(ReferenceVariant::kUnseenSet)];
    auto moving = m_loaded->movingInputs(m_variant, m_cancelFd, m_ledger);
    if (!moving) {
        return tl::unexpected(GateStop{gate, moving.error(), "{}"});
    }
    const std::string when = " on fresh inputs after the timing";
    auto fresh = *moving != nullptr ? forwardMoved(**moving, unseen, gate, when)
                                    : forward(unseen, gate, gate, when, kPoisonFinite);
    if (!fresh) {
        return tl::unexpected(fresh.error());
    }
    m_board.pass(
        gate,
        m_variant.name(),
        "the outputs of a timed call and of a fresh input set in the timed process are right",
        fresh->empty() ? "{}" : *fresh);
    return {};
}

tl::expected<void, GateStop>
Verification::checkHeld(const InputSet& set, const std::string& gate, const std::string& when)
{
    auto loaded = m_candidate.main(m_variant, m_cancelFd, m_ledger);
    if (!loaded) {
        return tl::unexpected(GateStop{gate, loaded.error(), "{}"});
    }
    m_loaded = *loaded;
    auto right = collect(set, gate, when, kPoisonNan, false);
    return right ? tl::expected<void, GateStop>() : tl::unexpected(right.error());
}

tl::expected<const InputSet*, GateStop> Verification::contentsFor(std::size_t at,
                                                                  const std::string& gate)
{
    const auto drawn = m_variant.drawFresh(static_cast<std::int64_t>(at), m_cancelFd, m_ledger);
    if (!drawn && drawn.error().code == ErrorCode::Cancelled) {
        return tl::unexpected(machineError(gate, drawn.error()));
    }
    // Without memory for one more: that one has not been at this address, at least.
    return drawn ? *drawn : &m_variant.sets()[ReferenceVariant::kUnseenSet];
}

std::vector<std::int64_t> Verification::endingOn(std::size_t at, int calls) const
{
    const auto& timed = m_loaded->timed;
    std::vector<std::int64_t> ids(timed.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        ids[(static_cast<std::size_t>(calls) - 1 + i) % ids.size()] =
            timed[(at + i) % ids.size()]->id();
    }
    return ids;
}

/// Thousands of calls have found the same contents at these addresses: whoever trusts that by now
/// gives the old result. One set after the other gets contents that differ in a few elements and
/// that nobody has seen, and ends a whole sample of calls.
tl::expected<void, GateStop> Verification::checkExchanged(int calls, const std::string& gate)
{
    // Where a call's outputs follow from the calls before it, only the first one's are known.
    const int all = carriesState(m_variant.context().task) ? 1 : std::max(calls, 2);
    for (std::size_t at = 0; at < m_loaded->timed.size(); ++at) {
        const auto contents = contentsFor(at, gate);
        if (!contents) {
            return tl::unexpected(contents.error());
        }
        if (auto shown = m_loaded->timed[at]->show(**contents); !shown) {
            return tl::unexpected(machineError(gate, shown.error()));
        }
        if (auto right =
                timedCalls(endingOn(at, all),
                           all,
                           **contents,
                           gate,
                           " of timed calls after the contents of a timed input were exchanged");
            !right) {
            return right;
        }
    }
    return {};
}

tl::expected<void, GateStop>
Verification::checkExchangedMeanwhile(std::size_t at, double callUs, const std::string& gate)
{
    constexpr double kLongestCallUs = 2500; // of longer ones a sample holds each set once
    constexpr int kSamples = 3;             // a stall in the middle may make anybody look anew
    constexpr int kMostSamples = 8;
    // Inputs that forward changes are copied before a sample begins: nothing comes after that.
    const protocol::TaskSpec& task = m_variant.context().task;
    if (callUs <= 0 || callUs > kLongestCallUs || m_variant.context().device != "cpu"
        || !task.mutates.empty() || carriesState(task)) {
        return {};
    }
    const auto contents = contentsFor(at, gate);
    if (!contents) {
        return tl::unexpected(contents.error());
    }
    std::optional<GateStop> wrongOnce;
    int followed = 0;
    for (int sample = 0; sample < kMostSamples && followed < kSamples; ++sample) {
        const auto told = exchangeMeanwhile(at, **contents, callUs, gate);
        if (!told && (told.error().stop.verdict != Verdict::Wrong || wrongOnce)) {
            return tl::unexpected(told.error());
        }
        if (!told) {
            // A last call that began before the exchange and was kept from running would be the
            // machine's doing, but not twice.
            wrongOnce = told.error();
        } else if (*told) {
            ++followed;
        }
    }
    return {};
}

tl::expected<bool, GateStop> Verification::exchangeMeanwhile(std::size_t at,
                                                             const InputSet& fresh,
                                                             double callUs,
                                                             const std::string& gate)
{
    constexpr double kSampleUs = 20'000;
    constexpr double kMostCalls = 10'000;
    constexpr double kWhen = 0.3;       // of the sample
    constexpr double kLeastAfter = 0.3; // of the sample, and twice a call's time
    MovingInputs& inputs = *m_loaded->timed[at];
    const InputSet& base = m_variant.sets()[at];
    const auto patch = MovingInputs::difference(base, fresh);
    const auto shown = patch ? inputs.show(base) : tl::unexpected(patch.error());
    if (!shown) {
        return tl::unexpected(machineError(gate, shown.error()));
    }
    const int calls = static_cast<int>(std::min(std::ceil(kSampleUs / callUs), kMostCalls));
    const double timeout = m_variant.context().task.forwardTimeoutSeconds * 2;
    const Stopwatch watch(m_ledger.armSeconds);
    ArmProcess& process = *m_loaded->process;
    ArmWriter request(ArmMessage::Time);
    request.integers(FieldTag::Ints, endingOn(at, calls)).integer(FieldTag::Int, calls);
    const std::int64_t begun = monotonicNs();
    auto sent = process.send(request, {});
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(kWhen * calls * callUs));
    const auto applied = inputs.apply(*patch);
    const std::int64_t exchanged = monotonicNs();
    const auto reply = sent ? process.receive(timeout, m_cancelFd) : tl::unexpected(sent.error());
    const std::int64_t ended = monotonicNs();
    if (!reply) {
        return tl::unexpected(
            GateStop{gate, stopFor(reply.error(), &process, "being timed", timeout)});
    }
    if (!applied) {
        return tl::unexpected(machineError(gate, applied.error()));
    }
    if (reply->message.type() == ArmMessage::Failed) {
        return tl::unexpected(GateStop{gate, stopForFailed(reply->message)});
    }
    const auto after = static_cast<double>(ended - exchanged) / 1e3;
    if (after < 2 * callUs || after < kLeastAfter * static_cast<double>(ended - begun) / 1e3) {
        return false;
    }
    const auto right = checkHeld(
        fresh, gate, " of timed calls during which a timed input's contents were exchanged");
    return right ? tl::expected<bool, GateStop>(true) : tl::unexpected(right.error());
}

tl::expected<void, GateStop> Verification::timedCalls(const std::vector<std::int64_t>& ids,
                                                      int calls,
                                                      const InputSet& set,
                                                      const std::string& gate,
                                                      const std::string& when)
{
    // Many calls only where a sample of them takes milliseconds.
    const double timeout = m_variant.context().task.forwardTimeoutSeconds * std::min(calls, 2);
    {
        const Stopwatch watch(m_ledger.armSeconds);
        const auto reply = m_loaded->process->call(
            ArmWriter(ArmMessage::Time).integers(FieldTag::Ints, ids).integer(FieldTag::Int, calls),
            {},
            timeout,
            m_cancelFd);
        if (!reply) {
            return tl::unexpected(GateStop{
                gate, stopFor(reply.error(), m_loaded->process.get(), "being timed", timeout)});
        }
        if (reply->message.type() == ArmMessage::Failed) {
            return tl::unexpected(GateStop{gate, stopForFailed(reply->message)});
        }
    }
    return checkHeld(set, gate, when);
}

} // namespace lathe::worker
