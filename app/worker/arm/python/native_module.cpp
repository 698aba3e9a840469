// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python/native_module.h"

#include "cpu/elf_symbols.h"
#include "cpu/fault_report.h"
#include "python/py_ref.h"
#include "python/tensor_bridge.h"

#include <lathe/base/clock.h>
#include <lathe/base/files.h>
#include <lathe/base/text.h>

#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <list>
#include <optional>
#include <tvm/ffi/c_api.h>
#include <utility>

namespace {

// Per thread, because kernels may be called from any. kernel.h finds the setter by name.
thread_local std::string t_raised;

} // namespace

extern "C" __attribute__((visibility("default"), used)) void latheRaiseError(const char* message)
{
    t_raised = message;
}

namespace lathe::arm {
namespace {

constexpr Py_ssize_t kMaxArguments = 64;
constexpr const char* kKernelCapsule = "lathe.kernel";
constexpr const char* kNamesCapsule = "lathe.kernels";

/// libtvm_ffi's functions, found at run time: the arm also works without that library.
struct TvmFunctions
{
    void (*moveFromRaised)(TVMFFIObjectHandle*) = nullptr;
    int (*decRef)(TVMFFIObjectHandle) = nullptr;
    int (*setStream)(std::int32_t, std::int32_t, void*, void**) = nullptr;
};

struct Kernel
{
    std::string name;
    TVMFFISafeCallType function = nullptr;
    TvmFunctions tvm;
    SpanLog* log = nullptr;
    bool skipped = false;
    PyMethodDef definition{};
};

/// What the module keeps for ever: Python's method objects point into it.
struct Kernels
{
    std::list<Kernel> all;
    PyMethodDef missing{};
    std::string names;
};

std::string takeRaised(const Kernel& kernel)
{
    if (!t_raised.empty())
        return kernel.name + ": " + std::exchange(t_raised, {});
    TVMFFIObjectHandle raised = nullptr;
    if (kernel.tvm.moveFromRaised)
        kernel.tvm.moveFromRaised(&raised);
    if (!raised)
        return kernel.name + " failed without a message";
    const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(raised);
    std::string message = kernel.name + ": " + std::string(cell->message.data, cell->message.size);
    if (kernel.tvm.decRef)
        kernel.tvm.decRef(raised);
    return message;
}

/// Converts one argument; false with a Python exception set.
bool convert(
    const Kernel& kernel, Py_ssize_t index, PyObject* object, TVMFFIAny& any, DLTensor& tensor)
{
    any = {};
    if (isTensor(object)) {
        if (!toDlTensor(object, tensor)) {
            PyErr_Format(
                PyExc_TypeError,
                "%s: argument %zd is a tensor that kernels cannot take (sparse, quantised, "
                "lazily conjugated, or on another kind of device)",
                kernel.name.c_str(),
                index);
            return false;
        }
        any.type_index = kTVMFFIDLTensorPtr;
        any.v_ptr = &tensor;
    } else if (PyBool_Check(object)) {
        any.type_index = kTVMFFIBool;
        any.v_int64 = object == Py_True ? 1 : 0;
    } else if (PyLong_Check(object)) {
        any.type_index = kTVMFFIInt;
        any.v_int64 = PyLong_AsLongLong(object);
        return !(any.v_int64 == -1 && PyErr_Occurred());
    } else if (PyFloat_Check(object)) {
        any.type_index = kTVMFFIFloat;
        any.v_float64 = PyFloat_AS_DOUBLE(object);
    } else if (object == Py_None) {
        any.type_index = kTVMFFINone;
    } else {
        PyErr_Format(PyExc_TypeError,
                     "%s: argument %zd is a %s; kernels take tensors, int, float, bool and None",
                     kernel.name.c_str(),
                     index,
                     Py_TYPE(object)->tp_name);
        return false;
    }
    return true;
}

PyObject* toPython(const Kernel& kernel, const TVMFFIAny& result)
{
    switch (result.type_index) {
    case kTVMFFIInt:
        return PyLong_FromLongLong(result.v_int64);
    case kTVMFFIBool:
        return PyBool_FromLong(result.v_int64 != 0);
    case kTVMFFIFloat:
        return PyFloat_FromDouble(result.v_float64);
    default:
        if (result.type_index >= kTVMFFIStaticObjectBegin && kernel.tvm.decRef)
            kernel.tvm.decRef(result.v_obj);
        Py_RETURN_NONE;
    }
}

/// The kernel itself, without the GIL, with nothing thrown through it.
int callKernel(const Kernel& kernel,
               const TVMFFIAny* args,
               std::int32_t count,
               TVMFFIAny& result,
               std::optional<std::string>& thrown)
{
    const CurrentKernel current(kernel.name.c_str());
    try {
        return kernel.function(nullptr, args, count, &result);
    } catch (const std::exception& error) {
        thrown = kernel.name + ": " + error.what();
    } catch (...) {
        thrown = kernel.name + " threw something that is not a std::exception";
    }
    return -1;
}

/// True when an argument lives on a CUDA device; then the kernel finds PyTorch's current stream of
/// that device.
bool onCuda(const TVMFFIAny* args, Py_ssize_t count, const TvmFunctions& tvm)
{
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (args[i].type_index != kTVMFFIDLTensorPtr)
            continue;
        const DLDevice device = static_cast<const DLTensor*>(args[i].v_ptr)->device;
        if (device.device_type != kDLCUDA)
            continue;
        if (tvm.setStream)
            tvm.setStream(
                device.device_type, device.device_id, currentCudaStream(device.device_id), nullptr);
        return true;
    }
    return false;
}

PyObject* invoke(PyObject* self, PyObject* const* args, Py_ssize_t count)
{
    const auto* kernel = static_cast<const Kernel*>(PyCapsule_GetPointer(self, kKernelCapsule));
    if (!kernel)
        return nullptr;
    if (count > kMaxArguments)
        return PyErr_Format(
            PyExc_TypeError, "%s: more than %zd arguments", kernel->name.c_str(), kMaxArguments);
    std::array<TVMFFIAny, kMaxArguments> values;
    std::array<DLTensor, kMaxArguments> tensors;
    for (Py_ssize_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        if (!convert(*kernel, i, args[i], values[at], tensors[at]))
            return nullptr;
    }
    TVMFFIAny result{};
    std::optional<std::string> thrown;
    if (kernel->skipped)
        Py_RETURN_NONE;
    // On CUDA the call only launches; the kernel's own time comes from the device's trace.
    const bool launches = onCuda(values.data(), count, kernel->tvm);
    const bool traced = kernel->log->active();
    const std::int64_t startNs = traced ? monotonicNs() : 0;
    PyThreadState* const thread = PyEval_SaveThread();
    const int status =
        callKernel(*kernel, values.data(), static_cast<std::int32_t>(count), result, thrown);
    PyEval_RestoreThread(thread);
    if (traced)
        kernel->log->add(kernel->name,
                         launches ? SpanCategory::Runtime : SpanCategory::Kernel,
                         startNs,
                         monotonicNs(),
                         !launches);
    if (status != 0) {
        const std::string message = toValidUtf8(thrown ? *thrown : takeRaised(*kernel));
        PyErr_SetString(PyExc_RuntimeError, message.c_str());
        return nullptr;
    }
    return toPython(*kernel, result);
}

/// Module __getattr__: only asked for names that the module has not.
PyObject* missingKernel(PyObject* self, PyObject* name)
{
    const auto* kernels = static_cast<const Kernels*>(PyCapsule_GetPointer(self, kNamesCapsule));
    const std::string text = textOf(name);
    if (!kernels)
        return nullptr;
    if (text.rfind("__", 0) == 0) // what the import machinery asks for
        return PyErr_Format(
            PyExc_AttributeError, "module 'lathe_native' has no attribute '%s'", text.c_str());
    return PyErr_Format(PyExc_AttributeError,
                        "lathe_native has no kernel '%s'; the library exports: %s",
                        text.c_str(),
                        kernels->names.empty() ? "nothing" : kernels->names.c_str());
}

Result<void> findKernels(const std::string& path, Kernels& kernels, SpanLog& log)
{
    auto bytes = readFile(path, 1ull << 30);
    if (!bytes)
        return tl::unexpected(bytes.error());
    auto names = exportedFunctions(*bytes, "__tvm_ffi_");
    if (!names)
        return tl::unexpected(names.error());
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(ErrorCode::InvalidArgument,
                    std::string("The kernels' library could not be loaded: ") + dlerror());
    TvmFunctions tvm;
    tvm.moveFromRaised = reinterpret_cast<void (*)(TVMFFIObjectHandle*)>(
        dlsym(RTLD_DEFAULT, "TVMFFIErrorMoveFromRaised"));
    tvm.decRef =
        reinterpret_cast<int (*)(TVMFFIObjectHandle)>(dlsym(RTLD_DEFAULT, "TVMFFIObjectDecRef"));
    tvm.setStream =
        reinterpret_cast<decltype(tvm.setStream)>(dlsym(RTLD_DEFAULT, "TVMFFIEnvSetStream"));
    for (const std::string& name : *names) {
        Kernel kernel;
        kernel.name = name;
        kernel.function =
            reinterpret_cast<TVMFFISafeCallType>(dlsym(library, ("__tvm_ffi_" + name).c_str()));
        kernel.tvm = tvm;
        kernel.log = &log;
        if (kernel.function)
            kernels.all.push_back(std::move(kernel));
    }
    kernels.names = join(*names, ", ");
    return {};
}

PyCFunction asFunction(PyObject* (*fast)(PyObject*, PyObject* const*, Py_ssize_t))
{
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(fast));
}

} // namespace

Result<std::vector<std::string>>
installNativeModule(const std::string& libraryPath, SpanLog& log, bool skipKernels)
{
    auto* const kernels = new Kernels; // never freed: see Kernels
    if (!libraryPath.empty())
        if (auto found = findKernels(libraryPath, *kernels, log); !found)
            return tl::unexpected(found.error());

    const PyRef module = PyRef::steal(PyModule_New("lathe_native"));
    std::vector<std::string> names;
    for (Kernel& kernel : kernels->all) {
        kernel.skipped = skipKernels;
        kernel.definition = {kernel.name.c_str(), asFunction(invoke), METH_FASTCALL, nullptr};
        const PyRef self = PyRef::steal(PyCapsule_New(&kernel, kKernelCapsule, nullptr));
        PyModule_AddObject(
            module.get(), kernel.name.c_str(), PyCFunction_New(&kernel.definition, self.get()));
        names.push_back(kernel.name);
    }
    kernels->missing = {"__getattr__", missingKernel, METH_O, nullptr};
    const PyRef self = PyRef::steal(PyCapsule_New(kernels, kNamesCapsule, nullptr));
    PyModule_AddObject(module.get(), "__getattr__", PyCFunction_New(&kernels->missing, self.get()));
    PyDict_SetItemString(PyImport_GetModuleDict(), "lathe_native", module.get());
    if (PyErr_Occurred()) {
        PyErr_Clear();
        return fail(ErrorCode::Internal, "The module lathe_native could not be made.");
    }
    return names;
}

} // namespace lathe::arm
