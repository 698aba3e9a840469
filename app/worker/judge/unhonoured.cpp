// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "unhonoured.h"

#include <fmt/format.h>

namespace lathe::worker {

std::vector<std::string> unhonoured(const protocol::TaskSpec& task, const std::string& device)
{
    std::vector<std::string> out;
    for (const protocol::InputRule& rule : task.inputs) {
        if (rule.layout == "offset") {
            out.push_back(
                fmt::format("task.json's \"inputs\": the layout \"offset\" of input {} is "
                            "not carried to the arms yet; it comes at an aligned address",
                            rule.index));
        }
    }
    if (!task.free.empty()) {
        out.emplace_back(
            "task.json's \"free\": no hidden shapes are drawn from free dimensions yet");
    }
    if (!task.libraries.empty() && task.libraries != std::vector<std::string>{"none"}) {
        out.emplace_back("task.json's \"libraries\": which library a candidate calls is not told "
                         "apart yet; only [\"none\"] is held to");
    }
    if (device == "cpu" && task.precision == "tf32") {
        out.emplace_back("task.json's \"precision\": a CPU has no tf32; float32 is used");
    }
    return out;
}

std::string unjudgeable(const protocol::TaskSpec& task)
{
    if (task.stochastic == "statistical") {
        return "the task declares itself stochastic, to be compared by a statistical test, and "
               "this "
               "judge has none: give the random mask or generator state as an input and declare "
               "\"explicit\"";
    }
    if (task.stochastic == "unjudgeable") {
        return "the task declares itself unjudgeable";
    }
    return {};
}

} // namespace lathe::worker
