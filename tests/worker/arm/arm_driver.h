// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <lathe/protocol/arm_wire.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace lathe::test {

/// One phase process forked from the zygote, with its output pipe.
class PhaseDriver
{
public:
    PhaseDriver(UniqueFd socket, UniqueFd output, pid_t pid)
        : m_socket(std::move(socket))
        , m_output(std::move(output))
        , m_pid(pid)
    {}
    ~PhaseDriver();
    PhaseDriver(const PhaseDriver&) = delete;
    PhaseDriver& operator=(const PhaseDriver&) = delete;

    /// One request and its answer; fails the test and gives nothing when there is none within the
    /// deadline.
    std::optional<protocol::ArmReader> call(const protocol::ArmWriter& request,
                                            const std::vector<int>& fds = {},
                                            double timeoutSeconds = 100);
    void send(const protocol::ArmWriter& request, const std::vector<int>& fds = {});
    /// The next answer, or nothing when the process went away or the deadline passed.
    std::optional<protocol::ArmReader> receive(double timeoutSeconds);
    /// The text of "Failed" as stage: sentence; empty for any other answer.
    std::string failureOf(const protocol::ArmWriter& request, const std::vector<int>& fds = {});
    std::vector<UniqueFd>& fds() { return m_fds; }
    [[nodiscard]] pid_t pid() const { return m_pid; }
    /// What the process printed so far.
    std::string output();
    bool lastWasTimeout() const { return m_timedOut; }

private:
    UniqueFd m_socket;
    UniqueFd m_output;
    pid_t m_pid;
    std::uint32_t m_serial = 0;
    std::vector<UniqueFd> m_fds;
    bool m_timedOut = false;
};

/// lathe-arm's zygote without a sandbox around it. Starting costs seconds (torch), so all tests of
/// the executable share one, which also proves that it survives what its children do.
class ZygoteDriver
{
public:
    static ZygoteDriver& shared();
    ZygoteDriver();
    ~ZygoteDriver();
    std::unique_ptr<PhaseDriver>
    fork(const std::string& phase = "test", int threads = 2, std::int64_t uid = 0);
    /// The wait status of the phase, once the zygote reported it.
    std::optional<int> exitStatus(pid_t pid, double timeoutSeconds = 10);
    [[nodiscard]] const std::string& torchVersion() const { return m_torch; }
    [[nodiscard]] pid_t pid() const { return m_pid; }

private:
    std::optional<protocol::ArmReader> next(double timeoutSeconds);
    UniqueFd m_control;
    pid_t m_pid = -1;
    std::string m_torch;
    std::vector<std::pair<pid_t, int>> m_exits;
};

/// A memfd with the bytes in it.
UniqueFd memoryOf(const void* data, std::size_t bytes);
template <class T>
UniqueFd memoryOf(const std::vector<T>& values)
{
    return memoryOf(values.data(), values.size() * sizeof(T));
}
UniqueFd emptyMemory(std::size_t bytes);

/// The first count elements.
template <class T>
std::vector<T> valuesOf(const UniqueFd& memory, std::size_t count);
void readMemory(const UniqueFd& memory, void* data, std::size_t bytes);
template <class T>
std::vector<T> valuesOf(const UniqueFd& memory, std::size_t count)
{
    std::vector<T> values(count);
    readMemory(memory, values.data(), count * sizeof(T));
    return values;
}

/// A private folder, removed at the end.
class ScratchFolder
{
public:
    ScratchFolder();
    ~ScratchFolder();
    [[nodiscard]] std::string path() const { return m_path.string(); }
    std::string write(const std::string& name, const std::string& text) const;
    /// Compiles kernels.so from the text as the builder does; fails the test with the compiler's
    /// words.
    void buildKernels(const std::string& source) const;

private:
    std::filesystem::path m_path;
};

protocol::ArmWriter loadReference(const std::string& path,
                                  const std::vector<std::string>& constants = {},
                                  bool upcast = false,
                                  const std::string& compileMode = {});
protocol::ArmWriter bindInputs(const std::vector<protocol::TensorInfo>& infos,
                               const std::vector<std::int64_t>& mutableIndexes = {},
                               std::int64_t set = 0);
protocol::ArmWriter loadCandidate(const std::string& folder,
                                  const std::string& format,
                                  const std::vector<protocol::ArmValue>& initInputs = {},
                                  const std::vector<std::string>& names = {},
                                  const std::vector<protocol::TensorInfo>& infos = {});
protocol::ArmWriter runSet(std::int64_t set = 0, bool golden = false);
protocol::ArmWriter fillTensors(int group, std::int64_t set = 0);
protocol::TensorInfo floats(std::vector<std::int64_t> shape);

} // namespace lathe::test
