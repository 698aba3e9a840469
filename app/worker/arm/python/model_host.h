// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device.h"
#include "failure.h"

#include <lathe/protocol/arm_wire.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lathe::arm {

struct ReferenceRequest
{
    std::string path;
    std::string compileMode;
    std::vector<std::string> constants; ///< name, literal, name, literal ...
    std::int64_t seed = 0;
    std::string mode;
    std::string precision;
    bool upcast = false;
    std::int64_t compared = 0; ///< bit 0: gradients, bit 1: buffers
};

struct CandidateRequest
{
    std::string folder;
    std::string format;
    std::vector<protocol::ArmValue> initInputs;
    std::vector<std::string> weightNames;
    std::vector<protocol::TensorInfo> weightInfos;
    std::vector<UniqueFd> weights;
    bool frozen = false;
    bool skipKernels = false;
    std::int64_t seed = 0;
    std::string mode;
    std::string precision;
    std::int64_t compared = 0;
};

struct InputsRequest
{
    std::int64_t set = 0;
    std::vector<protocol::TensorInfo> infos;
    std::vector<protocol::ArmValue> arguments;
    std::vector<std::int64_t> mutableIndexes; ///< of the arguments' tensors
    std::vector<UniqueFd> buffers;
};

struct WeightsRequest
{
    std::vector<std::string> names;
    std::vector<protocol::TensorInfo> infos;
    std::vector<UniqueFd> buffers;
    std::vector<protocol::ArmValue> initInputs;
    bool newInstance = false;
};

struct RunRequest
{
    std::int64_t set = 0;
    std::int64_t flags = 0; ///< protocol::RunFlag
};

struct Described
{
    std::vector<std::string> names; ///< weights
    std::vector<protocol::TensorInfo> tensors;
    std::vector<protocol::ArmValue> values;
    std::vector<std::int64_t>
        aliases;                ///< per output tensor: the input it shares memory with, or -1
    std::int64_t floatMode = 0; ///< FloatModeChange bits that forward left behind
    std::string operators;      ///< one a line, where they were asked for
};

struct Timing
{
    double totalSeconds = 0;
    double eventSeconds = -1; ///< negative: the device has no events
    bool starved = false;     ///< see DeviceTime
};

struct TraceResult
{
    std::string chromeJson;
    double ownKernelSeconds = 0;
    double spanSeconds = 0;
};

enum class TensorGroup : std::int64_t { Weights = 0, Inputs = 1, Outputs = 2 };

/// The model of one phase with its inputs and outputs: everything a request asks of Python. One per
/// process, used from the control thread; no exception leaves it.
class ModelHost
{
public:
    /// The interpreter must run. device must outlive the host; phase is the process's name in a
    /// trace.
    ModelHost(Device& device, std::string phase);
    ~ModelHost();
    ModelHost(const ModelHost&) = delete;
    ModelHost& operator=(const ModelHost&) = delete;

    Outcome<void> loadReference(const ReferenceRequest& request);
    Outcome<void> loadCandidate(CandidateRequest request);
    /// The extensions that a candidate's files ask for when they are imported: a JSON list.
    Outcome<std::string> discover(const std::string& folder);
    Outcome<std::vector<protocol::ArmValue>> initInputs();
    Outcome<Described> weights();
    /// rules: (index, domain, below, layout) of arguments; vary: draw anew inside the domains;
    /// mutableArguments: forward may change them.
    Outcome<Described> makeInputs(std::int64_t seed,
                                  std::int64_t set,
                                  const std::vector<protocol::ArmValue>& rules,
                                  bool vary,
                                  const std::vector<std::int64_t>& mutableArguments);
    Outcome<void> bindInputs(InputsRequest request);
    /// Lets go of a set's memory; there need be none.
    void releaseInputs(std::int64_t set);
    /// Copies tensors [first, first + buffers) of the group out. set only counts for inputs: after
    /// a Run these are the mutable arguments as forward left them.
    Outcome<void>
    fill(TensorGroup group, std::int64_t set, std::size_t first, std::vector<UniqueFd> buffers);
    Outcome<Described> run(const RunRequest& request);
    /// Other weights for the loaded candidate: copied into it, or given to a new instance.
    Outcome<void> replaceWeights(WeightsRequest request);
    /// Makes the private copies that the next time() with the same sets and calls needs, so that
    /// they are not timed.
    Outcome<void> prepare(const std::vector<std::int64_t>& sets, std::int64_t calls);
    Outcome<Timing>
    time(const std::vector<std::int64_t>& sets, std::int64_t calls, std::uint64_t flushBytes);
    Outcome<TraceResult> trace(std::int64_t set, std::int64_t calls);

private:
    Outcome<void> loadCandidateNow(CandidateRequest request);
    struct State;
    std::unique_ptr<State> m_state;
};

} // namespace lathe::arm
