// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "compiled_variant.h"

#include "reference_failure.h"

#include <algorithm>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

namespace {

constexpr double kLoadSeconds = 120;    ///< imports the compiler beside the task
constexpr double kCompileSeconds = 600; ///< Inductor's first compile on a small machine

CallScript::Finish expectOk()
{
    return [](ArmReply& reply) { return expectReply(reply, ArmMessage::Ok); };
}

} // namespace

CompiledVariant::CompiledVariant(ArmHost& host, ReferenceVariant& reference, std::string mode)
    : m_host(host)
    , m_reference(reference)
    , m_mode(std::move(mode))
{
    addSteps();
}

void CompiledVariant::addSteps()
{
    m_script.add("starting torch.compile",
                 [this](bool wait, int cancelFd) -> Result<CallScript::Begun> {
                     if (!m_reference.ready() || (!wait && !m_host.ready())) {
                         return CallScript::Begun{true, {}};
                     }
                     auto process = m_host.fork(name(), cancelFd);
                     if (!process) {
                         return tl::unexpected(process.error());
                     }
                     m_process = std::move(*process);
                     return CallScript::Begun{};
                 });
    m_script.add(
        "loading the reference",
        [this](bool, int) -> Result<CallScript::Begun> {
            const auto& context = m_reference.context();
            return CallScript::Begun{
                false,
                ArmCall{
                    m_process.get(),
                    loadReferenceRequest(
                        context, m_reference.variant(), m_mode, m_reference.weightSeed(), false),
                    {},
                    std::max(context.task.importTimeoutSeconds, kLoadSeconds)}};
        },
        expectOk());
    for (int set = 0; set < ReferenceVariant::kSets; ++set) {
        m_script.add(
            "handing inputs over",
            [this, set](bool, int) -> Result<CallScript::Begun> {
                const InputSet& inputs = m_reference.sets()[static_cast<std::size_t>(set)];
                m_bound[inputs.id] = inputs.seed;
                return CallScript::Begun{
                    false,
                    ArmCall{m_process.get(),
                            inputs.bindRequest(m_reference.context().task.mutates),
                            descriptors(inputs.inputs, Access::Read),
                            60}};
            },
            expectOk());
    }
    m_script.add(
        "compiling",
        [this](bool, int) -> Result<CallScript::Begun> {
            return CallScript::Begun{
                false, ArmCall{m_process.get(), m_reference.runRequest(0), {}, kCompileSeconds}};
        },
        [this](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Described); !right) {
                return right;
            }
            const auto tensors = reply.message.tensors(FieldTag::Tensors);
            if (!tensors || tensors->size() != m_reference.contract().tensors.size()) {
                return fail(ErrorCode::Refused, "torch.compile returns another number of outputs");
            }
            auto buffers = allocateFor(*m_reference.context().memory, *tensors);
            if (!buffers) {
                return tl::unexpected(buffers.error());
            }
            m_outputs = std::move(*buffers);
            return {};
        });
    m_script.add(
        "copying the compiled outputs",
        [this](bool, int) -> Result<CallScript::Begun> {
            auto call = fillCall(*m_process, TensorGroup::Outputs, 0, m_outputs, 120);
            if (!call) {
                return tl::unexpected(call.error());
            }
            return CallScript::Begun{false, std::move(*call)};
        },
        [this](ArmReply& reply) -> Result<void> {
            if (auto right = expectReply(reply, ArmMessage::Ok); !right) {
                return right;
            }
            return judge();
        });
}

/// Its outputs are one more sample of honest arithmetic, unless they are off by so much that the
/// compiler is wrong.
Result<void> CompiledVariant::judge()
{
    constexpr double kSurelyWrong = 0.1;
    const InputSet& set = m_reference.sets()[0];
    if (m_bound[0] != set.seed) {
        m_outputs.clear(); // drawn anew meanwhile: nothing to compare with
        return {};
    }
    for (std::size_t i = 0; i < m_outputs.size(); ++i) {
        const auto deviation = m_reference.compareOne(set, i, *m_outputs[i]);
        if (!deviation) {
            return tl::unexpected(deviation.error());
        }
        if (!(deviation->relRmse < kSurelyWrong)) {
            return fail(ErrorCode::Refused, "torch.compile computes something else than eager");
        }
        m_reference.calibration()[i].addHonest(*deviation, set.scales[i]);
    }
    m_outputs.clear();
    return {};
}

Result<bool> CompiledVariant::advance(bool wait, int cancelFd, Ledger& ledger)
{
    const auto done = m_script.advance(wait, cancelFd, ledger);
    if (!done) {
        if (done.error().code == ErrorCode::Cancelled) {
            return tl::unexpected(done.error());
        }
        lose(referenceFailure(done.error(), m_reference.name(), m_process.get()).message);
        return true;
    }
    return *done;
}

void CompiledVariant::lose(std::string why)
{
    m_failure = std::move(why);
    m_script.clear();
    m_process.reset();
}

void CompiledVariant::restart()
{
    m_script.clear();
    m_process.reset();
    m_bound.clear();
    addSteps();
}

Result<void> CompiledVariant::bindAll(int cancelFd, Ledger& ledger)
{
    return m_reference.bind(*m_process, m_bound, 60, cancelFd, ledger);
}

} // namespace lathe::worker
