// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "moving_inputs.h"

#include "comparator.h"

#include <algorithm>
#include <cstring>

namespace lathe::worker {
namespace {

bool sameValue(const protocol::ArmValue& a, const protocol::ArmValue& b)
{
    return a.kind == b.kind && a.integer == b.integer && a.text == b.text
           && std::memcmp(&a.real, &b.real, sizeof a.real) == 0
           && std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), sameValue);
}

bool sameInfo(const protocol::TensorInfo& a, const protocol::TensorInfo& b)
{
    return a.dtype == b.dtype && a.shape == b.shape && a.strides.empty() && b.strides.empty();
}

} // namespace

bool sameKind(const InputSet& a, const InputSet& b)
{
    return !a.infos.empty()
           && std::equal(a.infos.begin(), a.infos.end(), b.infos.begin(), b.infos.end(), sameInfo)
           && std::equal(a.arguments.begin(),
                         a.arguments.end(),
                         b.arguments.begin(),
                         b.arguments.end(),
                         sameValue);
}

Result<std::unique_ptr<MovingInputs>>
MovingInputs::make(MemorySpace& memory, const InputSet& like, std::int64_t id)
{
    auto out = std::make_unique<MovingInputs>();
    auto buffers = allocateFor(memory, like.infos);
    if (!buffers) {
        return tl::unexpected(buffers.error());
    }
    out->m_set.id = id;
    out->m_set.infos = like.infos;
    out->m_set.arguments = like.arguments;
    out->m_set.inputs = std::move(*buffers);
    if (auto shown = out->show(like); !shown) {
        return tl::unexpected(shown.error());
    }
    for (const auto& buffer : out->m_set.inputs) {
        if (auto sealed = buffer->sealForReaders(); !sealed) {
            return tl::unexpected(sealed.error());
        }
    }
    return out;
}

Result<void> MovingInputs::show(const InputSet& contents)
{
    for (std::size_t i = 0; i < m_set.inputs.size(); ++i) {
        const auto bytes = HostBytes::of(*contents.inputs[i], m_set.infos[i].bytes());
        if (!bytes) {
            return tl::unexpected(bytes.error());
        }
        if (auto written = m_set.inputs[i]->upload(0, bytes->view()); !written) {
            return written;
        }
    }
    return {};
}

Result<void>
MovingInputs::showVaried(const InputSet& base, const InputSet& other, std::mt19937_64& random)
{
    if (auto shown = show(base); !shown) {
        return shown;
    }
    for (std::size_t i = 0; i < m_set.inputs.size(); ++i) {
        const auto& info = m_set.infos[i];
        const std::size_t size = protocol::elementBytes(info.dtype);
        if (comparedExactly(info.dtype) || info.bytes() < size || size == 0) {
            continue;
        }
        const auto bytes = HostBytes::of(*other.inputs[i], info.bytes());
        if (!bytes) {
            return tl::unexpected(bytes.error());
        }
        const std::size_t at = random() % (info.bytes() / size) * size;
        if (auto written = m_set.inputs[i]->upload(at, bytes->view().subspan(at, size)); !written) {
            return written;
        }
    }
    return {};
}

Result<MovingInputs::Patch> MovingInputs::difference(const InputSet& from, const InputSet& to)
{
    constexpr std::size_t kPiece = 64;
    Patch patch;
    for (std::size_t tensor = 0; tensor < to.inputs.size(); ++tensor) {
        const std::uint64_t bytes = to.infos[tensor].bytes();
        const auto old = HostBytes::of(*from.inputs[tensor], bytes);
        const auto wanted = HostBytes::of(*to.inputs[tensor], bytes);
        if (!old || !wanted) {
            return tl::unexpected(!old ? old.error() : wanted.error());
        }
        for (std::size_t at = 0; at < bytes; at += kPiece) {
            const std::size_t count = std::min<std::size_t>(kPiece, bytes - at);
            const auto piece = wanted->view().subspan(at, count);
            if (std::memcmp(old->view().data() + at, piece.data(), count) != 0) {
                patch.pieces.push_back({tensor, at, {piece.begin(), piece.end()}});
            }
        }
    }
    return patch;
}

Result<void> MovingInputs::apply(const Patch& patch)
{
    for (const Patch::Piece& piece : patch.pieces) {
        if (auto written = m_set.inputs[piece.tensor]->upload(piece.offset, piece.bytes);
            !written) {
            return written;
        }
    }
    return {};
}

} // namespace lathe::worker
