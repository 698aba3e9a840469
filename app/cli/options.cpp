// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <lathe/base/files.h>
#include <lathe/base/json.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>

namespace lathe::cli {

session::EvaluateOptions toEvaluateOptions(const CommonOptions& options)
{
    session::EvaluateOptions out;
    out.tier = protocol::tierFromString(options.tier).value_or(protocol::Tier::Full);
    out.until = protocol::untilFromString(options.until).value_or(protocol::Until::Profile);
    out.variants = options.variants;
    out.against = options.against;
    out.minSeconds = options.minSeconds;
    out.maxNoisePercent = options.maxNoisePercent;
    out.timeoutSeconds = options.timeoutSeconds;
    out.replaySeed = options.replaySeed;
    return out;
}

std::filesystem::path workspaceOf(const CommonOptions& options)
{
    if (!options.workspace.empty())
        return options.workspace;
    if (const char* named = std::getenv("LATHE_WORKSPACE");
        named != nullptr && *named != '\0') // NOLINT(concurrency-mt-unsafe)
        return named;
    return dataFolder() / "workspace";
}

Result<std::string> deviceOf(const CommonOptions& options)
{
    if (options.target != "local") {
        return fail(ErrorCode::Unsupported,
                    "There is no target named " + options.target
                        + ": only \"local\" is known here.");
    }
    std::string device = options.device == "0" ? "cuda" : options.device;
    if (device.ends_with(":0"))
        device.resize(device.size() - 2);
    if (device != "cpu" && device != "cuda") {
        return fail(ErrorCode::Unsupported,
                    "Device " + options.device
                        + " cannot be used: cpu and cuda (the first GPU) are what there is.");
    }
    return device;
}

int exitCodeOf(const Error& error, Phase phase)
{
    switch (error.code) {
    case ErrorCode::Cancelled:
        return kInterrupted;
    case ErrorCode::InvalidArgument:
        return kUsage;
    case ErrorCode::NotFound:
    case ErrorCode::Io:
    case ErrorCode::Parse:
        return phase != Phase::Work                ? kUsage
               : error.code == ErrorCode::NotFound ? kMachine
                                                   : kInternal;
    case ErrorCode::Refused:
        return phase == Phase::Candidate ? kNotCorrect : kMachine;
    case ErrorCode::Unsupported:
        return kMachine;
    case ErrorCode::Protocol:
    case ErrorCode::Timeout:
    case ErrorCode::Network:
    case ErrorCode::Internal:
        break;
    }
    return kInternal;
}

int reportError(const Error& error, Phase phase, bool json)
{
    const int code = exitCodeOf(error, phase);
    std::fprintf(stderr, "lathe: %s\n", error.message.c_str());
    if (!error.detail.empty())
        std::fprintf(stderr, "%s\n", error.detail.c_str());
    if (json) {
        const nlohmann::ordered_json document = {
            {"schema", "lathe.error/1"},
            {"exitCode", code},
            {"error",
             {{"code", toString(error.code)},
              {"message", error.message},
              {"detail", error.detail}}},
        };
        std::fputs((dumpJson(document, 2) + "\n").c_str(), stdout);
    }
    return code;
}

} // namespace lathe::cli
