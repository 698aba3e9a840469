// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "compare_modes.h"
#include "reference_variant.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
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

Calibration::Limits ReferenceVariant::limits(std::size_t output) const
{
    const protocol::TaskSpec& task = m_context.task;
    for (const protocol::OutputRule& rule : task.outputs) {
        if (rule.index >= 0 && static_cast<std::size_t>(rule.index) == output
            && (rule.tolerance.relative || rule.tolerance.absolute)) {
            return m_calibration[output].limits(rule.tolerance);
        }
    }
    return m_calibration[output].limits(task.tolerance);
}

namespace {

const protocol::OutputRule* ruleOf(const protocol::TaskSpec& task, std::size_t output)
{
    const auto found =
        std::find_if(task.outputs.begin(), task.outputs.end(), [&](const auto& rule) {
            return rule.index >= 0 && static_cast<std::size_t>(rule.index) == output;
        });
    return found == task.outputs.end() ? nullptr : &*found;
}

} // namespace

Result<Deviation>
ReferenceVariant::compareOne(const InputSet& set, std::size_t output, SharedBuffer& buffer) const
{
    const auto& info = m_contract.tensors[output];
    const auto& goldenInfo = set.goldenShape.tensors[output];
    const auto got = HostBytes::of(buffer, info.bytes());
    const auto golden = HostBytes::of(*set.golden[output], goldenInfo.bytes());
    if (!got || !golden) {
        return tl::unexpected(!got ? got.error() : golden.error());
    }
    const protocol::OutputRule* rule = ruleOf(m_context.task, output);
    const std::string mode = rule == nullptr ? "values" : rule->compare;
    const TensorView mine{info, got->view()};
    const TensorView right{goldenInfo, golden->view()};
    if (mode == "set") {
        return compareSets(mine, right, set.scales[output]);
    }
    if (mode == "codes") {
        return compareCodes(mine, right);
    }
    if (mode == "ties") {
        const auto number = static_cast<std::size_t>(
            std::strtoul(rule->of.c_str() + rule->of.find(':') + 1, nullptr, 10));
        if (rule->of.starts_with("output:") && number < set.golden.size()) {
            const auto& sourceInfo = set.goldenShape.tensors[number];
            const auto source = HostBytes::of(*set.golden[number], sourceInfo.bytes());
            return !source ? tl::unexpected(source.error())
                           : compareTies(mine,
                                         right,
                                         {sourceInfo, source->view()},
                                         rule->axis,
                                         limits(number).element,
                                         set.scales[number]);
        }
        if (number < set.arguments.size()
            && set.arguments[number].kind == protocol::ArmValue::Kind::TensorRef) {
            const auto tensor = static_cast<std::size_t>(set.arguments[number].integer);
            const auto source = HostBytes::of(*set.inputs[tensor], set.infos[tensor].bytes());
            return !source ? tl::unexpected(source.error())
                           : compareTies(
                               mine, right, {set.infos[tensor], source->view()}, rule->axis, 0, 0);
        }
        return fail(ErrorCode::Refused,
                    "task.json compares output " + std::to_string(output) + " with the values of "
                        + rule->of + ", which is no tensor");
    }
    return compareWithGolden(
        info.dtype, got->view(), goldenInfo.dtype, golden->view(), set.scales[output]);
}

Result<void> ReferenceVariant::measureScales(InputSet& set)
{
    set.scales.clear();
    for (std::size_t i = 0; i < set.golden.size(); ++i) {
        const auto& info = set.goldenShape.tensors[i];
        auto bytes = HostBytes::of(*set.golden[i], info.bytes());
        if (!bytes) {
            return tl::unexpected(bytes.error());
        }
        set.scales.push_back(rootMeanSquare(info.dtype, bytes->view()));
    }
    return {};
}

Result<void> ReferenceVariant::finishGolden(InputSet& set)
{
    if (set.golden.size() != m_contract.tensors.size()) {
        return fail(ErrorCode::Refused, "forward returns another number of tensors in float64");
    }
    if (auto measured = measureScales(set); !measured) {
        return measured;
    }
    return narrowGolden(set);
}

Result<std::vector<Deviation>>
ReferenceVariant::compare(const InputSet& set, Buffers& got, std::size_t count) const
{
    std::vector<Deviation> out;
    for (std::size_t i = 0; i < std::min(got.size(), count); ++i) {
        auto deviation = compareOne(set, i, *got[i]);
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
                                                 const std::string& format,
                                                 std::int64_t flags) const
{
    ArmWriter request(ArmMessage::LoadCandidate);
    request.text(FieldTag::Text, folder)
        .text(FieldTag::Text2, format)
        .values(FieldTag::Values, m_initInputs)
        .strings(FieldTag::Strings, m_weightNames)
        .tensors(FieldTag::Tensors, m_weightInfos)
        .integer(
            FieldTag::Int,
            flags | (m_context.task.weights == "frozen" ? std::int64_t{protocol::kLoadFrozen} : 0))
        // Not the reference's seed: what the candidate draws itself must not come out equal by
        // luck.
        .integer(FieldTag::Int2, static_cast<std::int64_t>(m_weightSeed / 2 + 1))
        .text(FieldTag::Text3, m_context.task.mode)
        .text(FieldTag::Text4, m_context.task.precision)
        .integers(FieldTag::Ints, comparedBesides(m_context.task));
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
