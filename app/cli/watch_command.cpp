// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "commands.h"
#include "folder_watch.h"
#include "progress.h"
#include "report.h"

#include <lathe/base/json.h>
#include <lathe/candidate/candidate.h>

#include <nlohmann/json.hpp>

#include <ctime>
#include <fmt/format.h>

namespace lathe::cli {

namespace {

std::string timeOfDay()
{
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    ::localtime_r(&now, &local);
    return fmt::format("{:02}:{:02}:{:02}", local.tm_hour, local.tm_min, local.tm_sec);
}

/// Judges the folder's content again and again. A save while something runs starts a newer
/// evaluation, which supersedes the running one.
class Watcher
{
public:
    Watcher(Host& host, const session::TaskDetail& task, const WatchOptions& options)
        : m_host(host)
        , m_task(task)
        , m_options(options)
    {}

    void judge()
    {
        auto spec = candidate::loadSolution(m_options.folder, m_options.format);
        if (!spec)
            return say(m_terminal.styled("✗ cannot be read", Tone::Bad) + "  "
                       + spec.error().message);
        std::string hash = candidate::contentHash(*spec);
        if (hash == m_hash)
            return; // saved without a change
        m_hash = std::move(hash);
        session::CandidateDraft draft;
        draft.task = m_task.row.id;
        draft.parent = m_parent;
        draft.label = "watch " + timeOfDay();
        draft.spec = std::move(*spec);
        const int turn = ++m_turn;
        m_host.session().createCandidate(
            std::move(draft), [this, turn](Result<session::CandidateRow> row) {
                if (!row)
                    return say(m_terminal.styled("✗ not stored", Tone::Bad) + "  "
                               + row.error().message);
                if (turn == m_turn)
                    evaluate(row->id, turn);
            });
    }

    [[nodiscard]] session::JobId job() const { return m_job; }

private:
    void evaluate(const CandidateId& candidate, int turn)
    {
        m_parent = candidate;
        m_job = m_host.session().evaluate(
            candidate, toEvaluateOptions(m_options), [this, turn](Result<ResultPtr> result) {
                if (turn != m_turn)
                    return; // a newer save has taken over
                m_job = 0;
                if (!result)
                    return say(m_terminal.styled("· no verdict", Tone::Warn) + "  "
                               + result.error().message);
                report(**result);
            });
    }

    void report(const evaluation::EvaluationResult& result)
    {
        if (m_options.json) { // one document a line: the stream has no end
            Terminal::line(dumpJson(evaluation::toDocument(result)));
            return;
        }
        say(evaluationLine(m_terminal, result));
        for (const protocol::Diagnostic& d : result.build.diagnostics)
            if (d.severity == "error")
                Terminal::line(
                    fmt::format("          {}:{}:{}: {}", d.file, d.line, d.column, d.message));
    }

    void say(const std::string& text)
    {
        if (m_options.json)
            std::fprintf(stderr, "%s\n", text.c_str());
        else
            Terminal::line(timeOfDay() + "  " + text);
    }

    Host& m_host;
    const session::TaskDetail& m_task;
    const WatchOptions& m_options;
    Terminal m_terminal;
    std::optional<CandidateId> m_parent;
    std::string m_hash;
    int m_turn = 0;
    session::JobId m_job = 0;
};

} // namespace

int runWatch(const WatchOptions& options)
{
    Loop loop;
    auto folder = FolderWatch::open(options.folder);
    if (!folder)
        return reportError(folder.error(), Phase::Input, options.json);
    auto opened = openTask(loop, options, options.task);
    if (!opened)
        return reportError(opened.error(), Phase::Input, options.json);
    Host& host = *opened->host;
    const session::TaskDetail& task = opened->task;
    host.session().prepare(task.row.id);
    Progress progress(options.progress == "ndjson");
    host.onProgress = [&](const evaluation::EvaluationResult& snapshot) {
        progress.update(snapshot);
        if (snapshot.finished)
            progress.finish();
    };
    Watcher watcher(host, task, options);
    bool dirty = false;
    loop.watch(folder->fd(), [&] { dirty = folder->drain() || dirty; });
    if (!options.json)
        Terminal::line(fmt::format("watching {} for {}, {} tier; Ctrl-C ends",
                                   options.folder,
                                   task.task.spec.key,
                                   options.tier));
    watcher.judge();
    while (!loop.interrupted()) {
        loop.runUntil([&] { return dirty || loop.interrupted(); });
        if (loop.interrupted())
            break;
        // Editors write, rename and touch: what comes within a moment is one save.
        do {
            dirty = false;
            loop.runFor(0.05, [&] { return loop.interrupted(); });
        } while (dirty && !loop.interrupted());
        watcher.judge();
    }
    if (watcher.job() != 0)
        host.session().cancel(watcher.job());
    return kInterrupted;
}

} // namespace lathe::cli
