// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "arm_driver.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace lathe::test {

using namespace lathe::protocol;

namespace {

std::int64_t deadline(double seconds)
{
    return monotonicNs() + static_cast<std::int64_t>(seconds * 1e9);
}

} // namespace

PhaseDriver::~PhaseDriver()
{
    if (m_pid > 0)
        kill(m_pid, SIGKILL);
}

void PhaseDriver::send(const ArmWriter& request, const std::vector<int>& fds)
{
    auto packet = request.packet(++m_serial);
    ASSERT_TRUE(packet.has_value()) << packet.error().message;
    auto sent = sendPacket(m_socket.get(), *packet, fds);
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
}

std::optional<ArmReader> PhaseDriver::receive(double timeoutSeconds)
{
    auto packet = receivePacket(m_socket.get(), deadline(timeoutSeconds));
    m_timedOut = !packet && packet.error().code == ErrorCode::Timeout;
    if (!packet)
        return std::nullopt;
    auto answer = ArmReader::parse(packet->bytes);
    EXPECT_TRUE(answer.has_value());
    if (!answer)
        return std::nullopt;
    EXPECT_EQ(answer->serial(), m_serial);
    m_fds = std::move(packet->fds);
    return std::move(*answer);
}

std::optional<ArmReader>
PhaseDriver::call(const ArmWriter& request, const std::vector<int>& fds, double timeoutSeconds)
{
    send(request, fds);
    auto answer = receive(timeoutSeconds);
    EXPECT_TRUE(answer.has_value()) << "no answer; printed: " << output();
    if (answer && answer->type() == ArmMessage::Failed)
        ADD_FAILURE() << answer->text(FieldTag::Text) << ": " << answer->text(FieldTag::Text2)
                      << "\n"
                      << answer->text(FieldTag::Text3);
    return answer;
}

std::string PhaseDriver::failureOf(const ArmWriter& request, const std::vector<int>& fds)
{
    send(request, fds);
    auto answer = receive(100);
    EXPECT_TRUE(answer.has_value()) << "no answer; printed: " << output();
    if (!answer || answer->type() != ArmMessage::Failed)
        return {};
    return answer->text(FieldTag::Text) + ": " + answer->text(FieldTag::Text2);
}

std::string PhaseDriver::output()
{
    std::string text;
    char block[4096];
    pollfd waiting{m_output.get(), POLLIN, 0};
    while (poll(&waiting, 1, 0) > 0) {
        const ssize_t n = read(m_output.get(), block, sizeof block);
        if (n <= 0)
            break;
        text.append(block, static_cast<std::size_t>(n));
    }
    return text;
}

ZygoteDriver& ZygoteDriver::shared()
{
    static ZygoteDriver driver;
    return driver;
}

ZygoteDriver::ZygoteDriver()
{
    auto pair = makePacketPair();
    if (!pair)
        std::abort();
    m_control = std::move(pair->first);
    m_pid = ::fork();
    if (m_pid == 0) {
        constexpr int kControl = 200;
        dup2(pair->second.get(), kControl);
        execl(LATHE_ARM,
              LATHE_ARM,
              "zygote",
              "--control-fd",
              "200",
              "--python",
              LATHE_TEST_PYTHON,
              nullptr);
        _exit(127);
    }
    pair->second.reset();
    auto ready = next(100);
    if (ready && ready->type() == ArmMessage::Ready)
        m_torch = ready->text(FieldTag::Text);
}

ZygoteDriver::~ZygoteDriver()
{
    m_control.reset();
    waitpid(m_pid, nullptr, 0);
}

std::optional<ArmReader> ZygoteDriver::next(double timeoutSeconds)
{
    auto packet = receivePacket(m_control.get(), deadline(timeoutSeconds));
    if (!packet)
        return std::nullopt;
    auto message = ArmReader::parse(packet->bytes);
    if (!message)
        return std::nullopt;
    return std::move(*message);
}

std::unique_ptr<PhaseDriver>
ZygoteDriver::fork(const std::string& phase, int threads, std::int64_t uid)
{
    auto pair = makePacketPair();
    int pipes[2];
    if (!pair || pipe2(pipes, O_CLOEXEC) != 0)
        return nullptr;
    UniqueFd readEnd(pipes[0]), writeEnd(pipes[1]);
    ArmWriter request(ArmMessage::Fork);
    request.integer(FieldTag::Int, uid)
        .text(FieldTag::Text, phase)
        .integer(FieldTag::Int2, threads)
        .text(FieldTag::Text2, "cpu");
    auto packet = request.packet(7);
    if (!packet || !sendPacket(m_control.get(), *packet, {pair->second.get(), writeEnd.get()}))
        return nullptr;
    while (auto message = next(20)) {
        if (message->type() == ArmMessage::ChildExited) {
            m_exits.emplace_back(message->integer(FieldTag::Int),
                                 static_cast<int>(message->integer(FieldTag::Int2)));
            continue;
        }
        if (message->type() != ArmMessage::Forked)
            return nullptr;
        return std::make_unique<PhaseDriver>(std::move(pair->first),
                                             std::move(readEnd),
                                             static_cast<pid_t>(message->integer(FieldTag::Int)));
    }
    return nullptr;
}

std::optional<int> ZygoteDriver::exitStatus(pid_t pid, double timeoutSeconds)
{
    while (true) {
        const auto found = std::find_if(
            m_exits.begin(), m_exits.end(), [pid](const auto& e) { return e.first == pid; });
        if (found != m_exits.end())
            return found->second;
        auto message = next(timeoutSeconds);
        if (!message || message->type() != ArmMessage::ChildExited)
            return std::nullopt;
        m_exits.emplace_back(message->integer(FieldTag::Int),
                             static_cast<int>(message->integer(FieldTag::Int2)));
    }
}

UniqueFd emptyMemory(std::size_t bytes)
{
    UniqueFd memory(memfd_create("test", MFD_CLOEXEC));
    EXPECT_EQ(ftruncate(memory.get(), static_cast<off_t>(bytes)), 0);
    return memory;
}

UniqueFd memoryOf(const void* data, std::size_t bytes)
{
    UniqueFd memory = emptyMemory(bytes);
    EXPECT_EQ(pwrite(memory.get(), data, bytes, 0), static_cast<ssize_t>(bytes));
    return memory;
}

void readMemory(const UniqueFd& memory, void* data, std::size_t bytes)
{
    EXPECT_EQ(pread(memory.get(), data, bytes, 0), static_cast<ssize_t>(bytes));
}

ScratchFolder::ScratchFolder()
{
    auto made = makeTempFolder(std::filesystem::temp_directory_path(), "lathe-arm-test-");
    if (!made)
        std::abort();
    m_path = *made;
}

ScratchFolder::~ScratchFolder()
{
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
}

std::string ScratchFolder::write(const std::string& name, const std::string& text) const
{
    const std::string path = (m_path / name).string();
    EXPECT_TRUE(writeFileAtomic(path, text).has_value());
    return path;
}

void ScratchFolder::buildKernels(const std::string& source) const
{
    const std::string path = write("kernel.cpp", source);
    const std::string command = "g++ -O2 -std=c++20 -fPIC -shared -fopenmp -I" LATHE_SOURCE_DIR
                                "/resources/include -I" LATHE_TVM_INCLUDE " "
                                + path + " -o " + this->path() + "/kernels.so";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

ArmWriter loadReference(const std::string& path,
                        const std::vector<std::string>& constants,
                        bool upcast,
                        const std::string& compileMode)
{
    ArmWriter writer(ArmMessage::LoadReference);
    writer.text(FieldTag::Text, path)
        .text(FieldTag::Text2, compileMode)
        .strings(FieldTag::Strings, constants)
        .integer(FieldTag::Int, 11)
        .text(FieldTag::Text3, "eval")
        .text(FieldTag::Text4, "pytorch-default")
        .integer(FieldTag::Int2, upcast ? 1 : 0);
    return writer;
}

ArmWriter bindInputs(const std::vector<TensorInfo>& infos,
                     const std::vector<std::int64_t>& mutableIndexes,
                     std::int64_t set)
{
    std::vector<ArmValue> arguments(infos.size());
    for (std::size_t i = 0; i < infos.size(); ++i) {
        arguments[i].kind = ArmValue::Kind::TensorRef;
        arguments[i].integer = static_cast<std::int64_t>(i);
    }
    ArmWriter writer(ArmMessage::BindInputs);
    writer.integer(FieldTag::Int, set)
        .tensors(FieldTag::Tensors, infos)
        .values(FieldTag::Values, arguments)
        .integers(FieldTag::Ints, mutableIndexes);
    return writer;
}

ArmWriter loadCandidate(const std::string& folder,
                        const std::string& format,
                        const std::vector<ArmValue>& initInputs,
                        const std::vector<std::string>& names,
                        const std::vector<TensorInfo>& infos)
{
    ArmWriter writer(ArmMessage::LoadCandidate);
    writer.text(FieldTag::Text, folder)
        .text(FieldTag::Text2, format)
        .values(FieldTag::Values, initInputs)
        .strings(FieldTag::Strings, names)
        .tensors(FieldTag::Tensors, infos)
        .integer(FieldTag::Int2, 11)
        .text(FieldTag::Text3, "eval");
    return writer;
}

ArmWriter runSet(std::int64_t set, bool golden)
{
    ArmWriter writer(ArmMessage::Run);
    writer.integer(FieldTag::Int, set).integer(FieldTag::Int2, golden ? 1 : 0);
    return writer;
}

ArmWriter fillTensors(int group, std::int64_t set)
{
    ArmWriter writer(ArmMessage::FillTensors);
    writer.integer(FieldTag::Int, group).integer(FieldTag::Int2, set);
    return writer;
}

TensorInfo floats(std::vector<std::int64_t> shape)
{
    return {DType::Float32, std::move(shape), {}};
}

} // namespace lathe::test
