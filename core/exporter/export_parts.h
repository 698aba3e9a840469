// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/protocol/types.h>
#include <lathe/task/task.h>

#include <map>
#include <string>

namespace lathe::exporter {

/// Relative path to text.
using FileMap = std::map<std::string, std::string>;

/// The single file's text.
std::string kernelBenchFile(const task::Task& task, const protocol::CandidateSpec& candidate);
/// The files of the C++ package.
FileMap
cppPackage(const task::Task& task, const protocol::CandidateSpec& candidate, bool withReport);

/// The last part of the task's key as a C identifier.
std::string exportName(const task::Task& task);
bool isKernelSource(const std::string& path);
bool hasCuda(const protocol::CandidateSpec& candidate);
std::string replaced(std::string text, const std::string& from, const std::string& to);

} // namespace lathe::exporter
