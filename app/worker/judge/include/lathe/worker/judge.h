// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/process/cancel.h>
#include <lathe/protocol/messages.h>
#include <lathe/worker/arm_host.h>
#include <lathe/worker/builder.h>

#include <filesystem>
#include <functional>
#include <memory>

namespace lathe::worker {

using EventSink = std::function<void(const protocol::Event&)>;

struct JudgeSettings
{
    ArmSettings arm;
    std::filesystem::path scratchFolder; ///< private, on a file system with room; removed at exit
    std::filesystem::path
        lockFolder; ///< machine-wide device locks (flock), e.g. /var/lock/lathe or /tmp/lathe-locks
};

/// Runs evaluations, one at a time, on the evaluation thread. Keeps the open task's reference arms,
/// golden results and compiled baselines warm between evaluations and one candidate sandbox
/// waiting.
class Judge
{
public:
    virtual ~Judge() = default;
    static std::unique_ptr<Judge>
    create(const Sandbox& sandbox, Builder& builder, JudgeSettings settings);
    /// Everything from build to profile, as far as the request asks; events go to the sink as they
    /// happen. A verdict of any kind is a value; errors are for requests that could not be judged
    /// at all.
    virtual Result<protocol::EvaluateDone> evaluate(const protocol::EvaluateRequest& request,
                                                    const EventSink& sink,
                                                    const process::CancelSource& cancel) = 0;
    virtual Result<protocol::EvaluateDone> exec(const protocol::ExecRequest& request,
                                                const EventSink& sink,
                                                const process::CancelSource& cancel) = 0;
    /// "prepare": starts the task's arms and compiled baselines and returns at once.
    virtual Result<void> prepare(const protocol::EvaluateRequest& request) = 0;
    /// Called between requests: reaps, replaces the waiting sandbox, polls background baselines.
    /// Never waits.
    virtual void idle() = 0;
};

} // namespace lathe::worker
