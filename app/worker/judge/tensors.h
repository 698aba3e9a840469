// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calibration.h"
#include "call_script.h"

#include <lathe/protocol/arm_wire.h>
#include <lathe/worker/memory.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lathe::worker {

using Buffers = std::vector<std::unique_ptr<SharedBuffer>>;

/// A buffer for each tensor.
Result<Buffers> allocateFor(MemorySpace& memory, const std::vector<protocol::TensorInfo>& infos);
std::vector<int> descriptors(const Buffers& buffers, Access access);

/// What FillTensors copies.
enum class TensorGroup : std::int64_t { Weights = 0, Inputs = 1, Outputs = 2 };
Result<ArmCall> fillCall(ArmProcess& process,
                         TensorGroup group,
                         std::int64_t set,
                         const Buffers& buffers,
                         double timeoutSeconds);
/// The first `count` buffers only.
Result<ArmCall> fillCall(ArmProcess& process,
                         TensorGroup group,
                         std::int64_t set,
                         const Buffers& buffers,
                         std::size_t count,
                         double timeoutSeconds);

/// A tensor's bytes as the judge reads them: the buffer's own view, or a copy from the device.
class HostBytes
{
public:
    static Result<HostBytes> of(SharedBuffer& buffer, std::uint64_t bytes);
    [[nodiscard]] std::span<const std::byte> view() const { return m_view; }

private:
    std::vector<std::byte> m_copy;
    std::span<const std::byte> m_view;
};

/// What forward returned: its tensors, how they are arranged, and which inputs they share memory
/// with.
struct OutputShape
{
    std::vector<protocol::TensorInfo> tensors;
    std::vector<protocol::ArmValue> structure;
    std::vector<std::int64_t> aliases;
    std::int64_t floatMode = 0; ///< what the call left of the floating-point mode; 0: as it was
    std::string operators;      ///< one a line, where they were asked for
    static Result<OutputShape> from(const protocol::ArmReader& reply);
    /// What a person calls tensor i: "output 1", "the gradient of weight", "input 0 afterwards",
    /// "the buffer running_mean".
    [[nodiscard]] std::string nameOf(std::size_t i) const;
    /// How many tensors come before the buffers, which a timed process has carried on.
    [[nodiscard]] std::size_t beforeBuffers() const;
};

/// LoadReference's and LoadCandidate's Ints: what is compared besides the outputs.
std::vector<std::int64_t> comparedBesides(const protocol::TaskSpec& task);

/// One drawn set of inputs with everything known about it. The inputs are sealed once filled.
struct InputSet
{
    std::int64_t id = 0;
    std::uint64_t seed = 0;
    std::vector<protocol::TensorInfo> infos;
    std::vector<protocol::ArmValue> arguments;
    Buffers inputs;
    std::vector<std::string> hashes;
    OutputShape goldenShape;
    Buffers golden;
    std::vector<double> scales; ///< root mean square of each golden output
    /// MakeInputs. Only set 0 is as get_inputs draws it; the others use the declared domains.
    [[nodiscard]] protocol::ArmWriter makeRequest(const protocol::TaskSpec& task) const;
    [[nodiscard]] protocol::ArmWriter bindRequest(const std::vector<int>& mutates,
                                                  std::optional<std::int64_t> as = {}) const;
};

} // namespace lathe::worker
