// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "phase.h"

#include "cpu/fault_report.h"
#include "python/interpreter.h"
#include "python/tensor_bridge.h"

#include <cstdint>
#include <optional>
#include <sys/mman.h>
#include <unistd.h>

namespace lathe::arm {
namespace {

using protocol::ArmMessage;
using protocol::ArmReader;
using protocol::ArmWriter;
using protocol::FieldTag;

Reply ok()
{
    return {ArmWriter(ArmMessage::Ok), {}};
}

Reply failedReply(const Failure& why)
{
    ArmWriter writer(ArmMessage::Failed);
    writer.text(FieldTag::Text, why.stage)
        .text(FieldTag::Text2, why.sentence)
        .text(FieldTag::Text3, why.traceback)
        .integer(FieldTag::Int, why.line)
        .text(FieldTag::Text4, why.file);
    return {std::move(writer), {}};
}

Outcome<Reply> okOr(Outcome<void> done)
{
    if (!done)
        return tl::unexpected(done.error());
    return ok();
}

/// A text that may be longer than a packet, in memory of its own.
Outcome<UniqueFd> memoryWith(const char* name, const std::string& text)
{
    UniqueFd memory(memfd_create(name, MFD_CLOEXEC));
    for (std::size_t done = 0; done < text.size();) {
        const ssize_t n = ::write(memory.get(), text.data() + done, text.size() - done);
        if (n <= 0)
            return failure("wire", std::string("The ") + name + " could not be handed over.");
        done += static_cast<std::size_t>(n);
    }
    return memory;
}

Outcome<Reply> describedOr(Outcome<Described> described)
{
    if (!described)
        return tl::unexpected(described.error());
    ArmWriter writer(ArmMessage::Described);
    writer.strings(FieldTag::Strings, described->names)
        .tensors(FieldTag::Tensors, described->tensors)
        .values(FieldTag::Values, described->values)
        .integers(FieldTag::Ints, described->aliases)
        .integer(FieldTag::Int, described->floatMode)
        .text(FieldTag::Text, described->operators);
    return Reply{std::move(writer), {}};
}

} // namespace

Reply Phase::handle(const ArmReader& request, std::vector<UniqueFd> fds)
{
    auto reply = dispatch(request, std::move(fds));
    return reply ? std::move(*reply) : failedReply(reply.error());
}

Outcome<Reply> Phase::dispatch(const ArmReader& request, std::vector<UniqueFd> fds)
{
    switch (request.type()) {
    case ArmMessage::LoadReference:
        return loadReference(request);
    case ArmMessage::LoadCandidate:
        return loadCandidate(request, std::move(fds));
    case ArmMessage::Discover:
        return discover(request);
    case ArmMessage::GetInitInputs: {
        auto values = m_host.initInputs();
        if (!values)
            return tl::unexpected(values.error());
        ArmWriter writer(ArmMessage::InitInputs);
        writer.values(FieldTag::Values, *values);
        return Reply{std::move(writer), {}};
    }
    case ArmMessage::GetWeights:
        return describedOr(m_host.weights());
    case ArmMessage::MakeInputs:
        return makeInputs(request);
    case ArmMessage::FillTensors:
        return fill(request, std::move(fds));
    case ArmMessage::BindInputs:
        return bindInputs(request, std::move(fds));
    case ArmMessage::Run:
        return describedOr(
            m_host.run({request.integer(FieldTag::Int), request.integer(FieldTag::Int2)}));
    case ArmMessage::ReplaceWeights:
        return replaceWeights(request, std::move(fds));
    case ArmMessage::Time:
        return time(request);
    case ArmMessage::Null:
        return ok();
    case ArmMessage::Trace:
        return trace(request);
    case ArmMessage::Flush:
        return flush(request);
    default:
        return failure("wire", "This request is not one that a phase answers.");
    }
}

Outcome<Reply> Phase::loadReference(const ArmReader& request)
{
    auto constants = request.strings(FieldTag::Strings);
    if (!constants)
        return failure("wire", constants.error());
    if (constants->size() % 2 != 0)
        return failure("wire", "The constants are not pairs of name and literal.");
    ReferenceRequest load;
    load.path = request.text(FieldTag::Text);
    load.compileMode = request.text(FieldTag::Text2);
    load.constants = std::move(*constants);
    load.seed = request.integer(FieldTag::Int);
    load.mode = request.text(FieldTag::Text3);
    load.precision = request.text(FieldTag::Text4);
    load.upcast = request.integer(FieldTag::Int2) != 0;
    auto compared = request.integers(FieldTag::Ints);
    if (!compared)
        return failure("wire", compared.error());
    load.compared = compared->empty() ? 0 : compared->front();
    return okOr(m_host.loadReference(load));
}

Outcome<Reply> Phase::loadCandidate(const ArmReader& request, std::vector<UniqueFd> fds)
{
    auto values = request.values(FieldTag::Values);
    auto names = request.strings(FieldTag::Strings);
    auto infos = request.tensors(FieldTag::Tensors);
    if (!values || !names || !infos)
        return failure("wire", !values ? values.error() : !names ? names.error() : infos.error());
    CandidateRequest load;
    load.folder = request.text(FieldTag::Text);
    load.format = request.text(FieldTag::Text2);
    load.initInputs = std::move(*values);
    load.weightNames = std::move(*names);
    load.weightInfos = std::move(*infos);
    load.weights = std::move(fds);
    load.frozen = (request.integer(FieldTag::Int) & protocol::kLoadFrozen) != 0;
    load.skipKernels = (request.integer(FieldTag::Int) & protocol::kLoadSkipKernels) != 0;
    load.seed = request.integer(FieldTag::Int2);
    load.mode = request.text(FieldTag::Text3);
    load.precision = request.text(FieldTag::Text4);
    auto compared = request.integers(FieldTag::Ints);
    if (!compared)
        return failure("wire", compared.error());
    load.compared = compared->empty() ? 0 : compared->front();
    return okOr(m_host.loadCandidate(std::move(load)));
}

Outcome<Reply> Phase::discover(const ArmReader& request)
{
    auto json = m_host.discover(request.text(FieldTag::Text));
    if (!json)
        return tl::unexpected(json.error());
    auto memory = memoryWith("list of extensions", *json);
    if (!memory)
        return tl::unexpected(memory.error());
    ArmWriter writer(ArmMessage::Extensions);
    writer.integer(FieldTag::Int, static_cast<std::int64_t>(json->size()));
    Reply reply{std::move(writer), {}};
    reply.fds.push_back(std::move(*memory));
    return reply;
}

Outcome<Reply> Phase::makeInputs(const ArmReader& request)
{
    auto rules = request.values(FieldTag::Values);
    auto vary = request.integers(FieldTag::Ints);
    if (!rules || !vary)
        return failure("wire", !rules ? rules.error() : vary.error());
    return describedOr(m_host.makeInputs(
        request.integer(FieldTag::Int),
        request.integer(FieldTag::Int2),
        *rules,
        !vary->empty() && vary->front() != 0,
        vary->empty() ? std::vector<std::int64_t>{}
                      : std::vector<std::int64_t>(vary->begin() + 1, vary->end())));
}

Outcome<Reply> Phase::bindInputs(const ArmReader& request, std::vector<UniqueFd> fds)
{
    if (request.integer(FieldTag::Int2) == protocol::kReleaseSet) {
        m_host.releaseInputs(request.integer(FieldTag::Int));
        return ok();
    }
    auto infos = request.tensors(FieldTag::Tensors);
    auto values = request.values(FieldTag::Values);
    auto mutableIndexes = request.integers(FieldTag::Ints);
    if (!infos || !values || !mutableIndexes)
        return failure("wire",
                       !infos    ? infos.error()
                       : !values ? values.error()
                                 : mutableIndexes.error());
    return okOr(m_host.bindInputs({request.integer(FieldTag::Int),
                                   std::move(*infos),
                                   std::move(*values),
                                   std::move(*mutableIndexes),
                                   std::move(fds)}));
}

Outcome<Reply> Phase::replaceWeights(const ArmReader& request, std::vector<UniqueFd> fds)
{
    auto names = request.strings(FieldTag::Strings);
    auto infos = request.tensors(FieldTag::Tensors);
    auto values = request.values(FieldTag::Values);
    if (!names || !infos || !values)
        return failure("wire", !names ? names.error() : !infos ? infos.error() : values.error());
    return okOr(m_host.replaceWeights({std::move(*names),
                                       std::move(*infos),
                                       std::move(fds),
                                       std::move(*values),
                                       request.integer(FieldTag::Int) != 0}));
}

Outcome<Reply> Phase::fill(const ArmReader& request, std::vector<UniqueFd> fds)
{
    // Ints, when given, is the number of the first tensor: one packet carries at most kMaxPacketFds
    // buffers.
    auto first = request.integers(FieldTag::Ints);
    if (!first)
        return failure("wire", first.error());
    const std::int64_t from = first->empty() ? 0 : first->front();
    if (from < 0)
        return failure("wire", "The first tensor's number is negative.");
    return okOr(m_host.fill(static_cast<TensorGroup>(request.integer(FieldTag::Int)),
                            request.integer(FieldTag::Int2),
                            static_cast<std::size_t>(from),
                            std::move(fds)));
}

Outcome<Reply> Phase::time(const ArmReader& request)
{
    auto sets = request.integers(FieldTag::Ints);
    if (!sets)
        return failure("wire", sets.error());
    const std::int64_t flushBytes = request.integer(FieldTag::Int2);
    if (flushBytes < 0)
        return failure("wire", "The number of bytes to flush is negative.");
    auto timing =
        m_host.time(*sets, request.integer(FieldTag::Int), static_cast<std::uint64_t>(flushBytes));
    if (!timing)
        return tl::unexpected(timing.error());
    std::vector<double> seconds{timing->totalSeconds};
    if (timing->eventSeconds >= 0)
        seconds.insert(seconds.end(), {timing->eventSeconds, timing->starved ? 1.0 : 0.0});
    ArmWriter writer(ArmMessage::Timed);
    writer.floats(FieldTag::Floats, seconds);
    return Reply{std::move(writer), {}};
}

Outcome<Reply> Phase::trace(const ArmReader& request)
{
    auto traced = m_host.trace(request.integer(FieldTag::Int), request.integer(FieldTag::Int2));
    if (!traced)
        return tl::unexpected(traced.error());
    auto memory = memoryWith("trace", traced->chromeJson);
    if (!memory)
        return tl::unexpected(memory.error());
    ArmWriter writer(ArmMessage::Traced);
    writer.integer(FieldTag::Int, static_cast<std::int64_t>(traced->chromeJson.size()))
        .floats(FieldTag::Floats, {traced->ownKernelSeconds, traced->spanSeconds});
    Reply reply{std::move(writer), {}};
    reply.fds.push_back(std::move(*memory));
    return reply;
}

Outcome<Reply> Phase::flush(const ArmReader& request)
{
    // With input sets (Ints) and a number of calls (Int2) it also makes the private copies that the
    // next Time needs, so that they are outside the judge's clock.
    auto sets = request.integers(FieldTag::Ints);
    if (!sets)
        return failure("wire", sets.error());
    if (!sets->empty())
        if (auto prepared = m_host.prepare(*sets, request.integer(FieldTag::Int2)); !prepared)
            return tl::unexpected(prepared.error());
    const std::int64_t bytes = request.integer(FieldTag::Int);
    if (bytes < 0)
        return failure("wire", "The number of bytes to flush is negative.");
    if (bytes > 0)
        if (auto flushed = m_device.flush(static_cast<std::uint64_t>(bytes)); !flushed)
            return failure("wire", flushed.error());
    return ok();
}

void servePhase(int socket,
                const std::string& deviceName,
                int threads,
                const std::string& phaseName)
{
    resetFatalSignals();
    dumpStackOnFatalSignals();
    installFaultReport(socket);
    auto device = makeDevice(deviceName);
    std::optional<Failure> broken;
    if (!device)
        broken = Failure{"device", device.error().message, device.error().detail, 0, {}};
    else if (auto opened = (*device)->open(); !opened)
        broken = Failure{"device", opened.error().message, opened.error().detail, 0, {}};
    setThreadCount(threads);
    std::optional<Phase> phase;
    if (!broken)
        phase.emplace(**device, phaseName);
    while (true) {
        auto packet = protocol::receivePacket(socket, -1);
        if (!packet)
            _exit(0);
        auto request = ArmReader::parse(packet->bytes);
        const std::uint32_t serial = request ? request->serial() : 0;
        if (request && request->type() == ArmMessage::Exit)
            _exit(0);
        setFaultSerial(serial);
        Reply reply =
            !request ? failedReply({"wire", request.error().message, request.error().detail, 0, {}})
            : broken ? failedReply(*broken)
                     : phase->handle(*request, std::move(packet->fds));
        auto bytes = reply.message.packet(serial);
        if (!bytes)
            bytes = failedReply({"wire",
                                 "The answer is too long for one packet: " + bytes.error().message,
                                 {},
                                 0,
                                 {}})
                        .message.packet(serial);
        std::vector<int> fds;
        for (const UniqueFd& fd : reply.fds)
            fds.push_back(fd.get());
        if (!bytes || !protocol::sendPacket(socket, *bytes, fds))
            _exit(0);
    }
}

} // namespace lathe::arm
