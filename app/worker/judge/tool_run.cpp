// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "tool_run.h"

#include "evaluation_run.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>

#include <cstdint>

namespace lathe::worker {
namespace {

constexpr const char* kExecFolder = "/lathe/exec";
constexpr std::size_t kMostOutputBytes = 4u << 20;
constexpr std::size_t kLogChunkBytes = 48 * 1024;

/// name_0.bin, name_1.bin, ...
Result<void> writeTensors(const std::filesystem::path& folder,
                          const std::string& name,
                          const Buffers& buffers,
                          const std::vector<protocol::TensorInfo>& infos)
{
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const auto bytes = HostBytes::of(*buffers[i], infos[i].bytes());
        if (!bytes) {
            return tl::unexpected(bytes.error());
        }
        const auto view = bytes->view();
        auto written = writeFileAtomic(folder / (name + "_" + std::to_string(i) + ".bin"),
                                       {reinterpret_cast<const char*>(view.data()), view.size()});
        if (!written) {
            return written;
        }
    }
    return {};
}

Result<void> writePacket(const std::filesystem::path& file, const protocol::ArmWriter& request)
{
    auto packet = request.packet(1);
    return packet ? writeFileAtomic(file, *packet) : tl::unexpected(packet.error());
}

Result<void> layDown(const std::filesystem::path& folder,
                     const ReferenceVariant& variant,
                     const std::string& candidatePath,
                     const std::string& format)
{
    if (auto made = makeFolders(folder); !made) {
        return made;
    }
    const InputSet& set = variant.sets()[0];
    if (auto done = writePacket(folder / "load.packet",
                                variant.loadCandidateRequest(candidatePath, format));
        !done) {
        return done;
    }
    if (auto done =
            writePacket(folder / "bind.packet", set.bindRequest(variant.context().task.mutates));
        !done) {
        return done;
    }
    if (auto done = writeTensors(folder, "weight", variant.weights(), variant.weightInfos());
        !done) {
        return done;
    }
    return writeTensors(folder, "input", set.inputs, set.infos);
}

void sendOutput(const std::string& text, const EventSink& sink)
{
    for (std::size_t at = 0; at < text.size(); at += kLogChunkBytes) {
        sink(protocol::LogEvent{"tool", text.substr(at, kLogChunkBytes)});
    }
}

/// Removes the folder however the run ends.
class Scratch
{
public:
    explicit Scratch(std::filesystem::path path)
        : m_path(std::move(path))
    {}
    ~Scratch()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

} // namespace

Result<protocol::EvaluateDone> runTool(Workshop& workshop,
                                       const protocol::ExecRequest& request,
                                       const EventSink& sink,
                                       const process::CancelSource& cancel)
{
    const std::int64_t started = monotonicNs();
    if (request.command.empty() || !request.what.candidate) {
        return fail(ErrorCode::InvalidArgument, "exec needs a tool and a candidate");
    }
    EvaluationRun run(workshop, request.what, sink, cancel);
    auto ready = run.prepareForTool();
    if (!ready) {
        return tl::unexpected(ready.error());
    }
    if (ready->done) { // the build failed: the verdict is the answer
        ready->done->exitCode = 1;
        return std::move(*ready->done);
    }
    const Scratch scratch(workshop.freshFolder("exec"));
    const bool isolated = workshop.sandbox().isolated();
    const auto none = scratch.path() / "none";
    const auto files = scratch.path() / "files";
    if (auto made = makeFolders(none); !made) {
        return tl::unexpected(made.error());
    }
    if (auto done = layDown(files,
                            *ready->variant,
                            isolated ? "/candidate" : ready->folder.string(),
                            request.what.candidate->format);
        !done) {
        return tl::unexpected(done.error());
    }
    std::string arm;
    SandboxOptions options = armSandboxOptions(ready->arm, none, ready->folder, isolated, &arm);
    options.purpose = "tool";
    options.mounts.push_back({files, kExecFolder, false});
    options.command = request.command;
    for (const std::string& word : {arm,
                                    std::string("run-once"),
                                    std::string("--folder"),
                                    std::string(kExecFolder),
                                    std::string("--device"),
                                    ready->arm.device,
                                    std::string("--threads"),
                                    std::to_string(ready->arm.threads)}) {
        options.command.push_back(word);
    }
    options.pipeStdout = true;
    sink(protocol::StageEvent{"profile", "running " + request.command.front(), -1});
    const auto captured =
        workshop.sandbox().run(options, request.what.timeoutSeconds, cancel.fd(), kMostOutputBytes);
    if (!captured) {
        return tl::unexpected(captured.error());
    }
    if (captured->cancelled) {
        return fail(ErrorCode::Cancelled, "cancelled");
    }
    sendOutput(captured->out, sink);
    sendOutput(captured->err, sink);
    protocol::EvaluateDone done;
    done.exitCode = captured->exitCode;
    done.reason = captured->timedOut ? "the tool did not end in time" : "";
    done.armSeconds = captured->seconds;
    done.workerSeconds = static_cast<double>(monotonicNs() - started) / 1e9;
    return done;
}

} // namespace lathe::worker
