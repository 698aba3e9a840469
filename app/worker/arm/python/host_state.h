// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/span_log.h"
#include "python/model_host.h"
#include "python/py_ref.h"
#include "python/values.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lathe::arm {

/// One set of arguments. Immutable ones are what the judge shared; mutable ones are copied before
/// every call.
struct InputSet
{
    std::vector<protocol::ArmValue> arguments;
    std::vector<PyRef> tensors;
    std::vector<std::int64_t> mutableIndexes;
    std::vector<PyRef> afterRun; ///< the tensors that the last Run worked on; empty before it
};

/// What one call gets: the positional arguments, and which tensors in them are private copies that
/// it may change.
struct CallArguments
{
    std::vector<PyRef> positional;
    std::vector<std::pair<std::int64_t, PyRef>> changing; ///< number among the input's tensors
    std::vector<PyRef> tensors;                           ///< all tensors, for alias detection
};

/// Private part of ModelHost, shared by its source files.
struct ModelHost::State
{
    State(Device& deviceIn, std::string phaseIn)
        : device(deviceIn)
        , phase(std::move(phaseIn))
    {}

    Device& device;
    std::string phase;
    SpanLog log;
    PyRef runtime; ///< runtime.py's Host
    PyRef callable;
    bool keepsBuffers = false; ///< a call may change what the next one begins with
    std::int64_t compared = 0; ///< besides the outputs; see ReferenceRequest
    std::map<std::int64_t, InputSet> sets;
    std::vector<PyRef> outputs;
    std::vector<CallArguments> prepared;
    std::vector<std::int64_t> preparedSets;

    [[nodiscard]] Failure pythonFailure(const std::string& stage = {}) const;
    Outcome<void> afterLoad();
    Outcome<InputSet*> findSet(std::int64_t id);
    /// Arguments for one call, with fresh copies of the mutable tensors.
    Outcome<CallArguments> argumentsOf(const InputSet& set);
    Outcome<std::vector<CallArguments>> argumentsForCalls(const std::vector<std::int64_t>& sets,
                                                          std::int64_t calls);
    /// One call of the model as Python does it. Null with an exception pending when it failed.
    [[nodiscard]] PyRef call(const CallArguments& arguments) const;
    /// The result with all else that the task compares.
    Outcome<PyRef> observed(const PyRef& result, const CallArguments& arguments);
    /// Keeps the tensors of a result, together with all else that the task compares: changed
    /// inputs, buffers. withAliases: say which inputs they share memory with.
    Outcome<Described>
    takeOutputs(const PyRef& result, const CallArguments& arguments, bool withAliases);
    Outcome<std::vector<PyRef>> mapWeights(std::vector<UniqueFd> buffers,
                                           const std::vector<protocol::TensorInfo>& infos);
    static Outcome<std::vector<PyRef>> plainValues(const std::vector<protocol::ArmValue>& values);
    /// One call for a Run, with its float mode and, when asked for, its operators.
    PyRef observedCall(const CallArguments& arguments, std::int64_t flags, Described& described);
};

/// No gradients and no garbage collection while it lives.
class QuietForward
{
public:
    QuietForward();
    ~QuietForward();
    QuietForward(const QuietForward&) = delete;
    QuietForward& operator=(const QuietForward&) = delete;

private:
    bool m_grad;
    bool m_collecting;
};

} // namespace lathe::arm
