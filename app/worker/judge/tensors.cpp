// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "tensors.h"

#include <algorithm>
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
    return fillCall(process, group, set, buffers, buffers.size(), timeoutSeconds);
}

Result<ArmCall> fillCall(ArmProcess& process,
                         TensorGroup group,
                         std::int64_t set,
                         const Buffers& buffers,
                         std::size_t count,
                         double timeoutSeconds)
{
    if (count > protocol::kMaxPacketFds) {
        return fail(ErrorCode::Refused,
                    "more than " + std::to_string(protocol::kMaxPacketFds)
                        + " tensors at once do not fit one message to an arm");
    }
    auto fds = descriptors(buffers, Access::ReadWrite);
    fds.resize(std::min(count, fds.size()));
    return ArmCall{&process,
                   ArmWriter(ArmMessage::FillTensors)
                       .integer(FieldTag::Int, static_cast<std::int64_t>(group))
                       .integer(FieldTag::Int2, set),
                   std::move(fds),
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
    return OutputShape{std::move(*tensors),
                       std::move(*values),
                       std::move(*aliases),
                       reply.integer(FieldTag::Int),
                       reply.text(FieldTag::Text)};
}

namespace {

struct Place
{
    std::string section; ///< "lathe.buffers", ...; empty: what forward returned
    std::string key;
};

/// Where each tensor stands in the structure that the arm described.
void findPlaces(const protocol::ArmValue& value,
                const std::string& section,
                const std::string& key,
                std::vector<Place>& places)
{
    using Kind = protocol::ArmValue::Kind;
    if (value.kind == Kind::TensorRef) {
        const auto at = static_cast<std::size_t>(value.integer);
        if (value.integer >= 0 && at < places.size()) {
            places[at] = {section, key};
        }
        return;
    }
    const bool isDict = value.kind == Kind::Dict;
    for (std::size_t i = 0; i < value.items.size(); ++i) {
        if (!isDict) {
            findPlaces(value.items[i], section, key, places);
            continue;
        }
        const std::string& name = value.items[i].text;
        if (++i >= value.items.size()) {
            return;
        }
        const bool opens = name.starts_with("lathe.");
        findPlaces(value.items[i],
                   opens ? (name == "lathe.outputs" ? std::string() : name) : section,
                   opens ? std::string() : name,
                   places);
    }
}

std::vector<Place> placesOf(const OutputShape& shape)
{
    std::vector<Place> places(shape.tensors.size());
    for (const protocol::ArmValue& value : shape.structure) {
        findPlaces(value, {}, {}, places);
    }
    return places;
}

/// Every tensor inside an argument.
void tensorsIn(const protocol::ArmValue& value, std::vector<std::int64_t>& out)
{
    if (value.kind == protocol::ArmValue::Kind::TensorRef) {
        out.push_back(value.integer);
    }
    for (const protocol::ArmValue& item : value.items) {
        tensorsIn(item, out);
    }
}

} // namespace

std::string OutputShape::nameOf(std::size_t i) const
{
    const auto places = placesOf(*this);
    if (i < places.size() && places[i].section == "lathe.gradients") {
        return "the gradient of " + places[i].key;
    }
    if (i < places.size() && places[i].section == "lathe.mutated") {
        return places[i].key + " afterwards";
    }
    if (i < places.size() && places[i].section == "lathe.buffers") {
        return "the buffer " + places[i].key;
    }
    return "output " + std::to_string(i);
}

std::size_t OutputShape::beforeBuffers() const
{
    const auto places = placesOf(*this);
    std::size_t count = 0;
    while (count < places.size() && places[count].section != "lathe.buffers") {
        ++count;
    }
    return count;
}

std::vector<std::int64_t> comparedBesides(const protocol::TaskSpec& task)
{
    constexpr std::int64_t kGradients = 1;
    constexpr std::int64_t kBuffers = 2;
    return {(task.backward ? kGradients : 0) + (task.buffers == "compare" ? kBuffers : 0)};
}

ArmWriter InputSet::makeRequest(const protocol::TaskSpec& task) const
{
    using protocol::ArmValue;
    const auto text = [](const std::string& value) {
        ArmValue out;
        out.kind = ArmValue::Kind::String;
        out.text = value;
        return out;
    };
    std::vector<ArmValue> values;
    for (const protocol::InputRule& rule : task.inputs) {
        ArmValue index;
        index.kind = ArmValue::Kind::Int;
        index.integer = rule.index;
        ArmValue tuple;
        tuple.kind = ArmValue::Kind::Tuple;
        tuple.items = {index, text(rule.domain), text(rule.below), text(rule.layout)};
        values.push_back(std::move(tuple));
    }
    std::vector<std::int64_t> varyAndMutable{id == 0 ? 0 : 1};
    varyAndMutable.insert(varyAndMutable.end(), task.mutates.begin(), task.mutates.end());
    ArmWriter request(ArmMessage::MakeInputs);
    request.integer(FieldTag::Int, static_cast<std::int64_t>(seed))
        .integer(FieldTag::Int2, id)
        .values(FieldTag::Values, values)
        .integers(FieldTag::Ints, varyAndMutable);
    return request;
}

ArmWriter InputSet::bindRequest(const std::vector<int>& mutates,
                                std::optional<std::int64_t> as) const
{
    std::vector<std::int64_t> indexes;
    for (const int argument : mutates) {
        const auto at = static_cast<std::size_t>(argument);
        // The task counts arguments, the wire counts tensors.
        if (argument >= 0 && at < arguments.size()) {
            tensorsIn(arguments[at], indexes);
        }
    }
    ArmWriter request(ArmMessage::BindInputs);
    request.integer(FieldTag::Int, as.value_or(id))
        .tensors(FieldTag::Tensors, infos)
        .values(FieldTag::Values, arguments)
        .integers(FieldTag::Ints, indexes);
    return request;
}

} // namespace lathe::worker
