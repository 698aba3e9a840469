// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <cstdint>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

Result<Buffers> allocateFor(MemorySpace& memory, const std::vector<protocol::TensorInfo>& infos)
{
    Buffers out;
    for (const protocol::TensorInfo& info : infos) {
        auto buffer = memory.allocate(info.bytes());
        if (!buffer) {
            return tl::unexpected(buffer.error());
        }
        out.push_back(std::move(*buffer));
    }
    return out;
}

std::vector<int> descriptors(const Buffers& buffers, Access access)
{
    std::vector<int> out;
    for (const auto& buffer : buffers) {
        out.push_back(buffer->fd(access));
    }
    return out;
}

Result<ArmCall> fillCall(ArmProcess& process,
                         TensorGroup group,
                         std::int64_t set,
                         const Buffers& buffers,
                         double timeoutSeconds)
{
    if (buffers.size() > protocol::kMaxPacketFds) {
        return fail(ErrorCode::Refused,
                    "more than " + std::to_string(protocol::kMaxPacketFds)
                        + " tensors at once do not fit one message to an arm");
    }
    return ArmCall{&process,
                   ArmWriter(ArmMessage::FillTensors)
                       .integer(FieldTag::Int, static_cast<std::int64_t>(group))
                       .integer(FieldTag::Int2, set),
                   descriptors(buffers, Access::ReadWrite),
                   timeoutSeconds};
}

Result<HostBytes> HostBytes::of(SharedBuffer& buffer, std::uint64_t bytes)
{
    HostBytes out;
    const auto view = buffer.hostView();
    if (!view.empty()) {
        out.m_view = view.first(std::min<std::size_t>(bytes, view.size()));
        return out;
    }
    out.m_copy.resize(bytes);
    if (auto copied = buffer.download(0, out.m_copy); !copied) {
        return tl::unexpected(copied.error());
    }
    out.m_view = out.m_copy;
    return out;
}

Result<OutputShape> OutputShape::from(const protocol::ArmReader& reply)
{
    auto tensors = reply.tensors(FieldTag::Tensors);
    auto values = reply.values(FieldTag::Values);
    auto aliases = reply.integers(FieldTag::Ints);
    if (!tensors || !values || !aliases) {
        return tl::unexpected(!tensors  ? tensors.error()
                              : !values ? values.error()
                                        : aliases.error());
    }
    return OutputShape{std::move(*tensors), std::move(*values), std::move(*aliases)};
}

ArmWriter InputSet::bindRequest(const std::vector<int>& mutates) const
{
    std::vector<std::int64_t> indexes;
    for (const int argument : mutates) {
        const auto at = static_cast<std::size_t>(argument);
        // The task counts arguments, the wire counts tensors.
        if (argument >= 0 && at < arguments.size()
            && arguments[at].kind == protocol::ArmValue::Kind::TensorRef) {
            indexes.push_back(arguments[at].integer);
        }
    }
    ArmWriter request(ArmMessage::BindInputs);
    request.integer(FieldTag::Int, id)
        .tensors(FieldTag::Tensors, infos)
        .values(FieldTag::Values, arguments)
        .integers(FieldTag::Ints, indexes);
    return request;
}

} // namespace lathe::worker
