// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cpu/fault_report.h"
#include "cpu/float_mode.h"
#include "profile/chrome_trace.h"
#include "profile/op_trace.h"
#include "python/host_state.h"
#include "python/tensor_bridge.h"

#include <lathe/base/clock.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <unistd.h>
#include <utility>
#include <vector>

namespace lathe::arm {
namespace {

constexpr std::int64_t kMaxCalls = 1'000'000;
constexpr std::size_t kFewArguments = 64; ///< without an allocation in the timed loop
constexpr std::uint64_t kMaxCopyBytes = 4ull << 30;

std::string ordinalName(std::int64_t call)
{
    return "forward " + std::to_string(call + 1);
}

/// record(name, start, end) for kernels that runtime.py wraps; self is a capsule with the log.
PyObject* recordSpan(PyObject* self, PyObject* arguments)
{
    const char* name = nullptr;
    long long startNs = 0, endNs = 0;
    auto* const log = static_cast<SpanLog*>(PyCapsule_GetPointer(self, nullptr));
    if (!log || !PyArg_ParseTuple(arguments, "sLL", &name, &startNs, &endNs))
        return nullptr;
    log->add(name, SpanCategory::Kernel, startNs, endNs, true);
    Py_RETURN_NONE;
}

PyObject* clockNow(PyObject*, PyObject*)
{
    return PyLong_FromLongLong(monotonicNs());
}

// CPython keeps pointers to these for as long as the functions live.
PyMethodDef kRecord = {"record", recordSpan, METH_VARARGS, nullptr};
PyMethodDef kClock = {"clock", clockNow, METH_NOARGS, nullptr};

/// Wraps generated kernels in span recording while it lives.
class GeneratedKernelSpans
{
public:
    GeneratedKernelSpans(PyObject* runtime, SpanLog& log)
        : m_runtime(runtime)
    {
        const PyRef self = PyRef::steal(PyCapsule_New(&log, nullptr, nullptr));
        const PyRef record = PyRef::steal(PyCFunction_New(&kRecord, self.get()));
        const PyRef clock = PyRef::steal(PyCFunction_New(&kClock, nullptr));
        const PyRef done = PyRef::steal(
            PyObject_CallMethod(runtime, "wrap_generated", "OO", record.get(), clock.get()));
        PyErr_Clear();
    }
    ~GeneratedKernelSpans()
    {
        const PyRef done =
            PyRef::steal(PyObject_CallMethod(m_runtime, "unwrap_generated", nullptr));
        PyErr_Clear();
    }
    GeneratedKernelSpans(const GeneratedKernelSpans&) = delete;
    GeneratedKernelSpans& operator=(const GeneratedKernelSpans&) = delete;

private:
    PyObject* m_runtime;
};

} // namespace

PyRef ModelHost::State::call(const CallArguments& arguments) const
{
    const std::size_t count = arguments.positional.size();
    PyObject* few[kFewArguments + 1];
    std::vector<PyObject*> many(count > kFewArguments ? count + 1 : 0);
    PyObject** const raw = many.empty() ? few : many.data();
    for (std::size_t i = 0; i < count; ++i)
        raw[i + 1] = arguments.positional[i].get();
    return PyRef::steal(PyObject_Vectorcall(
        callable.get(), raw + 1, count | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

Outcome<PyRef> ModelHost::State::observed(const PyRef& result, const CallArguments& arguments)
{
    // This runs before the judge reads its clock: the common case costs nothing.
    constexpr std::int64_t kBuffers = 2;
    if (isTensor(result.get()) && arguments.changing.empty() && (compared & kBuffers) == 0)
        return result;
    const PyRef changed = PyRef::steal(PyList_New(0));
    for (const auto& [index, tensor] : arguments.changing) {
        const PyRef pair = PyRef::steal(
            Py_BuildValue("(sO)", ("input " + std::to_string(index)).c_str(), tensor.get()));
        PyList_Append(changed.get(), pair.get());
    }
    PyRef seen = PyRef::steal(
        PyObject_CallMethod(runtime.get(), "observe", "OO", result.get(), changed.get()));
    if (!seen)
        return tl::unexpected(pythonFailure("contract"));
    return seen;
}

Outcome<Described>
ModelHost::State::takeOutputs(const PyRef& result, const CallArguments& arguments, bool withAliases)
{
    Described described;
    outputs.clear();
    auto seen = observed(result, arguments);
    if (!seen)
        return tl::unexpected(seen.error());
    auto taken = takeApart(seen->get(), outputs);
    if (!taken)
        return failure("contract", "The result of forward " + taken.error().message + ".");
    described.values.push_back(std::move(*taken));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        PyObject* const output = outputs[i].get();
        if (!isPlainTensor(output))
            return failure("contract",
                           "Output " + std::to_string(i)
                               + " is of a subclass of torch.Tensor; it must be a plain tensor.");
        auto info = describeTensor(output, device.name());
        if (!info)
            return failure("contract",
                           "Output " + std::to_string(i) + " " + info.error().message + ".");
        described.tensors.push_back(std::move(*info));
        const void* const storage = withAliases ? storageOf(output) : nullptr;
        const auto& inputs = arguments.tensors;
        const auto shared =
            std::find_if(inputs.begin(), inputs.end(), [storage](const PyRef& input) {
                return storage && storageOf(input.get()) == storage;
            });
        described.aliases.push_back(shared == inputs.end() ? -1 : shared - inputs.begin());
    }
    return described;
}

PyRef ModelHost::State::observedCall(const CallArguments& arguments,
                                     std::int64_t flags,
                                     Described& described)
{
    const FloatMode mode;
    PyRef result;
    if ((flags & protocol::kRunGolden) != 0) {
        const PyRef list = PyRef::steal(PyList_New(0));
        for (const PyRef& argument : arguments.positional)
            PyList_Append(list.get(), argument.get());
        result = PyRef::steal(PyObject_CallMethod(runtime.get(), "golden", "O", list.get()));
    } else if ((flags & protocol::kRunOperators) != 0) {
        log.start();
        {
            const OpTrace operators(log);
            result = call(arguments);
        }
        std::set<std::string> names;
        for (const Span& span : log.stop())
            if (span.category == SpanCategory::Operator)
                names.insert(span.name);
        for (const std::string& name : names)
            described.operators += name + "\n";
    } else {
        result = call(arguments);
    }
    described.floatMode = mode.restore();
    return result;
}

Outcome<Described> ModelHost::run(const RunRequest& request)
{
    if (!m_state->callable)
        return failure("wire", "No model is loaded in this phase.");
    auto set = m_state->findSet(request.set);
    if (!set)
        return tl::unexpected(set.error());
    const bool golden = (request.flags & protocol::kRunGolden) != 0;
    InputSet wide = {(*set)->arguments, {}, (*set)->mutableIndexes, {}};
    for (const PyRef& tensor : (*set)->tensors) {
        auto widenedTensor =
            golden ? widened(tensor.get()) : Result<PyObjectPtr>(PyRef(tensor).release());
        if (!widenedTensor)
            return failure("inputs", widenedTensor.error());
        wide.tensors.push_back(PyRef::steal(*widenedTensor));
    }
    auto arguments = m_state->argumentsOf(wide);
    if (!arguments)
        return tl::unexpected(arguments.error());

    const QuietForward quiet;
    if (!PyRef::steal(PyObject_CallMethod(m_state->runtime.get(), "restore", nullptr)))
        return tl::unexpected(m_state->pythonFailure("forward"));
    Described observed;
    const PyRef result = m_state->observedCall(*arguments, request.flags, observed);
    if (!result)
        return tl::unexpected(m_state->pythonFailure("forward"));
    if (auto synced = m_state->device.synchronise(); !synced)
        return failure("forward", synced.error());
    (*set)->afterRun = arguments->tensors;
    auto described = m_state->takeOutputs(result, *arguments, true);
    if (!described)
        return described;
    described->floatMode = observed.floatMode;
    described->operators = std::move(observed.operators);
    return described;
}

Outcome<std::vector<CallArguments>>
ModelHost::State::argumentsForCalls(const std::vector<std::int64_t>& ids, std::int64_t calls)
{
    if (!callable)
        return failure("wire", "No model is loaded in this phase.");
    if (ids.empty() || calls < 1 || calls > kMaxCalls)
        return failure("wire",
                       "A timing needs at least one input set and between 1 and 1000000 calls.");
    std::vector<CallArguments> all;
    std::uint64_t copied = 0;
    // Without mutable arguments the calls of a round share one argument list a set.
    bool anyMutable = false;
    for (const std::int64_t id : ids) {
        auto set = findSet(id);
        if (!set)
            return tl::unexpected(set.error());
        anyMutable = anyMutable || !(*set)->mutableIndexes.empty();
    }
    const std::int64_t needed =
        anyMutable ? calls : std::min<std::int64_t>(calls, static_cast<std::int64_t>(ids.size()));
    for (std::int64_t i = 0; i < needed; ++i) {
        auto set = findSet(ids[static_cast<std::size_t>(i) % ids.size()]);
        for (const std::int64_t index : (*set)->mutableIndexes)
            if (auto info = describeTensor((*set)->tensors[static_cast<std::size_t>(index)].get(),
                                           device.name()))
                copied += info->bytes();
        if (copied > kMaxCopyBytes)
            return failure(
                "inputs",
                "The private copies of mutable inputs would take over 4 GiB; ask for fewer calls.");
        auto arguments = argumentsOf(**set);
        if (!arguments)
            return tl::unexpected(arguments.error());
        all.push_back(std::move(*arguments));
    }
    return all;
}

Outcome<void> ModelHost::prepare(const std::vector<std::int64_t>& sets, std::int64_t calls)
{
    auto arguments = m_state->argumentsForCalls(sets, calls);
    if (!arguments)
        return tl::unexpected(arguments.error());
    m_state->prepared = std::move(*arguments);
    m_state->preparedSets = sets;
    return {};
}

Outcome<Timing>
ModelHost::time(const std::vector<std::int64_t>& sets, std::int64_t calls, std::uint64_t flushBytes)
{
    std::vector<CallArguments> arguments;
    if (m_state->preparedSets == sets && !m_state->prepared.empty()
        && static_cast<std::int64_t>(m_state->prepared.size())
               >= std::min<std::int64_t>(calls, std::int64_t(sets.size()))) {
        arguments = std::exchange(m_state->prepared, {});
    }
    const bool mutating = std::any_of(sets.begin(), sets.end(), [&](std::int64_t id) {
        auto set = m_state->findSet(id);
        return set && !(*set)->mutableIndexes.empty();
    });
    if (arguments.empty() || (mutating && static_cast<std::int64_t>(arguments.size()) < calls)) {
        auto made = m_state->argumentsForCalls(sets, calls);
        if (!made)
            return tl::unexpected(made.error());
        arguments = std::move(*made);
    }
    if (flushBytes > 0)
        if (auto flushed = m_state->device.flush(flushBytes); !flushed)
            return failure("forward", flushed.error());

    const QuietForward quiet;
    if (m_state->keepsBuffers
        && !PyRef::steal(PyObject_CallMethod(m_state->runtime.get(), "restore", nullptr)))
        return tl::unexpected(m_state->pythonFailure("forward"));
    Timing timing;
    PyRef last;
    const auto count = static_cast<std::size_t>(calls);
    if (auto marked = m_state->device.markStart(); !marked)
        return failure("forward", marked.error());
    const std::int64_t startNs = monotonicNs();
    for (std::size_t i = 0; i < count; ++i) {
        // The earlier result is let go first, as in a plain loop of y = model(x) without y being
        // used.
        last = PyRef();
        last = m_state->call(arguments[i % arguments.size()]);
        if (!last)
            return tl::unexpected(m_state->pythonFailure("forward"));
    }
    // The mark is queued right behind the calls: after a wait it would count the wait as well.
    auto events = m_state->device.markStop();
    if (!events)
        return failure("forward", events.error());
    timing.eventSeconds = events->seconds;
    timing.starved = events->starved;
    if (auto synced = m_state->device.synchronise(); !synced)
        return failure("forward", synced.error());
    timing.totalSeconds = static_cast<double>(monotonicNs() - startNs) * 1e-9;
    const CallArguments& lastArguments = arguments[(count - 1) % arguments.size()];
    if (auto taken = m_state->takeOutputs(last, lastArguments, false); !taken)
        return tl::unexpected(taken.error());
    return timing;
}

Outcome<TraceResult> ModelHost::trace(std::int64_t set, std::int64_t calls)
{
    auto arguments = m_state->argumentsForCalls({set}, calls);
    if (!arguments)
        return tl::unexpected(arguments.error());
    const QuietForward quiet;
    const GeneratedKernelSpans generated(m_state->runtime.get(), m_state->log);
    if (auto started = m_state->device.startTrace(); !started)
        return failure("forward", started.error());
    m_state->log.start();
    std::optional<Failure> failed;
    {
        const OpTrace operators(m_state->log);
        for (std::int64_t i = 0; i < calls && !failed; ++i) {
            const std::int64_t startNs = monotonicNs();
            const PyRef result =
                m_state->call((*arguments)[static_cast<std::size_t>(i) % arguments->size()]);
            if (!result)
                failed = m_state->pythonFailure("forward");
            else if (auto synced = m_state->device.synchronise(); !synced)
                failed = failure("forward", synced.error()).value();
            m_state->log.add(ordinalName(i), SpanCategory::Runtime, startNs, monotonicNs());
        }
    }
    std::vector<Span> spans = m_state->log.stop();
    auto deviceSpans = m_state->device.stopTrace();
    if (failed)
        return tl::unexpected(*failed);
    if (!deviceSpans)
        return failure("forward", deviceSpans.error());
    TraceResult result;
    std::int64_t firstNs = 0, lastNs = 0;
    for (const Span& span : spans)
        if (span.category == SpanCategory::Runtime) {
            firstNs = firstNs == 0 ? span.startNs : std::min(firstNs, span.startNs);
            lastNs = std::max(lastNs, span.endNs);
        }
    result.spanSeconds = static_cast<double>(lastNs - firstNs) * 1e-9;
    spans.insert(spans.end(), deviceSpans->begin(), deviceSpans->end());
    result.ownKernelSeconds = busySeconds(spans);
    result.chromeJson = toChromeTrace(spans, m_state->phase, getpid());
    return result;
}

} // namespace lathe::arm
