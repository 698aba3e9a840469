// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
// What the reference side prepares for the gates that look for more than wrong values: inputs that
// differ from others in a few elements only, inputs that nobody has seen, and other weights.
#include "comparator.h"
#include "moving_inputs.h"
#include "reference_variant.h"
#include "secret.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

ArmWriter ReferenceVariant::runRequest(std::int64_t set, std::int64_t flags) const
{
    ArmWriter request(ArmMessage::Run);
    request.integer(FieldTag::Int, set).integer(FieldTag::Int2, flags);
    return request;
}

/// Makes the set equal to another but for a few elements of its floating-point inputs: what a cache
/// that looks at some elements takes for the same. Left as drawn where nothing can be exchanged.
Result<void> ReferenceVariant::splice(InputSet& set, const InputSet& base)
{
    constexpr std::size_t kLeast = 8;
    constexpr std::size_t kOneIn = 4096;
    constexpr int kTries = 64;
    if (!sameKind(base, set)) {
        return {};
    }
    std::mt19937_64 random(set.seed);
    std::size_t exchanged = 0;
    std::vector<std::vector<std::byte>> mixed;
    for (std::size_t i = 0; i < set.inputs.size(); ++i) {
        const auto& info = set.infos[i];
        const auto from = HostBytes::of(*base.inputs[i], info.bytes());
        const auto drawn = HostBytes::of(*set.inputs[i], info.bytes());
        if (!from || !drawn) {
            return tl::unexpected(!from ? from.error() : drawn.error());
        }
        auto& bytes = mixed.emplace_back(from->view().begin(), from->view().end());
        const std::size_t size = protocol::elementBytes(info.dtype);
        const std::size_t count = size == 0 ? 0 : bytes.size() / size;
        // Integers may be offsets that only make sense together.
        if (comparedExactly(info.dtype) || count == 0) {
            continue;
        }
        for (std::size_t n = 0; n < std::max(kLeast, count / kOneIn); ++n) {
            for (int attempt = 0; attempt < kTries; ++attempt) {
                const std::size_t at = random() % count * size;
                if (std::memcmp(bytes.data() + at, drawn->view().data() + at, size) != 0) {
                    std::memcpy(bytes.data() + at, drawn->view().data() + at, size);
                    ++exchanged;
                    break;
                }
            }
        }
    }
    if (exchanged == 0) {
        return {};
    }
    for (std::size_t i = 0; i < set.inputs.size(); ++i) {
        if (auto written = set.inputs[i]->upload(0, mixed[i]); !written) {
            return written;
        }
    }
    return {};
}

Result<const InputSet*> ReferenceVariant::drawFresh(std::int64_t like, int cancelFd, Ledger& ledger)
{
    Fresh& fresh = m_fresh;
    const GoldenArm golden{fresh.script, fresh.golden};
    fresh.script.clear();
    if (!fresh.golden) {
        addGoldenStart(golden);
    }
    ++fresh.drawn;
    fresh.set = InputSet();
    fresh.set.id = kFreshSet;
    fresh.set.seed = m_context.replaySeed ? (*m_context.replaySeed >> 2) + kFreshSet + fresh.drawn
                                          : secretSeed();
    addSetSteps(golden, fresh.set, &m_sets[static_cast<std::size_t>(like)]);
    addFillSteps(golden, fresh.set);
    const auto done = fresh.script.advance(true, cancelFd, ledger);
    if (!done) {
        const Error error = done.error();
        endFresh();
        return tl::unexpected(error);
    }
    if (fresh.set.golden.size() != m_contract.tensors.size()) {
        return fail(ErrorCode::Refused, "forward returns another number of tensors than before");
    }
    if (auto narrowed = narrowGolden(fresh.set); !narrowed) {
        return tl::unexpected(narrowed.error());
    }
    return &fresh.set;
}

void ReferenceVariant::endFresh()
{
    m_fresh.script.clear();
    m_fresh.golden.reset();
    m_fresh.set = InputSet();
}

Result<const OtherWeights*> ReferenceVariant::otherWeights(int cancelFd, Ledger& ledger)
{
    if (m_otherTried || m_weights.empty()) {
        return m_other.get();
    }
    auto other = std::make_unique<OtherWeights>();
    if (auto made = makeOtherWeights(*other, cancelFd, ledger); !made) {
        return tl::unexpected(made.error());
    }
    m_otherTried = true;
    for (std::size_t i = 0; i < other->expected.golden.size(); ++i) {
        const auto now = other->expected.golden[i]->hash();
        const auto before = m_sets[0].golden[i]->hash();
        if (now && before && *now != *before) {
            m_other = std::move(other);
            break;
        }
    }
    return m_other.get();
}

Result<void> ReferenceVariant::makeOtherWeights(OtherWeights& other, int cancelFd, Ledger& ledger)
{
    const Stopwatch watch(ledger.armSeconds);
    const double loading = m_context.task.importTimeoutSeconds;
    const std::uint64_t seed =
        m_context.replaySeed ? (*m_context.replaySeed >> 2) + 4 + kSets : secretSeed();
    const auto ask = [&](ArmProcess& process,
                         const ArmWriter& request,
                         const std::vector<int>& fds,
                         double timeout,
                         ArmMessage expected) -> Result<ArmReply> {
        auto reply = process.call(request, fds, timeout, cancelFd);
        if (reply) {
            if (auto right = expectReply(*reply, expected); !right) {
                return tl::unexpected(right.error());
            }
        }
        return reply;
    };
    const auto fill =
        [&](ArmProcess& process, TensorGroup group, Buffers& buffers) -> Result<void> {
        auto call = fillCall(process, group, 0, buffers, 120);
        if (!call) {
            return tl::unexpected(call.error());
        }
        const auto reply = ask(process, call->request, call->fds, 120, ArmMessage::Ok);
        return reply ? Result<void>() : tl::unexpected(reply.error());
    };
    const auto loaded = [&](const char* phase, bool upcast) -> Result<std::unique_ptr<ArmProcess>> {
        auto process = m_context.host->fork(phase, cancelFd);
        if (!process) {
            return process;
        }
        const auto reply = ask(**process,
                               loadReferenceRequest(m_context, m_variant, "", seed, upcast),
                               {},
                               loading,
                               ArmMessage::Ok);
        return reply ? std::move(process) : tl::unexpected(reply.error());
    };

    auto source = loaded("weights", false);
    if (!source) {
        return tl::unexpected(source.error());
    }
    auto described =
        ask(**source, ArmWriter(ArmMessage::GetWeights), {}, 60, ArmMessage::Described);
    auto infos = described ? described->message.tensors(FieldTag::Tensors)
                           : tl::unexpected(described.error());
    auto buffers = infos ? allocateFor(*m_context.memory, *infos) : tl::unexpected(infos.error());
    if (!buffers) {
        return tl::unexpected(buffers.error());
    }
    if (auto copied = fill(**source, TensorGroup::Weights, *buffers); !copied) {
        return copied;
    }
    for (const auto& buffer : *buffers) {
        if (auto sealed = buffer->sealForReaders(); !sealed) {
            return sealed;
        }
    }
    other.infos = std::move(*infos);
    other.weights = std::move(*buffers);

    auto golden = loaded("golden", true);
    if (!golden) {
        return tl::unexpected(golden.error());
    }
    const auto bound = ask(**golden,
                           m_sets[0].bindRequest(m_context.task.mutates),
                           descriptors(m_sets[0].inputs, Access::Read),
                           60,
                           ArmMessage::Ok);
    auto ran = bound ? ask(**golden,
                           runRequest(0, protocol::kRunGolden),
                           {},
                           4 * m_context.task.forwardTimeoutSeconds,
                           ArmMessage::Described)
                     : tl::unexpected(bound.error());
    auto shape = ran ? OutputShape::from(ran->message) : tl::unexpected(ran.error());
    auto outputs =
        shape ? allocateFor(*m_context.memory, shape->tensors) : tl::unexpected(shape.error());
    if (!outputs) {
        return tl::unexpected(outputs.error());
    }
    if (auto copied = fill(**golden, TensorGroup::Outputs, *outputs); !copied) {
        return copied;
    }
    other.expected.seed = seed;
    other.expected.goldenShape = std::move(*shape);
    other.expected.golden = std::move(*outputs);
    return finishGolden(other.expected);
}

ArmWriter ReferenceVariant::replaceWeightsRequest(const OtherWeights& other) const
{
    ArmWriter request(ArmMessage::ReplaceWeights);
    request.strings(FieldTag::Strings, m_weightNames)
        .tensors(FieldTag::Tensors, other.infos)
        .values(FieldTag::Values, m_initInputs)
        .integer(FieldTag::Int, m_context.task.weights == "frozen" ? 1 : 0);
    return request;
}

} // namespace lathe::worker
