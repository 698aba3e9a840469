// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "fake_session.h"

#include <algorithm>

namespace lathe::test {

using evaluation::EvaluationResult;
using protocol::GateStatus;
using protocol::Tier;
using protocol::Verdict;

namespace {

const char* const kReference = R"(import torch
from torch import nn

rows = 512
hidden = 8192


class Model(nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))
        self.eps = eps

    def forward(self, x, residual):
        h = x + residual
        var = h.float().pow(2).mean(-1, keepdim=True)
        y = h * torch.rsqrt(var + self.eps).to(h.dtype)
        return y * self.weight, h
)";

const char* const kKernel = R"(#include <lathe/kernel.h>

// Two rows per step: the weight is read once for both.
static void twoRows(const float* x, float* h, float* y, const float* w, int64_t n, float eps) {
  __m256 sum0 = zero(), sum1 = zero();
  for (int64_t i = 0; i < n; i += 8) {
    sum0 = fma(x + i, sum0);
  }
  store(y, x, w, sum0, n);
}
)";

bool holds(const protocol::CandidateSpec& spec, const char* word)
{
    return std::any_of(spec.files.begin(), spec.files.end(), [&](const auto& file) {
        return file.text.find(word) != std::string::npos;
    });
}

void addTimings(EvaluationResult& result, double ratio)
{
    for (const char* variant : {"decode", "short", "long", "huge"}) {
        const double eager = 7620;
        const double mine = eager / 2.5 / ratio;
        result.timings.push_back({"candidate",
                                  variant,
                                  "warm",
                                  60,
                                  1,
                                  mine,
                                  mine * 0.99,
                                  mine * 1.01,
                                  mine * 0.98,
                                  mine * 1.03,
                                  0.8,
                                  {}});
        result.timings.push_back({"eager",
                                  variant,
                                  "warm",
                                  60,
                                  0,
                                  eager,
                                  eager * 0.99,
                                  eager * 1.01,
                                  eager * 0.98,
                                  eager * 1.02,
                                  0.9,
                                  {}});
        result.timings.push_back({"compile:default",
                                  variant,
                                  "warm",
                                  60,
                                  0,
                                  eager / 2.5,
                                  eager / 2.55,
                                  eager / 2.45,
                                  eager / 2.6,
                                  eager / 2.4,
                                  1.1,
                                  {}});
        result.comparisons.push_back({"candidate",
                                      "eager",
                                      variant,
                                      "warm",
                                      ratio * 2.5,
                                      ratio * 2.45,
                                      ratio * 2.55,
                                      "faster"});
        result.comparisons.push_back({"candidate",
                                      "compile:default",
                                      variant,
                                      "warm",
                                      ratio,
                                      ratio * 0.98,
                                      ratio * 1.02,
                                      ratio > 1.02 ? "faster" : "slower"});
    }
}

} // namespace

FakeSession::FakeSession(std::filesystem::path workspace,
                         session::Executor executor,
                         session::Observer& observer)
    : m_workspace(std::move(workspace))
    , m_executor(std::move(executor))
    , m_observer(observer)
{
    shown.spec.key = "starter/rmsnorm_residual";
    shown.spec.source = kReference;
    for (const char* variant : {"decode", "short", "long", "huge"}) {
        shown.spec.variants.push_back({.name = variant});
    }
    shown.title = "RMS norm of a residual sum";
    shown.suite = "starter";
    shown.notes = "# RMS norm\nExpected: memory bound.";
}

session::TaskRow FakeSession::taskRow() const
{
    session::TaskRow task{.id = m_task,
                          .key = shown.spec.key,
                          .title = shown.title,
                          .suite = shown.suite,
                          .candidates = static_cast<int>(rows.size()),
                          .status = "not run"};
    for (const auto& candidate : rows) {
        if (candidate.best && (!task.best || candidate.best->ratio > task.best->ratio)) {
            task.best = candidate.best;
            task.status = "correct";
        }
    }
    return task;
}

session::CandidateRow* FakeSession::row(const CandidateId& id)
{
    const auto found = std::find_if(
        rows.begin(), rows.end(), [&](const auto& candidate) { return candidate.id == id; });
    return found == rows.end() ? nullptr : &*found;
}

CandidateId FakeSession::seed(const std::string& label,
                              std::optional<CandidateId> parent,
                              Verdict verdict,
                              double ratio)
{
    session::CandidateRow candidate{.id = CandidateId::fresh(),
                                    .task = m_task,
                                    .parent = std::move(parent),
                                    .number = static_cast<int>(rows.size()) + 1,
                                    .author = session::Author::Agent,
                                    .label = label,
                                    .createdAt = "2026-12-01T12:00:00.000Z"};
    protocol::CandidateSpec spec{.id = candidate.id.text()};
    spec.files = {{"kernels/rmsnorm.cpp", std::string(kKernel) + "// " + label + "\n"},
                  {"model_new.py", "class ModelNew:\n    pass\n"}};
    sources[candidate.id.text()] = spec;
    EvaluationResult result;
    result.id = EvaluationId::fresh();
    result.candidate = candidate.id;
    result.task = shown.spec.key;
    result.tier = Tier::Full;
    result.finished = true;
    result.verdict = verdict;
    result.build.status = "ok";
    result.gates = {{"build", GateStatus::Pass, "built", "{}"},
                    {"contract", GateStatus::Pass, "shapes and dtypes agree", "{}"}};
    if (verdict == Verdict::Correct) {
        result.gates.push_back(
            {"numerics",
             GateStatus::Pass,
             "within tolerance",
             R"({"maxAbs":0.0156,"mismatches":0,"elements":4194304,"worst":{"output":0,"index":[511,7],"expected":1.0,"got":1.0156}})"});
        addTimings(result, ratio);
        result.done.aaFloorPercent = 0.6;
        candidate.best = result.againstBestBaseline();
    } else {
        result.gates.push_back({"numerics", GateStatus::Fail, "wrong tail", "{}"});
        result.reason = candidate.reason = "Wrong in the last 5 elements of each row.";
    }
    candidate.verdict = verdict;
    candidate.tier = Tier::Full;
    candidate.evaluation = result.id;
    results[candidate.id.text()] = std::make_shared<const EvaluationResult>(std::move(result));
    rows.push_back(candidate);
    return candidate.id;
}

void FakeSession::tasks(session::Callback<std::vector<session::TaskRow>> done)
{
    post([this, done] {
        session::TaskRow other{.id = TaskId::fresh(),
                               .key = "starter/gpt_block",
                               .title = "A block",
                               .suite = "starter",
                               .status = "not run"};
        done(std::vector{taskRow(), other});
    });
}

void FakeSession::openTask(std::string reference, session::Callback<session::TaskDetail> done)
{
    calls.push_back("openTask " + reference);
    post([this, done, reference] {
        if (reference.find("rmsnorm") == std::string::npos) {
            done(fail(ErrorCode::NotFound, "There is no task " + reference));
        } else {
            done(session::TaskDetail{taskRow(), shown});
        }
    });
}

void FakeSession::candidates(TaskId, session::Callback<std::vector<session::CandidateRow>> done)
{
    post([this, done] { done(rows); });
}

void FakeSession::source(CandidateId candidate, session::Callback<protocol::CandidateSpec> done)
{
    post([this, done, candidate] { done(sources.at(candidate.text())); });
}

void FakeSession::createCandidate(session::CandidateDraft asked,
                                  session::Callback<session::CandidateRow> done)
{
    calls.push_back("createCandidate " + asked.label);
    session::CandidateRow candidate{.id = CandidateId::fresh(),
                                    .task = m_task,
                                    .parent = asked.parent,
                                    .number = static_cast<int>(rows.size()) + 1,
                                    .author = asked.author,
                                    .label = asked.label,
                                    .createdAt = "2026-12-01T12:00:00.000Z"};
    asked.spec.id = candidate.id.text();
    sources[candidate.id.text()] = asked.spec;
    rows.push_back(candidate);
    post([this, done, candidate] {
        done(candidate);
        m_observer.onCandidatesChanged(m_task);
    });
}

void FakeSession::labelCandidate(CandidateId candidate,
                                 std::string label,
                                 session::Callback<void> done)
{
    row(candidate)->label = std::move(label);
    post([done] { done({}); });
}

void FakeSession::pin(TaskId, CandidateId candidate, session::Callback<void> done)
{
    for (auto& other : rows) {
        other.pinned = other.id == candidate;
    }
    post([this, done] {
        done({});
        m_observer.onCandidatesChanged(m_task);
    });
}

session::JobId
FakeSession::evaluate(CandidateId candidate,
                      session::EvaluateOptions options,
                      session::Callback<std::shared_ptr<const EvaluationResult>> done)
{
    calls.push_back(std::string("evaluate ") + protocol::toString(options.tier)
                    + (options.thenFull ? " thenFull" : ""));
    Job job;
    job.id = m_nextJob++;
    job.candidate = candidate;
    job.done = std::move(done);
    job.onFull = options.onFull;
    script(job, options.tier);
    if (options.thenFull && !holds(sources.at(candidate.text()), "BREAK")
        && !holds(sources.at(candidate.text()), "WRONG")) {
        script(job, Tier::Full);
    }
    row(candidate)->running = true;
    m_job = std::move(job);
    return m_job->id;
}

void FakeSession::script(Job& job, Tier tier)
{
    const protocol::CandidateSpec spec = sources.at(job.candidate.text());
    job.script.emplace_back([tier](Job& j) {
        const CandidateId candidate = j.candidate;
        j.result = EvaluationResult();
        j.result.id = EvaluationId::fresh();
        j.result.candidate = candidate;
        j.result.tier = tier;
        j.result.stage = "build: g++";
    });
    if (holds(spec, "BREAK")) {
        job.script.emplace_back([](Job& j) {
            j.result.build.status = "failed";
            j.result.build.diagnostics = {
                {"kernels/rmsnorm.cpp", 3, 5, "error", "'BREAK' was not declared in this scope"}};
            j.result.gates = {{"build", GateStatus::Fail, "does not build", "{}"}};
            j.result.log =
                "kernels/rmsnorm.cpp:3:5: error: 'BREAK' was not declared in this scope\n";
            j.result.verdict = Verdict::BuildFailed;
            j.result.reason = "The kernels do not build.";
            j.result.finished = true;
        });
        return;
    }
    job.script.emplace_back([](Job& j) {
        j.result.build.status = "ok";
        j.result.gates = {{"build", GateStatus::Pass, "built in 1.1 s", "{}"}};
        j.result.stage = "verify: 1 of 6 gates";
    });
    const bool wrong = holds(spec, "WRONG");
    job.script.emplace_back([wrong](Job& j) {
        j.result.gates.push_back(
            {"numerics",
             wrong ? GateStatus::Fail : GateStatus::Pass,
             wrong ? "one element differs" : "within tolerance",
             R"({"maxAbs":0.5,"mismatches":1,"elements":4096,"worst":{"output":0,"index":[3,9],"expected":1.0,"got":1.5}})"});
        j.result.stage = "bench";
        if (wrong) {
            j.result.verdict = Verdict::Wrong;
            j.result.reason = "One element differs.";
            j.result.finished = true;
        }
    });
    if (wrong) {
        return;
    }
    job.script.emplace_back([tier](Job& j) {
        addTimings(j.result, tier == Tier::Quick ? 1.9 : 2.0);
        j.result.verdict = Verdict::Correct;
        j.result.done.aaFloorPercent = 0.5;
        j.result.done.target.device = "CPU: test";
        j.result.finished = true;
        j.result.rerun = "lathe eval starter/rmsnorm_residual candidate";
    });
}

void FakeSession::publish(const Job& job)
{
    auto snapshot = std::make_shared<const EvaluationResult>(job.result);
    post([this, snapshot] { m_observer.onEvaluation(snapshot); });
}

void FakeSession::judged(const Job& job)
{
    auto* candidate = row(job.candidate);
    candidate->running = false;
    candidate->verdict = job.result.verdict;
    candidate->tier = job.result.tier;
    candidate->evaluation = job.result.id;
    candidate->best = job.result.againstBestBaseline();
    results[job.candidate.text()] = std::make_shared<const EvaluationResult>(job.result);
    post([this] { m_observer.onCandidatesChanged(m_task); });
}

bool FakeSession::step()
{
    if (!m_job) {
        return false;
    }
    auto next = std::move(m_job->script.front());
    m_job->script.pop_front();
    next(*m_job);
    publish(*m_job);
    if (m_job->result.finished) {
        judged(*m_job);
        if (auto done = std::exchange(
                m_job->done, nullptr)) { // at the end of the first tier, as the real session does
            post([done, last = results.at(m_job->candidate.text())] { done(last); });
        } else if (auto onFull = std::exchange(m_job->onFull, nullptr)) {
            post([onFull, last = results.at(m_job->candidate.text())] { onFull(last); });
        }
    }
    if (m_job->script.empty()) {
        m_job.reset();
    }
    return true;
}

void FakeSession::playAll()
{
    while (step()) {
    }
}

session::JobId
FakeSession::baseline(TaskId,
                      session::EvaluateOptions,
                      session::Callback<std::shared_ptr<const EvaluationResult>> done)
{
    post([done] { done(fail(ErrorCode::Unsupported, "not scripted")); });
    return 0;
}

void FakeSession::cancel(session::JobId job)
{
    calls.push_back("cancel");
    if (m_job && m_job->id == job) {
        auto done = m_job->done;
        row(m_job->candidate)->running = false;
        m_job.reset();
        post([this, done] {
            if (!done) {
                m_observer.onCandidatesChanged(m_task);
                return;
            }
            done(fail(ErrorCode::Cancelled, "cancelled"));
            m_observer.onCandidatesChanged(m_task);
        });
    }
}

void FakeSession::evaluationOf(CandidateId candidate,
                               session::Callback<std::shared_ptr<const EvaluationResult>> done)
{
    post([this, candidate, done] {
        const auto found = results.find(candidate.text());
        if (found == results.end()) {
            done(fail(ErrorCode::NotFound, "not evaluated"));
        } else {
            done(found->second);
        }
    });
}

session::JobId FakeSession::exec(CandidateId,
                                 std::vector<std::string>,
                                 session::EvaluateOptions,
                                 std::function<void(std::string)>,
                                 session::Callback<int> done)
{
    post([done] { done(0); });
    return 0;
}

void FakeSession::accept(CandidateId candidate,
                         std::string note,
                         session::Callback<session::AcceptRecord> done)
{
    calls.push_back("accept " + note);
    session::AcceptRecord record{.id = newUuidV7(),
                                 .evaluation = *row(candidate)->evaluation,
                                 .who = "tester",
                                 .when = "2026-12-01T12:00:00.000Z",
                                 .note = note,
                                 .signatureValid = true};
    row(candidate)->accepted = record;
    post([done, record] { done(record); });
}

void FakeSession::withdrawAccept(CandidateId candidate,
                                 std::string note,
                                 session::Callback<void> done)
{
    calls.push_back("withdraw " + note);
    row(candidate)->accepted->withdrawn = true;
    post([done] { done({}); });
}

void FakeSession::exportCandidate(CandidateId,
                                  std::string as,
                                  std::filesystem::path folder,
                                  session::Callback<std::vector<std::filesystem::path>> done)
{
    calls.push_back("export " + as + " " + folder.string());
    post([done, folder] { done(std::vector{folder / "kernel.py"}); });
}

void FakeSession::saveDraft(TaskId,
                            std::optional<CandidateId> parent,
                            std::vector<protocol::CandidateFile> files)
{
    calls.emplace_back("saveDraft");
    draft = Draft{std::move(parent), std::move(files), "2026-12-01T12:00:00.000Z"};
}

void FakeSession::loadDraft(TaskId, session::Callback<std::optional<Draft>> done)
{
    post([this, done] { done(draft); });
}

void FakeSession::discardDraft(TaskId)
{
    draft.reset();
}

void FakeSession::startAgent(TaskId task,
                             session::AgentOptions options,
                             session::Callback<session::RunRow> started)
{
    calls.push_back("startAgent " + options.provider);
    m_run = session::RunRow{.run = newUuidV7(),
                            .task = std::move(task),
                            .provider = options.provider,
                            .replay = options.provider.rfind("replay:", 0) == 0,
                            .startedAt = "2026-12-01T12:00:00.000Z"};
    post([run = *m_run, started] { started(run); });
}

void FakeSession::stopAgent(std::string)
{
    calls.emplace_back("stopAgent");
    finishRun("cancelled");
}

void FakeSession::finishRun(const std::string& reason)
{
    if (m_run) {
        m_run->stopReason = reason;
        post([this, run = *m_run] { m_observer.onRunFinished(run); });
    }
}

void FakeSession::steer(std::string, std::string message)
{
    calls.push_back("steer " + message);
}

void FakeSession::runs(TaskId, session::Callback<std::vector<session::RunRow>> done)
{
    post([this, done] { done(m_run ? std::vector{*m_run} : std::vector<session::RunRow>()); });
}

void FakeSession::trajectory(std::string,
                             session::Callback<std::vector<agent::TrajectoryItem>> done)
{
    post([this, done] { done(items); });
}

void FakeSession::providers(session::Callback<std::vector<ProviderRow>> done)
{
    post([done] {
        done(std::vector<ProviderRow>{{"replay:demo", "scripted demonstration", true, ""},
                                      {"openai", "OpenAI", false, "OPENAI_API_KEY is not set"}});
    });
}

} // namespace lathe::test
