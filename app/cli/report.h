// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host.h"
#include "options.h"
#include "terminal.h"

#include <vector>

namespace lathe::cli {

/// What a person reads of one evaluation: verdict, diagnostics, gates, timings, comparisons.
void printEvaluation(const Terminal& terminal,
                     const evaluation::EvaluationResult& result,
                     const std::string& label);
/// One line: glyph, verdict, speed against the best baseline.
std::string evaluationLine(const Terminal& terminal, const evaluation::EvaluationResult& result);

/// One document for one result, {"schema", "results"} for several.
nlohmann::ordered_json documentOf(const std::vector<ResultPtr>& results);
/// Whether the files of --export-json, --export-csv and --export-markdown can be written.
Result<void> checkExports(const CommonOptions& options);
/// Writes --export-json, --export-csv and --export-markdown.
Result<void> writeExports(const CommonOptions& options, const std::vector<ResultPtr>& results);

/// The exit code of one finished evaluation, --accept-if included.
int exitCodeOf(const evaluation::EvaluationResult& result, const CommonOptions& options);
/// The one that says most when several were run.
int worseExit(int a, int b);

} // namespace lathe::cli
