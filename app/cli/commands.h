// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "options.h"

#include <optional>
#include <string>
#include <vector>

/// The commands, free of the argument parser: what each takes, and the function that runs it and
/// returns the exit code.
namespace lathe::cli {

struct AgentCommandOptions : CommonOptions
{
    std::string task;
    std::string provider;
    std::string from;
    int turns = 200;
    double maxSeconds = 3600;
    std::optional<double> cost;
};

struct TrajectoryOptions : CommonOptions
{
    std::string run;
};

struct CandidateOptions : CommonOptions
{
    std::string candidate;
    std::string as;
    std::string out;
    std::string note;
    bool withdraw = false;
};

struct DoctorOptions : CommonOptions
{
    std::string python;
};

struct EvalOptions : CommonOptions
{
    std::string task;
    std::vector<std::string> solutions;
};

struct ExecOptions : CommonOptions
{
    std::string task;
    std::string solution;
    std::vector<std::string> tool;
};

struct TaskOptions : CommonOptions
{
    std::string task;
    std::string folder;
    bool readOnly = false; ///< check: run nothing
    bool compile = false;  ///< check: under torch.compile as well
};

struct TraceOptions : OutputOptions
{
    std::string first;
    std::string second;
    std::size_t top = 20;
};

struct WatchOptions : CommonOptions
{
    std::string task;
    std::string folder;
};

int runAgentTask(const AgentCommandOptions& options);
int runTrajectoryShow(const TrajectoryOptions& options);
int runExport(const CandidateOptions& options);
int runAccept(const CandidateOptions& options);
int runDemo(CommonOptions options);
int runDoctor(const DoctorOptions& options);
int runEval(const EvalOptions& options, const std::vector<std::string>& arguments);
int runBaseline(const EvalOptions& options, const std::vector<std::string>& arguments);
int runExec(const ExecOptions& options);
int runGui(const std::vector<std::string>& arguments);
int runTaskCheck(const TaskOptions& options);
int runTaskShow(const TaskOptions& options);
int runTaskList(const TaskOptions& options);
int runTaskImport(const TaskOptions& options);
int runTaskNew(const TaskOptions& options);
int runTraceInfo(const TraceOptions& options);
int runTraceConvert(const TraceOptions& options);
int runTraceDiff(const TraceOptions& options);
int runWatch(const WatchOptions& options);

} // namespace lathe::cli
