// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "reference_variant.h"

#include <cstdint>
#include <cstring>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

Result<void> ReferenceVariant::narrowGolden(InputSet& set)
{
    for (std::size_t i = 0; i < set.golden.size(); ++i) {
        protocol::TensorInfo& info = set.goldenShape.tensors[i];
        const auto wide = set.golden[i]->hostView();
        if (info.dtype != protocol::DType::Float64 || wide.empty() || info.elements() == 0
            || protocol::elementBytes(m_contract.tensors[i].dtype) > 2) {
            continue;
        }
        const auto count = static_cast<std::size_t>(info.elements());
        auto narrow = m_context.memory->allocate(count * sizeof(float));
        if (!narrow) {
            return tl::unexpected(narrow.error());
        }
        const auto target = (*narrow)->hostView();
        for (std::size_t at = 0; at < count; ++at) {
            double value = 0;
            std::memcpy(&value, wide.data() + at * sizeof value, sizeof value);
            const auto rounded = static_cast<float>(value);
            std::memcpy(target.data() + at * sizeof rounded, &rounded, sizeof rounded);
        }
        set.golden[i] = std::move(*narrow);
        info.dtype = protocol::DType::Float32;
    }
    return {};
}

Result<std::vector<Deviation>> ReferenceVariant::compare(const InputSet& set)
{
    std::vector<Deviation> out;
    for (std::size_t i = 0; i < m_outputs.size(); ++i) {
        const auto& info = m_contract.tensors[i];
        const auto& goldenInfo = set.goldenShape.tensors[i];
        const auto got = HostBytes::of(*m_outputs[i], info.bytes());
        const auto golden = HostBytes::of(*set.golden[i], goldenInfo.bytes());
        if (!got || !golden) {
            return tl::unexpected(!got ? got.error() : golden.error());
        }
        auto deviation = compareWithGolden(
            info.dtype, got->view(), goldenInfo.dtype, golden->view(), set.scales[i]);
        if (!deviation) {
            return tl::unexpected(deviation.error());
        }
        out.push_back(*deviation);
    }
    return out;
}

Result<void> ReferenceVariant::bind(ArmProcess& process,
                                    std::map<std::int64_t, std::uint64_t>& bound,
                                    double timeoutSeconds,
                                    int cancelFd,
                                    Ledger& ledger) const
{
    for (const InputSet& set : m_sets) {
        const auto known = bound.find(set.id);
        if (known != bound.end() && known->second == set.seed) {
            continue;
        }
        const Stopwatch watch(ledger.armSeconds);
        const auto reply = process.call(set.bindRequest(m_context.task.mutates),
                                        descriptors(set.inputs, Access::Read),
                                        timeoutSeconds,
                                        cancelFd);
        if (!reply) {
            return tl::unexpected(reply.error());
        }
        if (auto right = expectReply(*reply, ArmMessage::Ok); !right) {
            return right;
        }
        bound[set.id] = set.seed;
    }
    return {};
}

Result<std::unique_ptr<ArmProcess>> ReferenceVariant::makeTwin(int cancelFd, Ledger& ledger)
{
    std::unique_ptr<ArmProcess> process;
    {
        const Stopwatch watch(ledger.armSeconds);
        auto forked = m_context.host->fork("aa", cancelFd);
        if (!forked) {
            return tl::unexpected(forked.error());
        }
        process = std::move(*forked);
        const auto reply =
            process->call(loadReferenceRequest(m_context, m_variant, "", m_weightSeed, false),
                          {},
                          m_context.task.importTimeoutSeconds,
                          cancelFd);
        if (!reply) {
            return tl::unexpected(reply.error());
        }
        if (auto right = expectReply(*reply, ArmMessage::Ok); !right) {
            return tl::unexpected(right.error());
        }
    }
    std::map<std::int64_t, std::uint64_t> bound;
    if (auto done = bind(*process, bound, 60, cancelFd, ledger); !done) {
        return tl::unexpected(done.error());
    }
    return process;
}

ArmWriter ReferenceVariant::loadCandidateRequest(const std::string& folder,
                                                 const std::string& format) const
{
    ArmWriter request(ArmMessage::LoadCandidate);
    request.text(FieldTag::Text, folder)
        .text(FieldTag::Text2, format)
        .values(FieldTag::Values, m_initInputs)
        .strings(FieldTag::Strings, m_weightNames)
        .tensors(FieldTag::Tensors, m_weightInfos)
        .integer(FieldTag::Int, m_context.task.weights == "frozen" ? 1 : 0)
        // Not the reference's seed: what the candidate draws itself must not come out equal by
        // luck.
        .integer(FieldTag::Int2, static_cast<std::int64_t>(m_weightSeed / 2 + 1))
        .text(FieldTag::Text3, m_context.task.mode)
        .text(FieldTag::Text4, m_context.task.precision);
    return request;
}

std::vector<int> ReferenceVariant::weightDescriptors() const
{
    return descriptors(m_weights, Access::Read);
}

std::uint64_t ReferenceVariant::leastBytes() const
{
    std::uint64_t bytes = 0;
    for (const auto* infos : {&m_weightInfos, &m_sets[0].infos, &m_contract.tensors}) {
        for (const auto& info : *infos) {
            bytes += info.bytes();
        }
    }
    return bytes;
}

} // namespace lathe::worker
