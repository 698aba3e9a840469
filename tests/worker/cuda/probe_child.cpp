// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "probe_child.h"

#include "cuda/cupti_trace.h"

#include <lathe/protocol/arm_wire.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <time.h>
#include <vector>

namespace lathe::probe {
namespace {

constexpr int kRounds = 40;

CUdeviceptr address(const std::shared_ptr<void>& memory)
{
    return reinterpret_cast<std::uintptr_t>(memory.get());
}

std::string traceLaunches(const ChildWork& work)
{
    const std::int64_t before = monotonicNs();
    if (auto ok = work.device.startTrace(); !ok) {
        return "error " + ok.error().message;
    }
    for (int i = 0; i < kTraced; ++i) {
        if (auto ok = work.kernels.scale(work.in, work.out); !ok) {
            return "error " + ok.error().message;
        }
    }
    auto spans = work.device.stopTrace();
    const std::int64_t after = monotonicNs();
    if (!spans) {
        return "error " + spans.error().message;
    }
    int kernels = 0;
    int calls = 0;
    bool insideClock = true;
    std::vector<double> microseconds;
    for (const arm::Span& span : *spans) {
        calls += span.category == arm::SpanCategory::Runtime ? 1 : 0;
        if (span.category == arm::SpanCategory::Kernel && span.name == "probeScale") {
            ++kernels;
            microseconds.push_back(static_cast<double>(span.endNs - span.startNs) * 1e-3);
            insideClock = insideClock && span.startNs > before && span.endNs < after;
        }
    }
    auto loaded = arm::CuptiTrace::load();
    char text[200];
    std::snprintf(text,
                  sizeof text,
                  "kernels=%d calls=%d inside_clock=%d median_us=%.2f %s",
                  kernels,
                  calls,
                  insideClock ? 1 : 0,
                  median(microseconds),
                  loaded ? (*loaded)->version().c_str() : "no version");
    return text;
}

std::string writeInput(const ChildWork& work)
{
    auto launched = work.kernels.overwrite(work.in);
    auto done = launched ? work.device.synchronise() : launched;
    return done ? "wrote" : "fault " + done.error().message + " (" + done.error().detail + ")";
}

/// Can the importing process lift its own restriction?
std::string upgradeInput(const ChildWork& work)
{
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    const CUresult result = work.kernels.api().cuMemSetAccess(work.in, kBytes, &access, 1);
    if (result != CUDA_SUCCESS) {
        return "refused";
    }
    return "granted, then " + writeInput(work);
}

std::string hangForEver(const ChildWork& work, int socket)
{
    if (auto ok = work.kernels.hang(work.out); !ok) {
        return "error " + ok.error().message;
    }
    (void)protocol::sendPacket(socket, "hanging");
    (void)work.device.synchronise();
    return "came back";
}

} // namespace

std::int64_t monotonicNs()
{
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values.empty() ? 0 : values[values.size() / 2];
}

std::string timeLaunches(const ChildWork& work)
{
    std::vector<double> microseconds;
    for (int round = 0; round < kRounds; ++round) {
        if (auto ok = work.device.flush(128u << 20); !ok) {
            return "error " + ok.error().message;
        }
        if (auto ok = work.device.markStart(); !ok) {
            return "error " + ok.error().message;
        }
        if (auto ok = work.kernels.scale(work.in, work.out); !ok) {
            return "error " + ok.error().message;
        }
        auto seconds = work.device.markStop();
        if (!seconds) {
            return "error " + seconds.error().message;
        }
        if (round >= 5) {
            microseconds.push_back(seconds->seconds * 1e6);
        }
    }
    std::sort(microseconds.begin(), microseconds.end());
    char text[160];
    std::snprintf(text,
                  sizeof text,
                  "median_us=%.2f p10_us=%.2f p90_us=%.2f",
                  median(microseconds),
                  microseconds[microseconds.size() / 10],
                  microseconds[microseconds.size() * 9 / 10]);
    return text;
}

std::string childAnswer(const std::string& role, int socket, std::vector<UniqueFd>& fds)
{
    auto device = arm::makeCudaDevice(0);
    if (auto ok = device->open(); !ok) {
        return "error " + ok.error().message;
    }
    auto kernels = Kernels::load();
    if (!kernels || fds.size() != 2) {
        return "error "
               + (kernels ? std::string("two descriptors expected") : kernels.error().message);
    }
    auto in = device->map(std::move(fds[0]), kBytes, false);
    auto out = device->map(std::move(fds[1]), kBytes, true);
    if (!in || !out) {
        return "error " + (in ? out.error().message : in.error().message);
    }
    const ChildWork work{*device, *kernels, address(*in), address(*out)};
    if (role == "time") {
        return timeLaunches(work);
    }
    if (role == "trace") {
        return traceLaunches(work);
    }
    if (role == "overwrite") {
        return writeInput(work);
    }
    if (role == "upgrade") {
        return upgradeInput(work);
    }
    return hangForEver(work, socket);
}

} // namespace lathe::probe
