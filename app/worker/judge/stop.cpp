// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "candidate_arm.h"

#include <cstdint>
#include <fmt/format.h>

namespace lathe::worker {

using protocol::FieldTag;
using protocol::Verdict;

Stop stopFor(const Error& error,
             ArmProcess* process,
             const std::string& doing,
             double timeoutSeconds)
{
    switch (error.code) {
    case ErrorCode::Timeout:
        return {Verdict::Timeout,
                fmt::format("no answer within {:g} s while {}", timeoutSeconds, doing),
                process != nullptr ? process->takeOutput() : std::string{},
                false,
                {}};
    case ErrorCode::Protocol: {
        std::string how = "sent something that is not an answer";
        if (process != nullptr) {
            if (const ArmExit exit = process->exitState(); exit.exited) {
                how = exit.signal != 0 ? "was " + exit.describe() : exit.describe();
            }
        }
        return {Verdict::Crashed,
                "the candidate's process " + how + " while " + doing,
                process != nullptr ? process->takeOutput() : std::string{},
                false,
                {}};
    }
    default:
        return {Verdict::Refused, error.message, error.detail, false, error};
    }
}

bool outOfMemory(const Stop& stop)
{
    // A candidate's answers and ends never set the error: it cannot give a check up.
    return stop.error && stop.error->code != ErrorCode::Cancelled;
}

Stop stopForFailed(const protocol::ArmReader& reply)
{
    const std::string stage = reply.text(FieldTag::Text);
    std::string sentence = reply.text(FieldTag::Text2);
    const std::string file = reply.text(FieldTag::Text4);
    const std::int64_t line = reply.integer(FieldTag::Int);
    // A SyntaxError says its place itself.
    if (line > 0 && !file.empty()
        && sentence.find("line " + std::to_string(line)) == std::string::npos) {
        sentence += fmt::format(" ({}, line {})", file.substr(file.rfind('/') + 1), line);
    }
    Stop stop{Verdict::Crashed, {}, reply.text(FieldTag::Text3), false, {}};
    if (stage == "import") {
        stop.verdict = Verdict::LoadFailed;
        stop.reason = "importing model_new.py failed: " + sentence;
    } else if (stage == "init") {
        stop.verdict = Verdict::LoadFailed;
        stop.reason = "constructing ModelNew failed: " + sentence;
    } else if (stage == "load" || stage == "constants") {
        stop.verdict = Verdict::LoadFailed;
        stop.reason = "loading the candidate failed: " + sentence;
    } else if (stage == "prepare") {
        stop.verdict = Verdict::LoadFailed;
        stop.reason = "the candidate's prepare() failed: " + sentence;
    } else if (stage == "contract") {
        stop.verdict = Verdict::Wrong;
        stop.reason = sentence;
    } else if (stage == "declined") {
        stop.verdict = Verdict::Refused;
        stop.declined = true;
        stop.reason = sentence;
    } else if (stage == "forward") {
        stop.reason = "forward failed: " + sentence;
    } else {
        stop.reason = (stage.empty() ? std::string{} : stage + ": ") + sentence;
    }
    return stop;
}

} // namespace lathe::worker
