// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "run_once.h"

#include "cpu/fault_report.h"
#include "phase.h"
#include "python/interpreter.h"
#include "python/tensor_bridge.h"

#include <lathe/base/files.h>

#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

namespace lathe::arm {
namespace {

using protocol::ArmMessage;
using protocol::ArmReader;
using protocol::ArmWriter;
using protocol::FieldTag;

constexpr int kFailed = 1;

std::vector<UniqueFd> openTensors(const std::string& prefix)
{
    std::vector<UniqueFd> files;
    for (std::size_t i = 0;; ++i) {
        UniqueFd file(open((prefix + std::to_string(i) + ".bin").c_str(), O_RDONLY | O_CLOEXEC));
        if (!file.valid())
            return files;
        files.push_back(std::move(file));
    }
}

/// Handles one request; false after saying what failed.
bool handle(Phase& phase, const std::string& bytes, std::vector<UniqueFd> fds)
{
    auto request = ArmReader::parse(bytes);
    if (!request) {
        std::fprintf(stderr, "lathe-arm: %s\n", request.error().message.c_str());
        return false;
    }
    const Reply reply = phase.handle(*request, std::move(fds));
    auto packet = reply.message.packet(0);
    auto answer = packet ? ArmReader::parse(*packet) : tl::unexpected(packet.error());
    if (answer && answer->type() != ArmMessage::Failed)
        return true;
    if (answer)
        std::fprintf(stderr,
                     "%s\nlathe-arm: %s: %s\n",
                     answer->text(FieldTag::Text3).c_str(),
                     answer->text(FieldTag::Text).c_str(),
                     answer->text(FieldTag::Text2).c_str());
    return false;
}

bool handleFile(Phase& phase, const std::string& file, std::vector<UniqueFd> fds)
{
    auto bytes = readFile(file, protocol::kMaxPacketBytes);
    if (!bytes) {
        std::fprintf(stderr, "lathe-arm: %s\n", bytes.error().message.c_str());
        return false;
    }
    return handle(phase, *bytes, std::move(fds));
}

} // namespace

int runOnce(const RunOnceOptions& options)
{
    auto versions = startInterpreter(options.python);
    if (!versions) {
        std::fprintf(stderr, "lathe-arm: %s\n", versions.error().message.c_str());
        return kFailed;
    }
    auto device = makeDevice(options.device);
    if (device)
        if (auto opened = (*device)->open(); !opened)
            device = tl::unexpected(opened.error());
    if (!device) {
        std::fprintf(stderr, "lathe-arm: %s\n", device.error().message.c_str());
        return kFailed;
    }
    resetFatalSignals();
    dumpStackOnFatalSignals();
    installFaultReport(-1);
    setThreadCount(options.threads);
    // Not destroyed: the interpreter is never finalised, the process ends with _exit.
    auto* const phase = new Phase(**device, "run-once");
    bool good =
        handleFile(
            *phase, options.folder + "/load.packet", openTensors(options.folder + "/weight_"))
        && handleFile(
            *phase, options.folder + "/bind.packet", openTensors(options.folder + "/input_"));
    auto run = ArmWriter(ArmMessage::Run).integer(FieldTag::Int, 0).packet(0);
    for (int i = 0; good && i < options.calls; ++i)
        good = run && handle(*phase, *run, {});
    std::fflush(nullptr);
    _exit(good ? 0 : kFailed);
}

} // namespace lathe::arm
