// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python/model_host.h"

#include "cpu/fault_report.h"
#include "cpu/float_mode.h"
#include "python/host_state.h"
#include "python/native_module.h"
#include "python/py_failure.h"
#include "python/tensor_bridge.h"

#include <cstdint>
#include <filesystem>
#include <utility>

namespace lathe::arm {
namespace {

PyRef stringList(const std::vector<std::string>& texts)
{
    PyRef list = PyRef::steal(PyList_New(static_cast<Py_ssize_t>(texts.size())));
    for (std::size_t i = 0; i < texts.size(); ++i)
        PyList_SET_ITEM(list.get(),
                        static_cast<Py_ssize_t>(i),
                        PyUnicode_DecodeUTF8(
                            texts[i].data(), static_cast<Py_ssize_t>(texts[i].size()), "replace"));
    return list;
}

PyRef objectList(const std::vector<PyRef>& objects)
{
    PyRef list = PyRef::steal(PyList_New(static_cast<Py_ssize_t>(objects.size())));
    for (std::size_t i = 0; i < objects.size(); ++i)
        PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i), PyRef(objects[i]).release());
    return list;
}

Outcome<std::vector<protocol::TensorInfo>> describeAll(const std::vector<PyRef>& tensors,
                                                       const std::string& device,
                                                       const char* stage,
                                                       const char* what)
{
    std::vector<protocol::TensorInfo> infos;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        auto info = describeTensor(tensors[i].get(), device);
        if (!info)
            return failure(stage,
                           std::string(what) + " " + std::to_string(i) + " " + info.error().message
                               + ".");
        infos.push_back(std::move(*info));
    }
    return infos;
}

/// The numbers of all tensors inside an argument.
void tensorsIn(const protocol::ArmValue& value, std::vector<std::int64_t>& out)
{
    if (value.kind == protocol::ArmValue::Kind::TensorRef)
        out.push_back(value.integer);
    for (const protocol::ArmValue& item : value.items)
        tensorsIn(item, out);
}

/// Maps the buffer and puts a tensor over it.
Outcome<PyRef>
mapTensor(Device& device, UniqueFd buffer, const protocol::TensorInfo& info, const void** address)
{
    auto memory = device.map(std::move(buffer), info.bytes(), false);
    if (!memory)
        return failure("wire", memory.error());
    *address = memory->get();
    auto tensor = tensorOver(std::move(*memory), info, device.name());
    if (!tensor)
        return failure("wire", tensor.error());
    return PyRef::steal(*tensor);
}

} // namespace

QuietForward::QuietForward()
    : m_grad(setGradEnabled(false))
    , m_collecting(PyGC_Disable() != 0)
{}

QuietForward::~QuietForward()
{
    if (m_collecting)
        PyGC_Enable();
    setGradEnabled(m_grad);
}

ModelHost::ModelHost(Device& device, std::string phase)
    : m_state(std::make_unique<State>(device, std::move(phase)))
{
    const PyRef module = PyRef::steal(PyImport_ImportModule("_lathe_runtime"));
    if (module)
        m_state->runtime =
            PyRef::steal(PyObject_CallMethod(module.get(), "Host", "s", device.name().c_str()));
    PyErr_Clear();
}

ModelHost::~ModelHost() = default;

Failure ModelHost::State::pythonFailure(const std::string& stage) const
{
    return takePythonFailure(runtime.get(), stage);
}

Outcome<void> ModelHost::State::afterLoad()
{
    callable = PyRef::steal(PyObject_GetAttrString(runtime.get(), "call"));
    const PyRef buffers = PyRef::steal(PyObject_GetAttrString(runtime.get(), "buffers"));
    keepsBuffers = buffers && PyList_Check(buffers.get()) && PyList_Size(buffers.get()) > 0;
    PyErr_Clear();
    return {};
}

Outcome<void> ModelHost::loadReference(const ReferenceRequest& request)
{
    if (m_state->callable)
        return failure("wire", "A model is already loaded in this phase.");
    m_state->compared = request.compared;
    const PyRef constants = stringList(request.constants);
    const PyRef done = PyRef::steal(PyObject_CallMethod(m_state->runtime.get(),
                                                        "load_reference",
                                                        "sOLssOsL",
                                                        request.path.c_str(),
                                                        constants.get(),
                                                        static_cast<long long>(request.seed),
                                                        request.mode.c_str(),
                                                        request.precision.c_str(),
                                                        request.upcast ? Py_True : Py_False,
                                                        request.compileMode.c_str(),
                                                        static_cast<long long>(request.compared)));
    if (!done)
        return tl::unexpected(m_state->pythonFailure());
    return m_state->afterLoad();
}

Outcome<void> ModelHost::loadCandidate(CandidateRequest request)
{
    if (m_state->callable)
        return failure("wire", "A model is already loaded in this phase.");
    m_state->compared = request.compared;
    // A library that is linked for fast arithmetic sets modes when it is loaded.
    const FloatMode mode;
    auto loaded = loadCandidateNow(std::move(request));
    mode.restore();
    return loaded;
}

Outcome<std::vector<PyRef>>
ModelHost::State::mapWeights(std::vector<UniqueFd> buffers,
                             const std::vector<protocol::TensorInfo>& infos)
{
    std::vector<PyRef> weights;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const void* address = nullptr;
        auto tensor = mapTensor(device, std::move(buffers[i]), infos[i], &address);
        if (!tensor)
            return tl::unexpected(tensor.error());
        weights.push_back(std::move(*tensor));
    }
    return weights;
}

Outcome<std::vector<PyRef>>
ModelHost::State::plainValues(const std::vector<protocol::ArmValue>& values)
{
    std::vector<PyRef> out;
    for (const auto& value : values) {
        auto built = buildValue(value, {});
        if (!built)
            return failure("wire", built.error());
        out.push_back(std::move(*built));
    }
    return out;
}

Outcome<void> ModelHost::replaceWeights(WeightsRequest request)
{
    if (!m_state->callable)
        return failure("wire", "No model is loaded in this phase.");
    if (request.names.size() != request.infos.size()
        || request.buffers.size() != request.infos.size())
        return failure("wire", "The weights' names, descriptions and buffers differ in number.");
    auto weights = m_state->mapWeights(std::move(request.buffers), request.infos);
    auto init = m_state->plainValues(request.initInputs);
    if (!weights || !init)
        return tl::unexpected(!weights ? weights.error() : init.error());
    const PyRef names = stringList(request.names), tensors = objectList(*weights),
                arguments = objectList(*init);
    const FloatMode mode;
    const PyRef done = PyRef::steal(PyObject_CallMethod(m_state->runtime.get(),
                                                        "replace_weights",
                                                        "OOOO",
                                                        arguments.get(),
                                                        names.get(),
                                                        tensors.get(),
                                                        request.newInstance ? Py_True : Py_False));
    mode.restore();
    if (!done)
        return tl::unexpected(m_state->pythonFailure());
    if (auto synced = m_state->device.synchronise(); !synced)
        return failure("load", synced.error());
    return m_state->afterLoad();
}

Outcome<void> ModelHost::loadCandidateNow(CandidateRequest request)
{
    if (request.weightNames.size() != request.weightInfos.size()
        || request.weights.size() != request.weightInfos.size())
        return failure("wire", "The weights' names, descriptions and buffers differ in number.");
    if (request.format == "native") {
        const std::string library = request.folder + "/kernels.so";
        std::error_code ignored;
        auto names = installNativeModule(std::filesystem::exists(library, ignored) ? library : "",
                                         m_state->log,
                                         request.skipKernels);
        if (!names)
            return failure("load", names.error());
    }
    auto weights = m_state->mapWeights(std::move(request.weights), request.weightInfos);
    auto initInputs = m_state->plainValues(request.initInputs);
    if (!weights || !initInputs)
        return tl::unexpected(!weights ? weights.error() : initInputs.error());
    const PyRef names = stringList(request.weightNames), tensors = objectList(*weights),
                init = objectList(*initInputs);
    const PyRef done = PyRef::steal(PyObject_CallMethod(m_state->runtime.get(),
                                                        "load_candidate",
                                                        "sOOOOLssL",
                                                        request.folder.c_str(),
                                                        init.get(),
                                                        names.get(),
                                                        tensors.get(),
                                                        request.frozen ? Py_True : Py_False,
                                                        static_cast<long long>(request.seed),
                                                        request.mode.c_str(),
                                                        request.precision.c_str(),
                                                        static_cast<long long>(request.compared)));
    if (!done)
        return tl::unexpected(m_state->pythonFailure());
    if (auto synced = m_state->device.synchronise(); !synced)
        return failure("load", synced.error());
    return m_state->afterLoad();
}

Outcome<std::string> ModelHost::discover(const std::string& folder)
{
    const PyRef json =
        PyRef::steal(PyObject_CallMethod(m_state->runtime.get(), "discover", "s", folder.c_str()));
    if (!json)
        return tl::unexpected(m_state->pythonFailure());
    return textOf(json.get());
}

Outcome<std::vector<protocol::ArmValue>> ModelHost::initInputs()
{
    const PyRef list =
        PyRef::steal(PyObject_CallMethod(m_state->runtime.get(), "init_inputs", nullptr));
    if (!list)
        return tl::unexpected(m_state->pythonFailure());
    std::vector<PyRef> tensors;
    auto taken = takeApart(list.get(), tensors);
    if (!taken)
        return failure("init", "get_init_inputs() " + taken.error().message + ".");
    if (!tensors.empty())
        return failure(
            "init",
            "get_init_inputs() returns a tensor; only plain values can be given to a candidate.");
    return taken->items;
}

Outcome<Described> ModelHost::weights()
{
    const PyRef pair =
        PyRef::steal(PyObject_CallMethod(m_state->runtime.get(), "weights", nullptr));
    if (!pair)
        return tl::unexpected(m_state->pythonFailure());
    std::vector<PyRef> tensors;
    if (auto taken = takeApart(PyTuple_GetItem(pair.get(), 1), tensors); !taken)
        return failure("load", taken.error());
    auto infos = describeAll(tensors, m_state->device.name(), "load", "weight");
    if (!infos)
        return tl::unexpected(infos.error());
    Described result;
    result.tensors = std::move(*infos);
    PyObject* const names = PyTuple_GetItem(pair.get(), 0);
    for (Py_ssize_t i = 0; i < PyList_Size(names); ++i)
        result.names.push_back(textOf(PyList_GetItem(names, i)));
    return result;
}

Outcome<Described> ModelHost::makeInputs(std::int64_t seed,
                                         std::int64_t set,
                                         const std::vector<protocol::ArmValue>& rules,
                                         bool vary,
                                         const std::vector<std::int64_t>& mutableArguments)
{
    std::vector<PyRef> built;
    for (const auto& rule : rules) {
        auto value = buildValue(rule, {});
        if (!value)
            return failure("wire", value.error());
        built.push_back(std::move(*value));
    }
    const PyRef ruleList = objectList(built);
    const PyRef list = PyRef::steal(PyObject_CallMethod(m_state->runtime.get(),
                                                        "make_inputs",
                                                        "LOO",
                                                        static_cast<long long>(seed),
                                                        ruleList.get(),
                                                        vary ? Py_True : Py_False));
    if (!list)
        return tl::unexpected(m_state->pythonFailure());
    InputSet made;
    auto taken = takeApart(list.get(), made.tensors);
    if (!taken)
        return failure("inputs", "get_inputs() " + taken.error().message + ".");
    auto infos = describeAll(made.tensors, m_state->device.name(), "inputs", "input");
    if (!infos)
        return tl::unexpected(infos.error());
    made.arguments = taken->items;
    for (const std::int64_t argument : mutableArguments)
        if (argument >= 0 && static_cast<std::size_t>(argument) < made.arguments.size())
            tensorsIn(made.arguments[static_cast<std::size_t>(argument)], made.mutableIndexes);
    Described result;
    result.tensors = std::move(*infos);
    result.values = made.arguments;
    m_state->sets[set] = std::move(made);
    return result;
}

Outcome<void> ModelHost::bindInputs(InputsRequest request)
{
    if (request.buffers.size() != request.infos.size())
        return failure("wire", "The inputs' descriptions and buffers differ in number.");
    InputSet bound;
    bound.arguments = std::move(request.arguments);
    bound.mutableIndexes = std::move(request.mutableIndexes);
    releaseInputs(request.set); // a second binding of a set replaces the first
    for (std::size_t i = 0; i < request.buffers.size(); ++i) {
        const void* address = nullptr;
        auto tensor =
            mapTensor(m_state->device, std::move(request.buffers[i]), request.infos[i], &address);
        if (!tensor)
            return tl::unexpected(tensor.error());
        if (m_state->device.name() == "cpu")
            addProtectedRange(address, request.infos[i].bytes(), static_cast<int>(i), request.set);
        bound.tensors.push_back(std::move(*tensor));
    }
    for (const std::int64_t index : bound.mutableIndexes)
        if (index < 0 || static_cast<std::size_t>(index) >= bound.tensors.size())
            return failure("wire", "A mutable index is not the index of an input.");
    auto arguments = m_state->argumentsOf(bound);
    if (!arguments)
        return tl::unexpected(arguments.error());
    if (m_state->callable) {
        const PyRef list = objectList(arguments->positional);
        const PyRef done = PyRef::steal(
            PyObject_CallMethod(m_state->runtime.get(), "check_supported", "O", list.get()));
        if (!done)
            return tl::unexpected(m_state->pythonFailure());
    }
    m_state->prepared.clear();
    m_state->sets[request.set] = std::move(bound);
    return {};
}

void ModelHost::releaseInputs(std::int64_t set)
{
    m_state->prepared.clear();
    m_state->sets.erase(set);
    removeProtectedRanges(set);
}

Outcome<InputSet*> ModelHost::State::findSet(std::int64_t id)
{
    const auto found = sets.find(id);
    if (found == sets.end())
        return failure("wire", "There is no input set " + std::to_string(id) + ".");
    return &found->second;
}

Outcome<CallArguments> ModelHost::State::argumentsOf(const InputSet& set)
{
    CallArguments arguments;
    std::vector<PyRef>& tensors = arguments.tensors;
    tensors = set.tensors;
    for (const std::int64_t index : set.mutableIndexes) {
        PyRef& tensor = tensors[static_cast<std::size_t>(index)];
        auto copy = privateCopy(tensor.get());
        if (!copy)
            return failure("inputs", copy.error());
        tensor = PyRef::steal(*copy);
        arguments.changing.emplace_back(index, tensor);
    }
    for (const auto& value : set.arguments) {
        auto built = buildValue(value, tensors);
        if (!built)
            return failure("wire", built.error());
        arguments.positional.push_back(std::move(*built));
    }
    return arguments;
}

Outcome<void> ModelHost::fill(TensorGroup group,
                              std::int64_t set,
                              std::size_t first,
                              std::vector<UniqueFd> buffers)
{
    std::vector<PyRef> tensors;
    if (group == TensorGroup::Weights) {
        const PyRef pair =
            PyRef::steal(PyObject_CallMethod(m_state->runtime.get(), "weights", nullptr));
        if (!pair)
            return tl::unexpected(m_state->pythonFailure());
        if (auto taken = takeApart(PyTuple_GetItem(pair.get(), 1), tensors); !taken)
            return failure("load", taken.error());
    } else if (group == TensorGroup::Inputs) {
        auto found = m_state->findSet(set);
        if (!found)
            return tl::unexpected(found.error());
        tensors = (*found)->afterRun.empty() ? (*found)->tensors : (*found)->afterRun;
    } else if (group == TensorGroup::Outputs) {
        tensors = m_state->outputs;
    } else {
        return failure("wire", "There is no such group of tensors.");
    }
    if (first > tensors.size() || buffers.size() > tensors.size() - first)
        return failure("wire",
                       "There are " + std::to_string(tensors.size())
                           + " tensors to copy, and buffers for "
                           + std::to_string(first + buffers.size()) + ".");
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        PyObject* const tensor = tensors[first + i].get();
        auto info = describeTensor(tensor, m_state->device.name());
        if (!info)
            return failure("contract",
                           "tensor " + std::to_string(first + i) + " " + info.error().message
                               + ".");
        auto memory = m_state->device.map(std::move(buffers[i]), info->bytes(), true);
        if (!memory)
            return failure("wire", memory.error());
        if (auto copied = copyOut(tensor, memory->get(), m_state->device.name()); !copied)
            return failure("forward", copied.error());
        if (auto synced = m_state->device.synchronise(); !synced)
            return failure("forward", synced.error());
    }
    return {};
}

} // namespace lathe::arm
