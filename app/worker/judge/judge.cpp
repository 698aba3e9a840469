// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "evaluation_run.h"
#include "tool_run.h"
#include "workshop.h"

namespace lathe::worker {
namespace {

class RealJudge final : public Judge
{
public:
    RealJudge(const Sandbox& sandbox, Builder& builder, JudgeSettings settings)
        : m_workshop(sandbox, builder, std::move(settings))
    {}

    Result<protocol::EvaluateDone> evaluate(const protocol::EvaluateRequest& request,
                                            const EventSink& sink,
                                            const process::CancelSource& cancel) override
    {
        EvaluationRun run(m_workshop, request, sink, cancel);
        return request.method == "baseline" ? run.baseline() : run.evaluate();
    }

    Result<protocol::EvaluateDone> exec(const protocol::ExecRequest& request,
                                        const EventSink& sink,
                                        const process::CancelSource& cancel) override
    {
        return runTool(m_workshop, request, sink, cancel);
    }

    Result<void> prepare(const protocol::EvaluateRequest& request) override
    {
        auto device = m_workshop.device(request);
        if (!device) {
            return tl::unexpected(device.error());
        }
        auto task = m_workshop.openTask(request, **device);
        if (!task) {
            return tl::unexpected(task.error());
        }
        m_workshop.ensureWaiting(**device);
        for (const auto& variant : chosenVariants(request)) {
            ReferenceVariant& reference = (*task)->variant(variant);
            if (request.against.empty()) {
                (*task)->compiled(reference, "default", true);
            }
            for (const std::string& arm : request.against) {
                if (arm.starts_with("compile:")) {
                    (*task)->compiled(reference, arm.substr(8), true);
                }
            }
        }
        return {};
    }

    void idle() override { m_workshop.idle(); }

private:
    Workshop m_workshop;
};

} // namespace

std::unique_ptr<Judge>
Judge::create(const Sandbox& sandbox, Builder& builder, JudgeSettings settings)
{
    return std::make_unique<RealJudge>(sandbox, builder, std::move(settings));
}

} // namespace lathe::worker
