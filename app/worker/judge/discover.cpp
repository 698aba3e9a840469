// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_file.h"
#include "evaluation_run.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace lathe::worker {

using protocol::ArmMessage;
using protocol::ArmWriter;
using protocol::FieldTag;

namespace {

constexpr std::uint64_t kMaxListBytes = 8u << 20;

AskedExtensions failure(std::string sentence, std::string file = {}, int line = 0)
{
    AskedExtensions out;
    out.failure = "importing model_new.py failed: " + std::move(sentence);
    out.file = file.empty() ? "model_new.py" : file.substr(file.rfind('/') + 1);
    out.line = line;
    return out;
}

} // namespace

Result<AskedExtensions> EvaluationRun::discover(const std::filesystem::path& folder,
                                                const protocol::CandidateSpec& spec)
{
    stage("build", "asking the candidate for its extensions");
    const Stopwatch watch(m_ledger.armSeconds);
    auto sandbox = m_workshop.takeWaiting(*m_device);
    if (!sandbox) {
        return tl::unexpected(sandbox.error());
    }
    if (auto done = (*sandbox)->populate(folder, spec); !done) {
        return tl::unexpected(done.error());
    }
    if (auto ready = (*sandbox)->host().waitReady(120, cancelFd()); !ready) {
        return tl::unexpected(ready.error());
    }
    auto process = (*sandbox)->host().fork("discover", cancelFd());
    if (!process) {
        return tl::unexpected(process.error());
    }
    const double timeout = m_request.task.importTimeoutSeconds;
    const auto reply = (*process)->call(
        ArmWriter(ArmMessage::Discover).text(FieldTag::Text, (*sandbox)->host().candidatePath()),
        {},
        timeout,
        cancelFd());
    if (!reply) {
        Stop stop = stopFor(reply.error(), process->get(), "importing model_new.py", timeout);
        return stop.error ? Result<AskedExtensions>(tl::unexpected(*stop.error))
                          : failure(stop.reason);
    }
    if (reply->message.type() == ArmMessage::Failed) {
        return failure(reply->message.text(FieldTag::Text2),
                       reply->message.text(FieldTag::Text4),
                       static_cast<int>(reply->message.integer(FieldTag::Int)));
    }
    if (reply->message.type() != ArmMessage::Extensions || reply->fds.empty()) {
        return failure("its process answered out of turn");
    }
    const auto text = readArmFile(reply->fds[0].get(),
                                  reply->message.integer(FieldTag::Int),
                                  kMaxListBytes,
                                  "the list of extensions");
    auto extensions = text ? readExtensions(*text) : tl::unexpected(text.error());
    if (!extensions) {
        return failure(extensions.error().message);
    }
    AskedExtensions out;
    out.extensions = std::move(*extensions);
    return out;
}

} // namespace lathe::worker
