// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "profile/span_log.h"
#include "python/model_host.h"
#include "python/py_ref.h"
#include "python/values.h"

#include <cstdint>
#include <map>

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

/// The positional arguments of one call.
using CallArguments = std::vector<PyRef>;

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
    std::map<std::int64_t, InputSet> sets;
    std::vector<PyRef> outputs;
    std::vector<CallArguments> prepared;
    std::vector<std::int64_t> preparedSets;

    [[nodiscard]] Failure pythonFailure(const std::string& stage = {}) const;
    Outcome<void> afterLoad();
    Outcome<InputSet*> findSet(std::int64_t id);
    /// Arguments for one call, with fresh copies of the mutable tensors; these are put into used
    /// when it is given.
    Outcome<CallArguments> argumentsOf(const InputSet& set, std::vector<PyRef>* used = nullptr);
    Outcome<std::vector<CallArguments>> argumentsForCalls(const std::vector<std::int64_t>& sets,
                                                          std::int64_t calls);
    /// One call of the model as Python does it. Null with an exception pending when it failed.
    [[nodiscard]] PyRef call(const CallArguments& arguments) const;
    Outcome<Described> takeOutputs(const PyRef& result, const std::vector<PyRef>& inputs);
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
