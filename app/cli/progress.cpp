// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "progress.h"

#include <lathe/base/json.h>
#include <lathe/protocol/types_json.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <unistd.h>

namespace lathe::cli {

namespace {

void send(const char* event, const evaluation::EvaluationResult& of, nlohmann::json fields)
{
    nlohmann::json object = {
        {"event", event}, {"candidate", of.candidate.text()}, {"task", of.task}};
    object.update(fields);
    std::fputs((dumpJson(object) + "\n").c_str(), stderr);
    std::fflush(stderr);
}

} // namespace

Progress::Progress(bool ndjson)
    : m_ndjson(ndjson)
    , m_terminal(::isatty(STDERR_FILENO) != 0)
{}

Progress::~Progress()
{
    finish();
}

void Progress::sendNews(const evaluation::EvaluationResult& snapshot)
{
    if (snapshot.stage != m_stage) {
        m_stage = snapshot.stage;
        send("stage", snapshot, {{"text", m_stage}});
    }
    if (snapshot.build.status != "skipped" && snapshot.build.status != m_build) {
        m_build = snapshot.build.status;
        send("build", snapshot, {{"build", protocol::toJson(snapshot.build)}});
    }
    for (; m_gates < snapshot.gates.size(); ++m_gates)
        send("gate", snapshot, {{"gate", protocol::toJson(snapshot.gates[m_gates])}});
    for (; m_timings < snapshot.timings.size(); ++m_timings)
        send(
            "timing", snapshot, {{"timing", protocol::toJson(snapshot.timings[m_timings], false)}});
    for (; m_comparisons < snapshot.comparisons.size(); ++m_comparisons)
        send("comparison",
             snapshot,
             {{"comparison", protocol::toJson(snapshot.comparisons[m_comparisons])}});
    for (; m_warnings < snapshot.warnings.size(); ++m_warnings)
        send("warning", snapshot, {{"text", snapshot.warnings[m_warnings]}});
    if (snapshot.finished) {
        send("finished",
             snapshot,
             {{"verdict",
               snapshot.verdict ? nlohmann::json(protocol::toString(*snapshot.verdict))
                                : nlohmann::json()},
              {"reason", snapshot.reason}});
    }
}

void Progress::update(const evaluation::EvaluationResult& snapshot)
{
    const std::string& id = snapshot.id.text();
    if (id != m_evaluation) {
        finish();
        m_evaluation = id;
    }
    if (m_ndjson)
        return sendNews(snapshot);
    if (!m_terminal || snapshot.finished)
        return;
    std::fprintf(stderr,
                 "\r\x1b[K%s %zu gates, %zu timings",
                 snapshot.stage.c_str(),
                 snapshot.gates.size(),
                 snapshot.timings.size());
    std::fflush(stderr);
    m_lineShown = true;
}

void Progress::finish()
{
    if (m_lineShown)
        std::fputs("\r\x1b[K", stderr);
    m_lineShown = false;
    m_evaluation.clear();
    m_stage.clear();
    m_build.clear();
    m_gates = m_timings = m_comparisons = m_warnings = 0;
}

} // namespace lathe::cli
