// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/base/result.h>
#include <lathe/session/session.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lathe::cli {

/// Exit codes: part of the contract with scripts.
enum Exit : int {
    kCorrect = 0,
    kNotCorrect = 1,
    kUsage = 2,
    kMachine = 3,
    kNotAccepted = 4,
    kInternal = 70,
    kInterrupted = 130,
};

/// What every command that may print a document takes.
struct OutputOptions
{
    bool json = false;
    std::string progress; ///< "" or "ndjson"
};

/// What every command that evaluates takes.
struct CommonOptions : OutputOptions
{
    std::string target = "local";
    std::string device = "cpu";
    std::string workspace;
    std::string tier = "full";
    std::string until = "profile";
    std::vector<std::string> variants;
    std::vector<std::string> against;
    double minSeconds = 0;
    double maxNoisePercent = 1.0;
    double timeoutSeconds = 600;
    std::string acceptIf;
    std::optional<std::uint64_t> replaySeed;
    std::string format;
    std::string exportJson, exportCsv, exportMarkdown;
    bool list = false;
    bool allowUnsandboxed = false;
};

session::EvaluateOptions toEvaluateOptions(const CommonOptions& options);
/// --workspace, else LATHE_WORKSPACE, else the user's data folder.
std::filesystem::path workspaceOf(const CommonOptions& options);
/// "cpu" or "cuda"; a failure for targets and devices this build cannot reach.
Result<std::string> deviceOf(const CommonOptions& options);

/// Input: what the user named could not be read. Work: the evaluation itself failed. Candidate: a
/// refusal speaks of the candidate, not of the machine.
enum class Phase { Input, Work, Candidate };
int exitCodeOf(const Error& error, Phase phase);
/// Says on stderr what went wrong and, with --json, writes the error document to stdout; returns
/// the exit code.
int reportError(const Error& error, Phase phase, bool json);

} // namespace lathe::cli
