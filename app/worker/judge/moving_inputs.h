// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tensors.h"

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

namespace lathe::worker {

/// The two sets have the same arguments but for the contents of their tensors, and an arm works on
/// the judge's memory itself, not on copies in another layout.
bool sameKind(const InputSet& a, const InputSet& b);

/// One more input set of a process, whose contents the judge exchanges in place: the same tensors
/// at the same addresses, other values. Evaluation thread; the process must be idle meanwhile
/// but for apply().
class MovingInputs
{
public:
    /// Set ids of a process. The one that verification shows other contents in.
    static constexpr std::int64_t kId = 1000;
    /// The two that are timed; their contents first change when the timing is over.
    static constexpr std::int64_t kTimed = 1001;
    /// The first of those that a chain of calls goes over.
    static constexpr std::int64_t kChain = 1003;
    /// Holds the contents of `like`.
    static Result<std::unique_ptr<MovingInputs>>
    make(MemorySpace& memory, const InputSet& like, std::int64_t id = kId);
    /// The contents of another set; both are of the same kind.
    Result<void> show(const InputSet& contents);
    /// The contents of `base` with one element of every tensor as in `other`, another one each
    /// time: inputs that were never there before. Integer tensors stay those of the base.
    Result<void> showVaried(const InputSet& base, const InputSet& other, std::mt19937_64& random);
    /// What has to be written where `from` is shown for `to` to be; both are of the same kind.
    struct Patch
    {
        struct Piece
        {
            std::size_t tensor = 0;
            std::uint64_t offset = 0; ///< bytes
            std::vector<std::byte> bytes;
        };
        std::vector<Piece> pieces;
    };
    static Result<Patch> difference(const InputSet& from, const InputSet& to);
    /// Microseconds for a few elements; the process may be running: a call that begins later sees
    /// all of it.
    Result<void> apply(const Patch& patch);
    [[nodiscard]] protocol::ArmWriter bindRequest(const std::vector<int>& mutates) const
    {
        return m_set.bindRequest(mutates);
    }
    [[nodiscard]] std::int64_t id() const { return m_set.id; }
    [[nodiscard]] std::vector<int> fds() const { return descriptors(m_set.inputs, Access::Read); }

private:
    InputSet m_set;
};

} // namespace lathe::worker
