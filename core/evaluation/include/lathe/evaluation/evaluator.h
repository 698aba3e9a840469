// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/protocol/messages.h>

#include <cstdint>
#include <functional>

namespace lathe::evaluation {

/// Handle of a running request; 0 is none.
using JobId = std::uint64_t;

struct JobHandlers
{
    std::function<void(const protocol::Event&)> onEvent;
    std::function<void(Result<protocol::EvaluateDone>)>
        onDone; ///< exactly once, also after cancel (Cancelled)
};

/// Something that evaluates candidates: the worker client, or a fake in tests. Lives on the core
/// thread: every call and every callback happens there.
class Evaluator
{
public:
    virtual ~Evaluator() = default;
    virtual JobId start(protocol::EvaluateRequest request, JobHandlers handlers) = 0;
    /// Ends the job: the worker kills what it runs for it. onDone follows with Cancelled within a
    /// second.
    virtual void cancel(JobId job) = 0;
};

} // namespace lathe::evaluation
