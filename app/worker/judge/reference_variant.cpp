// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "reference_variant.h"

#include "reference_failure.h"
#include "secret.h"

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <numeric>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

ArmWriter loadReferenceRequest(const TaskContext& context,
                               const protocol::Variant& variant,
                               const std::string& compileMode,
                               std::uint64_t weightSeed,
                               bool upcast)
{
    std::vector<std::string> constants;
    for (const protocol::Constant& constant : variant.constants) {
        constants.push_back(constant.name);
        constants.push_back(constant.literal);
    }
    ArmWriter request(ArmMessage::LoadReference);
    request.text(FieldTag::Text, context.taskFile)
        .text(FieldTag::Text2, compileMode)
        .strings(FieldTag::Strings, constants)
        .integer(FieldTag::Int, static_cast<std::int64_t>(weightSeed))
        .text(FieldTag::Text3, context.task.mode)
        .text(FieldTag::Text4, context.task.precision)
        .integer(FieldTag::Int2, upcast ? 1 : 0)
        .integers(FieldTag::Ints, comparedBesides(context.task));
    return request;
}

ReferenceVariant::ReferenceVariant(const TaskContext& context, protocol::Variant variant)
    : m_context(context)
    , m_variant(std::move(variant))
    , m_weightSeed(context.replaySeed ? *context.replaySeed >> 2 : secretSeed())
    , m_sets(kSets)
{
    addEagerSteps();
    std::vector<std::int64_t> all(kSets);
    std::iota(all.begin(), all.end(), 0);
    for (const std::int64_t id : all) {
        auto& set = m_sets[static_cast<std::size_t>(id)];
        set.id = id;
        set.seed = context.replaySeed
                       ? (*context.replaySeed >> 2) + 1 + static_cast<std::uint64_t>(id)
                       : secretSeed();
    }
    addGoldenSteps(all);
}

Result<bool> ReferenceVariant::advance(bool wait, int cancelFd, Ledger& ledger)
{
    if (m_refusal) {
        return tl::unexpected(*m_refusal);
    }
    const std::string what = m_script.what();
    const auto done = m_script.advance(wait, cancelFd, ledger);
    if (!done) {
        if (done.error().code == ErrorCode::Cancelled) {
            return tl::unexpected(done.error());
        }
        // Whichever arm was being asked is the one that failed.
        ArmProcess* const asked = m_golden ? m_golden.get() : m_eager.get();
        m_refusal = referenceFailure(done.error(), m_variant.name, asked);
        m_killed = done.error().code == ErrorCode::Protocol && asked != nullptr
                   && asked->exitState().signal == SIGKILL;
        m_golden.reset();
        m_eager.reset();
        return tl::unexpected(*m_refusal);
    }
    m_ready = m_ready || *done;
    return *done;
}

void ReferenceVariant::redraw(const std::vector<std::int64_t>& sets)
{
    if (m_context.replaySeed || !m_script.done()) {
        return;
    }
    for (const std::int64_t id : sets) {
        m_sets[static_cast<std::size_t>(id)].seed = secretSeed();
    }
    if (std::find(sets.begin(), sets.end(), 0) != sets.end()) {
        // What is right with other weights was computed from set 0.
        m_other.reset();
        m_otherTried = false;
    }
    addGoldenSteps(sets);
}

void ReferenceVariant::loseEager()
{
    m_eager.reset();
    addEagerSteps();
    for (const InputSet& set : m_sets) {
        addEagerSetSteps(set.id);
    }
}

void ReferenceVariant::addFork(CallScript& script,
                               const char* what,
                               const char* phase,
                               std::unique_ptr<ArmProcess>& target)
{
    script.add(what, [this, phase, &target](bool wait, int cancelFd) -> Result<CallScript::Begun> {
        if (!wait && !m_context.host->ready()) {
            return CallScript::Begun{true, {}};
        }
        auto process = m_context.host->fork(phase, cancelFd);
        if (!process) {
            return tl::unexpected(process.error());
        }
        target = std::move(*process);
        return CallScript::Begun{};
    });
}

namespace {

/// A step that only expects Ok.
CallScript::Finish expectOk()
{
    return [](ArmReply& reply) { return expectReply(reply, ArmMessage::Ok); };
}

CallScript::Begun begin(ArmCall call)
{
    return {false, std::move(call)};
}

} // namespace

void ReferenceVariant::addEagerSteps()
{
    addFork(m_script, "starting the reference", "eager", m_eager);
    m_script.add(
        "loading the reference",
        [this](bool, int) -> Result<CallScript::Begun> {
            return begin({m_eager.get(),
                          loadReferenceRequest(m_context, m_variant, "", m_weightSeed, false),
                          {},
                          m_context.task.importTimeoutSeconds});
        },
        expectOk());
    m_script.add(
        "reading the reference's arguments",
        [this](bool, int) -> Result<CallScript::Begun> {
            return begin({m_eager.get(),
                          ArmWriter(ArmMessage::GetInitInputs),
                          {},
                          m_context.task.importTimeoutSeconds});
        },
        [this](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::InitInputs); !right) {
                return right;
            }
            auto values = reply.message.values(FieldTag::Values);
            if (!values) {
                return tl::unexpected(values.error());
            }
            m_initInputs = std::move(*values);
            return {};
        });
    m_script.add(
        "reading the reference's weights",
        [this](bool, int) -> Result<CallScript::Begun> {
            return begin({m_eager.get(), ArmWriter(ArmMessage::GetWeights), {}, 60});
        },
        [this](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Described); !right) {
                return right;
            }
            auto names = reply.message.strings(FieldTag::Strings);
            auto infos = reply.message.tensors(FieldTag::Tensors);
            if (!names || !infos || names->size() != infos->size()) {
                return fail(ErrorCode::Protocol, "the reference described its weights wrongly");
            }
            auto buffers = allocateFor(*m_context.memory, *infos);
            if (!buffers) {
                return tl::unexpected(buffers.error());
            }
            m_weightNames = std::move(*names);
            m_weightInfos = std::move(*infos);
            m_weights = std::move(*buffers);
            return {};
        });
    m_script.add(
        "copying the reference's weights",
        [this](bool, int) -> Result<CallScript::Begun> {
            if (m_weights.empty()) {
                return CallScript::Begun{};
            }
            auto call = fillCall(*m_eager, TensorGroup::Weights, 0, m_weights, 120);
            return call ? Result<CallScript::Begun>(begin(std::move(*call)))
                        : tl::unexpected(call.error());
        },
        [this](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Ok); !right) {
                return right;
            }
            for (const auto& buffer : m_weights) {
                if (auto sealed = buffer->sealForReaders(); !sealed) {
                    return sealed;
                }
            }
            return {};
        });
}

void ReferenceVariant::addGoldenSteps(const std::vector<std::int64_t>& sets)
{
    const GoldenArm golden{m_script, m_golden};
    addGoldenStart(golden);
    for (const std::int64_t id : sets) {
        InputSet& set = m_sets[static_cast<std::size_t>(id)];
        addSetSteps(golden, set, id == kUnseenSet ? m_sets.data() : nullptr);
        addFillSteps(golden, set);
        addEagerSetSteps(id);
    }
    m_script.add("ending the golden reference", [this](bool, int) -> Result<CallScript::Begun> {
        m_golden.reset();
        return CallScript::Begun{};
    });
}

void ReferenceVariant::addGoldenStart(const GoldenArm& golden)
{
    addFork(golden.script, "starting the golden reference", "golden", golden.process);
    golden.script.add(
        "loading the golden reference",
        [this, &process = golden.process](bool, int) -> Result<CallScript::Begun> {
            return begin({process.get(),
                          loadReferenceRequest(m_context, m_variant, "", m_weightSeed, true),
                          {},
                          m_context.task.importTimeoutSeconds});
        },
        expectOk());
}

void ReferenceVariant::addSetSteps(const GoldenArm& golden, InputSet& set, const InputSet* like)
{
    auto& process = golden.process;
    golden.script.add(
        "drawing inputs",
        [this, &process, &set](bool, int) -> Result<CallScript::Begun> {
            return begin({process.get(),
                          set.makeRequest(m_context.task),
                          {},
                          m_context.task.importTimeoutSeconds});
        },
        [this, &set](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Described); !right) {
                return right;
            }
            auto infos = reply.message.tensors(FieldTag::Tensors);
            auto values = reply.message.values(FieldTag::Values);
            if (!infos || !values) {
                return tl::unexpected(!infos ? infos.error() : values.error());
            }
            auto buffers = allocateFor(*m_context.memory, *infos);
            if (!buffers) {
                return tl::unexpected(buffers.error());
            }
            set.infos = std::move(*infos);
            set.arguments = std::move(*values);
            set.inputs = std::move(*buffers);
            return {};
        });
    golden.script.add(
        "copying inputs",
        [&process, &set](bool, int) -> Result<CallScript::Begun> {
            if (set.inputs.empty()) {
                return CallScript::Begun{};
            }
            auto call = fillCall(*process, TensorGroup::Inputs, set.id, set.inputs, 120);
            return call ? Result<CallScript::Begun>(begin(std::move(*call)))
                        : tl::unexpected(call.error());
        },
        [&set, like](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Ok); !right) {
                return right;
            }
            if (like != nullptr) {
                if (auto spliced = splice(set, *like); !spliced) {
                    return spliced;
                }
            }
            set.hashes.clear();
            for (const auto& buffer : set.inputs) {
                if (auto sealed = buffer->sealForReaders(); !sealed) {
                    return sealed;
                }
                auto hash = buffer->hash();
                if (!hash) {
                    return tl::unexpected(hash.error());
                }
                set.hashes.push_back(std::move(*hash));
            }
            return {};
        });
    // The golden arm drew the set; from here on it works on what the judge holds, as all others do.
    golden.script.add(
        "handing inputs to the golden reference",
        [this, &process, &set](bool, int) -> Result<CallScript::Begun> {
            return begin({process.get(),
                          set.bindRequest(m_context.task.mutates),
                          descriptors(set.inputs, Access::Read),
                          60});
        },
        expectOk());
}

void ReferenceVariant::addFillSteps(const GoldenArm& golden, InputSet& set)
{
    auto& process = golden.process;
    golden.script.add(
        "running the golden reference",
        [this, &process, &set](bool, int) -> Result<CallScript::Begun> {
            return begin({process.get(),
                          runRequest(set.id, protocol::kRunGolden),
                          {},
                          4 * m_context.task.forwardTimeoutSeconds});
        },
        [this, &set](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Described); !right) {
                return right;
            }
            auto shape = OutputShape::from(reply.message);
            if (!shape) {
                return tl::unexpected(shape.error());
            }
            if (shape->tensors.empty()) {
                return fail(ErrorCode::Refused, "forward returns no tensor");
            }
            auto buffers = allocateFor(*m_context.memory, shape->tensors);
            if (!buffers) {
                return tl::unexpected(buffers.error());
            }
            set.goldenShape = std::move(*shape);
            set.golden = std::move(*buffers);
            return {};
        });
    golden.script.add(
        "copying golden outputs",
        [&process, &set](bool, int) -> Result<CallScript::Begun> {
            auto call = fillCall(*process, TensorGroup::Outputs, set.id, set.golden, 120);
            return call ? Result<CallScript::Begun>(begin(std::move(*call)))
                        : tl::unexpected(call.error());
        },
        [&set](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Ok); !right) {
                return right;
            }
            return measureScales(set);
        });
}

void ReferenceVariant::addEagerSetSteps(std::int64_t id)
{
    InputSet& set = m_sets[static_cast<std::size_t>(id)];
    m_script.add(
        "handing inputs to the reference",
        [this, &set](bool, int) -> Result<CallScript::Begun> {
            return begin({m_eager.get(),
                          set.bindRequest(m_context.task.mutates),
                          descriptors(set.inputs, Access::Read),
                          60});
        },
        expectOk());
    m_script.add(
        "running the reference",
        [this, &set](bool, int) -> Result<CallScript::Begun> {
            return begin(
                {m_eager.get(), runRequest(set.id), {}, m_context.task.forwardTimeoutSeconds});
        },
        [this, &set](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Described); !right) {
                return right;
            }
            auto shape = OutputShape::from(reply.message);
            if (!shape) {
                return tl::unexpected(shape.error());
            }
            if (shape->tensors.size() != set.golden.size()) {
                return fail(ErrorCode::Refused,
                            "forward returns another number of tensors in float64");
            }
            if (m_outputs.size() != shape->tensors.size()) {
                auto buffers = allocateFor(*m_context.memory, shape->tensors);
                if (!buffers) {
                    return tl::unexpected(buffers.error());
                }
                m_outputs = std::move(*buffers);
                m_calibration.clear();
                for (const auto& info : shape->tensors) {
                    m_calibration.emplace_back(info.dtype);
                }
            }
            m_contract = std::move(*shape);
            return {};
        });
    m_script.add(
        "copying the reference's outputs",
        [this, &set](bool, int) -> Result<CallScript::Begun> {
            auto call = fillCall(*m_eager, TensorGroup::Outputs, set.id, m_outputs, 120);
            return call ? Result<CallScript::Begun>(begin(std::move(*call)))
                        : tl::unexpected(call.error());
        },
        [this, &set](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Ok); !right) {
                return right;
            }
            return takeEagerOutputs(set.id);
        });
}

Result<void> ReferenceVariant::takeEagerOutputs(std::int64_t id)
{
    InputSet& set = m_sets[static_cast<std::size_t>(id)];
    if (auto narrowed = narrowGolden(set); !narrowed) {
        return narrowed;
    }
    const auto deviations = compare(set, m_outputs, m_outputs.size());
    if (!deviations) {
        return tl::unexpected(deviations.error());
    }
    for (std::size_t i = 0; i < deviations->size(); ++i) {
        m_calibration[i].addHonest((*deviations)[i], set.scales[i]);
    }
    return {};
}

} // namespace lathe::worker
