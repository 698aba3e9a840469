// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// lathe-vmm-probe: what the protocol and the arm need of a CUDA machine, tried without judge, arm,
// torch or sandbox. Children are forked before anything touches CUDA, as phases are; the parent
// plays the judge. One line a finding, "ok" or "FAIL" first. Exit 0: all hold, 1: some fail, 77: no
// usable GPU.
#include "probe_child.h"

#include <lathe/protocol/arm_wire.h>
#include <lathe/worker/cuda_device.h>
#include <lathe/worker/memory.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace lathe;
using namespace lathe::probe;
using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

[[noreturn]] void childMain(const std::string& role, int socket)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto packet = protocol::receivePacket(socket, -1);
    if (packet) {
        (void)protocol::sendPacket(socket, childAnswer(role, socket, packet->fds));
    }
    _exit(0); // a process whose context is lost cannot run the driver's destructors
}

struct ProbeChild
{
    std::string role;
    pid_t pid = -1;
    UniqueFd socket;
};

std::optional<ProbeChild> forkChild(const std::string& role)
{
    auto pair = protocol::makePacketPair();
    if (!pair) {
        return std::nullopt;
    }
    const pid_t pid = fork();
    if (pid == 0) {
        childMain(role, pair->second.get());
    }
    return ProbeChild{role, pid, std::move(pair->first)};
}

std::string answerOf(const ProbeChild& child, double seconds)
{
    auto packet = protocol::receivePacket(child.socket.get(),
                                          monotonicNs() + static_cast<std::int64_t>(seconds * 1e9));
    return packet ? packet->bytes : "error " + packet.error().message;
}

double numberAfter(const std::string& text, const std::string& key)
{
    const auto at = text.find(key + "=");
    return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + key.size() + 1, nullptr);
}

class Report
{
public:
    void line(const char* name, bool ok, const std::string& detail)
    {
        std::printf("%-4s %-22s %s\n", ok ? "ok" : "FAIL", name, detail.c_str());
        std::fflush(stdout);
        m_failed = m_failed || !ok;
    }
    [[nodiscard]] bool failed() const { return m_failed; }

private:
    bool m_failed = false;
};

/// The judge's part: the device, two shared buffers, the children's order of appearance.
class Probe
{
public:
    Probe(worker::CudaDevice& device, worker::MemorySpace& space, Report& report)
        : m_device(device)
        , m_space(space)
        , m_report(report)
    {}

    bool allocate()
    {
        const auto start = Clock::now();
        auto in = m_space.allocate(kBytes);
        auto out = m_space.allocate(kBytes);
        if (!in || !out) {
            m_report.line("allocate", false, in ? out.error().message : in.error().message);
            return false;
        }
        m_in = std::move(*in);
        m_out = std::move(*out);
        std::vector<float> values(kBytes / 4);
        for (std::size_t i = 0; i < values.size(); ++i) {
            values[i] = static_cast<float>(i % 1000) * 0.25f;
        }
        const auto uploaded = m_in->upload(0, std::as_bytes(std::span(values)));
        auto hash = m_in->hash();
        m_report.line("allocate, upload, hash",
                      uploaded && hash,
                      std::to_string(secondsSince(start)) + " s for 2 x 512 MiB, fds "
                          + std::to_string(m_in->fd({})) + ", " + std::to_string(m_out->fd({})));
        m_hash = hash.value_or("");
        return uploaded && hash;
    }

    bool send(const ProbeChild& child)
    {
        return protocol::sendPacket(
                   child.socket.get(),
                   child.role,
                   {m_in->fd(worker::Access::Read), m_out->fd(worker::Access::ReadWrite)})
            .has_value();
    }

    /// The same kernel in this process, for comparison with the arm's numbers.
    double ownMedianUs()
    {
        auto kernels = Kernels::load();
        auto local = arm::makeCudaDevice(0);
        if (!kernels || !local->open()) {
            return 0;
        }
        CUdeviceptr in = 0;
        CUdeviceptr out = 0;
        kernels->api().cuMemAlloc(&in, kBytes);
        kernels->api().cuMemAlloc(&out, kBytes);
        const std::string text = timeLaunches({*local, *kernels, in, out});
        kernels->api().cuMemFree(in);
        kernels->api().cuMemFree(out);
        return numberAfter(text, "median_us");
    }

    void timing(const ProbeChild& child)
    {
        (void)m_out->poison(0x7fc00000);
        if (!send(child)) {
            return m_report.line("timing", false, "the child is gone");
        }
        const std::string text = answerOf(child, 60);
        m_childUs = numberAfter(text, "median_us");
        const double gigabytes = 2.0 * static_cast<double>(kBytes) / 1e9;
        m_report.line("events in the arm",
                      m_childUs > 0,
                      text + " = "
                          + std::to_string(m_childUs > 0 ? gigabytes / (m_childUs * 1e-6) : 0)
                          + " GB/s");
        std::vector<float> got(kBytes / 4);
        const auto copied = m_out->download(0, std::as_writable_bytes(std::span(got)));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i) {
            wrong += got[i] == static_cast<float>(i % 1000) * 0.5f + 1 ? 0u : 1u;
        }
        m_report.line("outputs seen by judge",
                      copied && wrong == 0,
                      std::to_string(wrong) + " wrong elements");
        const double own = ownMedianUs();
        m_report.line("same time in-process",
                      own > 0 && std::abs(m_childUs / own - 1) < 0.05,
                      "arm " + std::to_string(m_childUs) + " us, judge " + std::to_string(own)
                          + " us");
    }

    void trace(const ProbeChild& child)
    {
        const std::string text = send(child) ? answerOf(child, 60) : "error: the child is gone";
        const double us = numberAfter(text, "median_us");
        const bool complete = numberAfter(text, "kernels") == kTraced
                              && numberAfter(text, "inside_clock") == 1
                              && numberAfter(text, "calls") == kTraced;
        m_report.line("CUPTI trace", complete, text);
        m_report.line("events agree with CUPTI",
                      us > 0 && std::abs(m_childUs / us - 1) < 0.03,
                      "events " + std::to_string(m_childUs) + " us, CUPTI " + std::to_string(us)
                          + " us");
    }

    void overwrite(const ProbeChild& child)
    {
        const std::string text = send(child) ? answerOf(child, 30) : "error: the child is gone";
        m_report.line("write to an input faults", text.starts_with("fault"), text);
        unchanged("input unchanged");
        canary("judge unharmed", 5);
    }

    void upgrade(const ProbeChild& child)
    {
        const std::string text = send(child) ? answerOf(child, 30) : "error: the child is gone";
        // Either answer is a finding: "granted" means that the hash of the inputs stays necessary.
        m_report.line("own access upgrade", !text.starts_with("error"), text);
        auto hash = m_in->hash();
        m_report.line("hash notices",
                      hash && (text == "refused") == (*hash == m_hash),
                      hash && *hash == m_hash ? "input unchanged" : "input changed and noticed");
    }

    void hang(const ProbeChild& child)
    {
        (void)m_out->poison(0);
        const std::string text = send(child) ? answerOf(child, 30) : "error: the child is gone";
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        canary("canary beside a hang", 10);
        const auto start = Clock::now();
        ::kill(child.pid, SIGKILL);
        int status = 0;
        ::waitpid(child.pid, &status, 0);
        m_report.line("hang killed",
                      text == "hanging" && WIFSIGNALED(status),
                      text + ", gone after " + std::to_string(secondsSince(start)) + " s");
        canary("canary after the kill", 10);
    }

    void next(const ProbeChild& child)
    {
        const std::string text = send(child) ? answerOf(child, 60) : "error: the child is gone";
        m_report.line("next arm works", numberAfter(text, "median_us") > 0, text);
    }

    void canary(const char* name, double seconds)
    {
        const auto start = Clock::now();
        auto ok = m_device.canary(seconds);
        m_report.line(name,
                      ok.has_value(),
                      ok ? std::to_string(secondsSince(start) * 1e3) + " ms" : ok.error().message);
    }

private:
    void unchanged(const char* name)
    {
        auto hash = m_in->hash();
        m_report.line(name, hash && *hash == m_hash, hash ? *hash : hash.error().message);
    }

    worker::CudaDevice& m_device;
    worker::MemorySpace& m_space;
    Report& m_report;
    std::unique_ptr<worker::SharedBuffer> m_in;
    std::unique_ptr<worker::SharedBuffer> m_out;
    std::string m_hash;
    double m_childUs = 0;
};

void endAll(const std::vector<ProbeChild>& children)
{
    for (const ProbeChild& child : children) {
        ::kill(child.pid, SIGKILL);
        ::waitpid(child.pid, nullptr, 0);
    }
}

} // namespace

int main()
{
    std::vector<ProbeChild> children;
    for (const char* role : {"time", "trace", "overwrite", "upgrade", "hang", "time"}) {
        auto child = forkChild(role);
        if (!child || child->pid < 0) {
            std::puts("FAIL fork");
            return 1;
        }
        children.push_back(std::move(*child));
    }
    Report report;
    const auto start = Clock::now();
    auto device = worker::CudaDevice::open(0);
    if (!device) {
        std::printf("skip %s\n", device.error().message.c_str());
        endAll(children);
        return 77;
    }
    const auto& facts = (*device)->facts();
    report.line("device",
                facts.sharedMemory,
                facts.name + ", driver " + facts.driver + ", sm_" + facts.architecture + ", L2 "
                    + std::to_string(facts.l2Bytes >> 20) + " MiB, context in "
                    + std::to_string(secondsSince(start)) + " s; " + (*device)->clocks()
                    + "; throttle: " + (*device)->throttle());
    auto space = (*device)->memory();
    Probe probe(**device, *space, report);
    probe.canary("canary", 5);
    if (probe.allocate()) {
        probe.timing(children[0]);
        probe.trace(children[1]);
        probe.overwrite(children[2]);
        probe.hang(children[4]);
        probe.next(children[5]);
        probe.upgrade(children[3]);
    }
    endAll(children);
    return report.failed() ? 1 : 0;
}
