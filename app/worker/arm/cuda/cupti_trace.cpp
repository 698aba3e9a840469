// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda/cupti_trace.h"

#include "cuda/own_kernels.h"

#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cxxabi.h>
#include <dlfcn.h>
#include <iterator>
#include <mutex>
#include <time.h>
#include <unordered_set>

namespace lathe::arm {
namespace {

#define LATHE_CUPTI_FUNCTIONS(X)                                                                   \
    X(cuptiGetVersion)                                                                             \
    X(cuptiGetResultString)                                                                        \
    X(cuptiSubscribe)                                                                              \
    X(cuptiUnsubscribe)                                                                            \
    X(cuptiActivityRegisterCallbacks)                                                              \
    X(cuptiActivityRegisterTimestampCallback)                                                      \
    X(cuptiSetThreadIdType)                                                                        \
    X(cuptiActivityEnable)                                                                         \
    X(cuptiActivityDisable)                                                                        \
    X(cuptiActivityFlushAll)                                                                       \
    X(cuptiActivityGetNextRecord)                                                                  \
    X(cuptiActivityGetNumDroppedRecords)                                                           \
    X(cuptiGetCallbackName)

struct CuptiApi
{
#define LATHE_CUPTI_MEMBER(name) decltype(&::name) name = nullptr;
    LATHE_CUPTI_FUNCTIONS(LATHE_CUPTI_MEMBER)
#undef LATHE_CUPTI_MEMBER
    decltype(&::cuptiSubscribe_v2) cuptiSubscribe_v2 =
        nullptr; // since CUDA 12.9; names the subscriber
};

#if CUPTI_API_VERSION >= 130000
using KernelRecord = CUpti_ActivityKernel10;
#else
using KernelRecord = CUpti_ActivityKernel9;
#endif
using CopyRecord = CUpti_ActivityMemcpy6;
using FillRecord = CUpti_ActivityMemset4;

constexpr std::size_t kBufferBytes = 1 << 20;
constexpr std::uint32_t kVersionsPerMinor = 100; // 130001: 13.0, update 1

// The call kinds are collected whole and filtered when read: collecting single calls by their id
// gave no record at all on an H200 with CUPTI 13.0.
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                         CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_DRIVER};
constexpr CUpti_CallbackId kRuntimeLaunches[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060,
    CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_ptsz_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemset_v3020,
#if CUPTI_API_VERSION >= 130000
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000,
    CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000,
#endif
};
constexpr CUpti_CallbackId kDriverLaunches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
};

struct FilledBuffer
{
    std::uint8_t* bytes = nullptr;
    std::size_t used = 0;
};

/// Where CUPTI's threads put what they collected. They get no user data, so the running trace is
/// found through this one pointer; CUPTI itself is one per process.
struct BufferSink
{
    std::mutex mutex;
    std::vector<FilledBuffer> buffers;
};
std::atomic<BufferSink*> activeSink{nullptr};

void CUPTIAPI bufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords)
{
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, kBufferBytes));
    *size = *buffer == nullptr ? 0 : kBufferBytes;
    *maxRecords = 0;
}

void CUPTIAPI
bufferCompleted(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t used)
{
    BufferSink* sink = activeSink.load();
    if (sink == nullptr || used == 0) {
        std::free(buffer);
        return;
    }
    const std::lock_guard lock(sink->mutex);
    sink->buffers.push_back({buffer, used});
}

void CUPTIAPI ignoreCallback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

std::uint64_t CUPTIAPI monotonicNow()
{
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u
           + static_cast<std::uint64_t>(now.tv_nsec);
}

std::string demangled(const char* name)
{
    if (name == nullptr) {
        return "kernel";
    }
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> text(
        abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
    return status == 0 && text ? text.get() : name;
}

const char* copyName(std::uint8_t kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
        return "Memcpy HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
        return "Memcpy DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
        return "Memcpy DtoD";
    default:
        return "Memcpy";
    }
}

/// Turns one trace's records into spans.
class RecordReader
{
public:
    explicit RecordReader(const CuptiApi& api)
        : m_api(api)
        , m_own(OwnKernels::ofThisProcess())
    {}

    void read(const CUpti_Activity* record)
    {
        switch (record->kind) {
        case CUPTI_ACTIVITY_KIND_KERNEL:
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
            const auto* kernel = reinterpret_cast<const KernelRecord*>(record);
            Span span = deviceSpan(*kernel, SpanCategory::Kernel);
            span.name = demangled(kernel->name);
            span.own = kernel->name != nullptr && m_own.contains(kernel->name);
            m_spans.push_back(std::move(span));
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMCPY: {
            const auto* copy = reinterpret_cast<const CopyRecord*>(record);
            Span span = deviceSpan(*copy, SpanCategory::Memory);
            span.name = copyName(copy->copyKind);
            m_spans.push_back(std::move(span));
            break;
        }
        case CUPTI_ACTIVITY_KIND_MEMSET: {
            Span span =
                deviceSpan(*reinterpret_cast<const FillRecord*>(record), SpanCategory::Memory);
            span.name = "Memset";
            m_spans.push_back(std::move(span));
            break;
        }
        case CUPTI_ACTIVITY_KIND_RUNTIME:
        case CUPTI_ACTIVITY_KIND_DRIVER:
            readCall(*reinterpret_cast<const CUpti_ActivityAPI*>(record));
            break;
        default:
            break;
        }
    }

    Result<std::vector<Span>> finish()
    {
        if (m_untimed > 0) {
            return fail(ErrorCode::Unsupported,
                        std::to_string(m_untimed)
                            + " CUPTI records carry no time: the trace is void");
        }
        // The runtime calls the driver: of two records of one launch the outer one stays.
        for (Span& call : m_driverCalls) {
            if (!m_runtimeLaunches.contains(call.correlation)) {
                m_spans.push_back(std::move(call));
            }
        }
        std::stable_sort(m_spans.begin(), m_spans.end(), [](const Span& a, const Span& b) {
            return a.startNs < b.startNs;
        });
        return std::move(m_spans);
    }

private:
    template <class Record>
    Span deviceSpan(const Record& record, SpanCategory category)
    {
        Span span;
        span.category = category;
        span.lane = kStreamLaneBase + record.streamId;
        span.correlation = record.correlationId;
        setTimes(span, record.start, record.end);
        return span;
    }

    void setTimes(Span& span, std::uint64_t start, std::uint64_t end)
    {
        if (start == 0 || end < start) { // "could not be collected", by CUPTI's documentation
            ++m_untimed;
        }
        span.startNs = static_cast<std::int64_t>(start);
        span.endNs = static_cast<std::int64_t>(end);
    }

    void readCall(const CUpti_ActivityAPI& call)
    {
        const bool runtime = call.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
        const bool wanted =
            runtime ? std::ranges::find(kRuntimeLaunches, call.cbid) != std::end(kRuntimeLaunches)
                    : std::ranges::find(kDriverLaunches, call.cbid) != std::end(kDriverLaunches);
        if (!wanted) {
            return;
        }
        Span span;
        span.category = SpanCategory::Runtime;
        span.lane = call.threadId;
        span.correlation = call.correlationId;
        setTimes(span, call.start, call.end);
        const char* name = nullptr;
        m_api.cuptiGetCallbackName(
            runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, call.cbid, &name);
        span.name = name != nullptr ? name : "CUDA call";
        span.name = span.name.substr(0, span.name.rfind("_v")); // "cudaLaunchKernel_v7000"
        if (runtime) {
            m_runtimeLaunches.insert(call.correlationId);
            m_spans.push_back(std::move(span));
        } else {
            m_driverCalls.push_back(std::move(span));
        }
    }

    const CuptiApi& m_api;
    OwnKernels m_own;
    std::vector<Span> m_spans;
    std::vector<Span> m_driverCalls;
    std::unordered_set<std::uint32_t> m_runtimeLaunches;
    std::size_t m_untimed = 0;
};

class ActivityTrace final : public CuptiTrace
{
public:
    ActivityTrace(const CuptiApi& api, std::uint32_t version)
        : m_api(api)
        , m_version(version)
    {}
    ~ActivityTrace() override
    {
        if (m_running) {
            (void)stop();
        }
    }

    std::string version() const override
    {
        return "CUPTI " + std::to_string(m_version / 10000) + "."
               + std::to_string(m_version % 10000 / 100) + " (API " + std::to_string(m_version)
               + ")";
    }

    Result<void> start() override
    {
        if (m_running) {
            return fail(ErrorCode::Internal, "a CUPTI trace is running already");
        }
        if (auto ok = subscribe(); !ok) {
            return ok;
        }
        m_running = true;
        activeSink.store(&m_sink);
        auto ok = enable();
        if (!ok) {
            (void)stop();
        }
        return ok;
    }

    Result<std::vector<Span>> stop() override
    {
        if (!m_running) {
            return fail(ErrorCode::Internal, "no CUPTI trace is running");
        }
        m_running = false;
        auto flushed =
            check(m_api.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "flush the trace");
        std::size_t dropped = 0;
        m_api.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
        switchAll(false);
        m_api.cuptiUnsubscribe(m_subscriber);
        activeSink.store(nullptr);
        RecordReader reader(m_api);
        const bool readable = readBuffers(reader);
        if (!flushed) {
            return tl::unexpected(flushed.error());
        }
        if (dropped > 0 || !readable) {
            return fail(ErrorCode::Refused,
                        dropped > 0 ? "CUPTI dropped " + std::to_string(dropped)
                                          + " records: the trace is void, trace fewer calls"
                                    : "CUPTI's records cannot be read: the trace is void");
        }
        return reader.finish();
    }

private:
    Result<void> check(CUptiResult result, const char* step) const
    {
        if (result == CUPTI_SUCCESS) {
            return {};
        }
        const char* text = nullptr;
        m_api.cuptiGetResultString(result, &text);
        return fail(ErrorCode::Unsupported,
                    std::string("CUPTI cannot ") + step + ": " + (text ? text : "unknown error"));
    }

    Result<void> subscribe()
    {
        if (m_api.cuptiSubscribe_v2 == nullptr) {
            return check(m_api.cuptiSubscribe(&m_subscriber, ignoreCallback, nullptr), "subscribe");
        }
        char other[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = {};
        CUpti_SubscriberParams params = {};
        params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
        params.subscriberName = "lathe";
        params.oldSubscriberName = other;
        params.oldSubscriberSize = sizeof other;
        auto ok = check(m_api.cuptiSubscribe_v2(&m_subscriber, ignoreCallback, nullptr, &params),
                        "subscribe");
        other[sizeof other - 1] = 0;
        if (!ok && other[0] != 0) {
            ok.error().message += std::string(" (") + other + " is there)";
        }
        return ok;
    }

    Result<void> enable()
    {
        // The clock before the first kind, so that every record carries it.
        if (auto ok =
                check(m_api.cuptiActivityRegisterTimestampCallback(monotonicNow), "set its clock");
            !ok) {
            return ok;
        }
        if (auto ok = check(m_api.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM),
                            "name threads");
            !ok) {
            return ok;
        }
        if (auto ok = check(m_api.cuptiActivityRegisterCallbacks(bufferRequested, bufferCompleted),
                            "register");
            !ok) {
            return ok;
        }
        return switchAll(true);
    }

    Result<void> switchAll(bool on)
    {
        Result<void> first;
        const auto keep = [&](CUptiResult result, const char* step) {
            if (auto ok = check(result, step); !ok && first) {
                first = ok;
            }
        };
        for (const CUpti_ActivityKind kind : kKinds) {
            keep(on ? m_api.cuptiActivityEnable(kind) : m_api.cuptiActivityDisable(kind),
                 on ? "start collecting" : "stop collecting");
        }
        return first;
    }

    bool readBuffers(RecordReader& reader)
    {
        const std::lock_guard lock(m_sink.mutex);
        bool readable = true;
        for (const FilledBuffer& buffer : m_sink.buffers) {
            CUpti_Activity* record = nullptr;
            CUptiResult result = CUPTI_SUCCESS;
            while ((result = m_api.cuptiActivityGetNextRecord(buffer.bytes, buffer.used, &record))
                   == CUPTI_SUCCESS) {
                reader.read(record);
            }
            readable = readable && result == CUPTI_ERROR_MAX_LIMIT_REACHED; // "end of the buffer"
            std::free(buffer.bytes);
        }
        m_sink.buffers.clear();
        return readable;
    }

    CuptiApi m_api;
    std::uint32_t m_version;
    CUpti_SubscriberHandle m_subscriber = nullptr;
    BufferSink m_sink;
    bool m_running = false;
};

} // namespace

Result<std::unique_ptr<CuptiTrace>> CuptiTrace::load()
{
    const std::string name = "libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000);
    // torch links one; a second copy in one process would be a second CUPTI.
    void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_NOLOAD);
    for (const std::string& path : {name, std::string(LATHE_CUPTI_FOLDER) + "/" + name}) {
        if (library == nullptr) {
            library = dlopen(path.c_str(), RTLD_NOW);
        }
    }
    if (library == nullptr) {
        return fail(ErrorCode::Unsupported,
                    name + " is missing: install CUPTI or use a torch that brings it");
    }
    CuptiApi api;
#define LATHE_CUPTI_LOAD(function)                                                                 \
    api.function = reinterpret_cast<decltype(api.function)>(dlsym(library, #function));            \
    if (api.function == nullptr) {                                                                 \
        return fail(ErrorCode::Unsupported, name + " is too old: it has no " #function);           \
    }
    LATHE_CUPTI_FUNCTIONS(LATHE_CUPTI_LOAD)
#undef LATHE_CUPTI_LOAD
    api.cuptiSubscribe_v2 =
        reinterpret_cast<decltype(api.cuptiSubscribe_v2)>(dlsym(library, "cuptiSubscribe_v2"));
    std::uint32_t version = 0;
    if (api.cuptiGetVersion(&version) != CUPTI_SUCCESS
        || version / kVersionsPerMinor != CUPTI_API_VERSION / kVersionsPerMinor) {
        return fail(ErrorCode::Unsupported,
                    "CUPTI's record layouts differ: built for API "
                        + std::to_string(CUPTI_API_VERSION) + ", found " + std::to_string(version)
                        + "; build lathe-arm with the toolkit that torch was built with");
    }
    return std::make_unique<ActivityTrace>(api, version);
}

} // namespace lathe::arm
