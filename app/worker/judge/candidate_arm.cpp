// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "candidate_arm.h"

#include <lathe/base/files.h>
#include <lathe/base/sha256.h>

#include <algorithm>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

Result<std::unique_ptr<CandidateArm>> CandidateArm::start(const Sandbox& sandbox,
                                                          const ArmSettings& arm,
                                                          const std::filesystem::path& folder)
{
    std::unique_ptr<CandidateArm> out(new CandidateArm);
    out->m_folder = folder;
    for (const auto& made : {folder / "candidate", folder / "none"}) {
        if (auto done = makeFolders(made); !done) {
            return tl::unexpected(done.error());
        }
    }
    // Not /task: the candidate must not see the reference's file.
    auto host = ArmHost::start(sandbox, arm, folder / "none", folder / "candidate");
    if (!host) {
        return tl::unexpected(host.error());
    }
    out->m_host = std::move(*host);
    return out;
}

CandidateArm::~CandidateArm()
{
    m_main.clear();
    m_host.reset();
    std::error_code ignored;
    std::filesystem::remove_all(m_folder, ignored);
}

std::string CandidateArm::keyOf(const protocol::CandidateSpec& spec)
{
    Sha256 hash;
    const auto add = [&hash](const std::string& text) {
        hash.update(std::to_string(text.size()) + ":");
        hash.update(text);
    };
    add(spec.format);
    for (const auto& file : spec.files) {
        add(file.path);
        add(file.text);
    }
    for (const auto& flag : spec.flags) {
        add(flag);
    }
    return hash.finishHex();
}

Result<void> CandidateArm::populate(const std::filesystem::path& built,
                                    const protocol::CandidateSpec& spec)
{
    m_key = keyOf(spec);
    m_format = spec.format;
    std::error_code error;
    std::filesystem::copy(built,
                          m_folder / "candidate",
                          std::filesystem::copy_options::recursive
                              | std::filesystem::copy_options::overwrite_existing,
                          error);
    if (error) {
        return fail(
            ErrorCode::Io, "cannot hand the build to the candidate's sandbox", error.message());
    }
    return {};
}

Judged<void>
CandidateArm::Loaded::bind(const ReferenceVariant& variant, int cancelFd, Ledger& ledger)
{
    constexpr double kBindSeconds = 60;
    const auto done = variant.bind(*process, bound, kBindSeconds, cancelFd, ledger);
    if (!done) {
        if (done.error().code == ErrorCode::Refused) {
            // Binding runs no candidate code but supports(): a refusal is the candidate declining.
            Stop stop{
                protocol::Verdict::Refused, done.error().message, done.error().detail, true, {}};
            return tl::unexpected(stop);
        }
        return tl::unexpected(
            stopFor(done.error(), process.get(), "receiving inputs", kBindSeconds));
    }
    return {};
}

Result<Buffers*> CandidateArm::Loaded::outputBuffers(const ReferenceVariant& variant)
{
    if (outputs.empty() && !variant.contract().tensors.empty()) {
        auto made = allocateFor(*variant.context().memory, variant.contract().tensors);
        if (!made) {
            return tl::unexpected(made.error());
        }
        outputs = std::move(*made);
    }
    return &outputs;
}

namespace {

bool exchangeable(const ReferenceVariant& variant)
{
    const auto& sets = variant.sets();
    return std::all_of(
        sets.begin(), sets.end(), [&](const InputSet& set) { return sameKind(sets.front(), set); });
}

} // namespace

Judged<std::unique_ptr<MovingInputs>>
CandidateArm::Loaded::bindMoving(const ReferenceVariant& variant,
                                 const InputSet& like,
                                 std::int64_t id,
                                 int cancelFd,
                                 Ledger& ledger)
{
    constexpr double kBindSeconds = 60;
    const Stopwatch watch(ledger.armSeconds);
    auto made = MovingInputs::make(*variant.context().memory, like, id);
    if (!made) {
        Stop stop{protocol::Verdict::Refused, made.error().message, {}, false, made.error()};
        return tl::unexpected(std::move(stop));
    }
    const auto reply = process->call((*made)->bindRequest(variant.context().task.mutates),
                                     (*made)->fds(),
                                     kBindSeconds,
                                     cancelFd);
    if (!reply) {
        return tl::unexpected(
            stopFor(reply.error(), process.get(), "receiving inputs", kBindSeconds));
    }
    if (reply->message.type() == ArmMessage::Failed) {
        return tl::unexpected(stopForFailed(reply->message));
    }
    return std::move(*made);
}

Judged<MovingInputs*>
CandidateArm::Loaded::movingInputs(const ReferenceVariant& variant, int cancelFd, Ledger& ledger)
{
    if (moving || !exchangeable(variant)) {
        return moving.get();
    }
    auto made = bindMoving(variant, variant.sets().front(), MovingInputs::kId, cancelFd, ledger);
    if (!made) {
        return tl::unexpected(made.error());
    }
    moving = std::move(*made);
    return moving.get();
}

Judged<void>
CandidateArm::Loaded::timedInputs(const ReferenceVariant& variant, int cancelFd, Ledger& ledger)
{
    // Bound anew for every timing: what was exchanged under the process's hands before would tell
    // it apart from inputs that stay as they are.
    timed.clear();
    if (!exchangeable(variant)) {
        return {};
    }
    for (const std::int64_t set : {0, 1}) {
        auto made = bindMoving(variant,
                               variant.sets()[static_cast<std::size_t>(set)],
                               MovingInputs::kTimed + set,
                               cancelFd,
                               ledger);
        if (!made && outOfMemory(made.error())) {
            timed.clear();
            return {};
        }
        if (!made) {
            return tl::unexpected(made.error());
        }
        timed.push_back(std::move(*made));
    }
    return {};
}

Judged<void> CandidateArm::Loaded::chainInputs(const ReferenceVariant& variant,
                                               std::size_t count,
                                               int cancelFd,
                                               Ledger& ledger)
{
    while (chain.size() < count) {
        auto made = bindMoving(variant,
                               variant.sets().front(),
                               MovingInputs::kChain + static_cast<std::int64_t>(chain.size()),
                               cancelFd,
                               ledger);
        if (!made) {
            return tl::unexpected(made.error());
        }
        chain.push_back(std::move(*made));
    }
    return {};
}

void CandidateArm::Loaded::endChain(int cancelFd, Ledger& ledger)
{
    constexpr double kBindSeconds = 10;
    const Stopwatch watch(ledger.armSeconds);
    for (const auto& inputs : chain) {
        ArmWriter request(ArmMessage::BindInputs);
        request.integer(FieldTag::Int, inputs->id()).integer(FieldTag::Int2, protocol::kReleaseSet);
        if (!process->call(request, {}, kBindSeconds, cancelFd)) {
            break; // whoever asks it next finds out why
        }
    }
    chain.clear();
}

Judged<std::unique_ptr<CandidateArm::Loaded>> CandidateArm::load(const ReferenceVariant& variant,
                                                                 const std::string& phase,
                                                                 int cancelFd,
                                                                 Ledger& ledger,
                                                                 std::int64_t flags)
{
    const double timeout = variant.context().task.importTimeoutSeconds;
    auto out = std::make_unique<Loaded>();
    {
        const Stopwatch watch(ledger.armSeconds);
        auto process = m_host->fork(phase, cancelFd);
        if (!process) {
            return tl::unexpected(Stop{{}, process.error().message, {}, false, process.error()});
        }
        out->process = std::move(*process);
        const auto reply = out->process->call(
            variant.loadCandidateRequest(m_host->candidatePath(), m_format, flags),
            variant.weightDescriptors(),
            timeout,
            cancelFd);
        if (!reply) {
            return tl::unexpected(
                stopFor(reply.error(), out->process.get(), "loading the candidate", timeout));
        }
        if (reply->message.type() == ArmMessage::Failed) {
            return tl::unexpected(stopForFailed(reply->message));
        }
        if (reply->message.type() != ArmMessage::Ok) {
            return tl::unexpected(Stop{protocol::Verdict::Crashed,
                                       "the candidate's process answered out of turn",
                                       {},
                                       false,
                                       {}});
        }
    }
    if (auto bound = out->bind(variant, cancelFd, ledger); !bound) {
        return tl::unexpected(bound.error());
    }
    return out;
}

Judged<CandidateArm::Loaded*>
CandidateArm::main(const ReferenceVariant& variant, int cancelFd, Ledger& ledger)
{
    const auto known = m_main.find(&variant);
    if (known != m_main.end()) {
        if (auto bound = known->second->bind(variant, cancelFd, ledger); !bound) {
            return tl::unexpected(bound.error());
        }
        return known->second.get();
    }
    auto loaded = load(variant, "candidate", cancelFd, ledger);
    if (!loaded) {
        return tl::unexpected(loaded.error());
    }
    return (m_main[&variant] = std::move(*loaded)).get();
}

std::vector<std::string> CandidateArm::openings() const
{
    std::vector<std::string> found;
    for (const auto& [variant, loaded] : m_main) {
        for (std::string& opening : loaded->process->openings()) {
            if (std::find(found.begin(), found.end(), opening) == found.end()) {
                found.push_back(std::move(opening));
            }
        }
    }
    return found;
}

} // namespace lathe::worker
