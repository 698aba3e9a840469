// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python/interpreter.h"

#include "python/py_ref.h"
#include "python/runtime_source.h"

#include <dlfcn.h>
#include <unistd.h>

namespace lathe::arm {
namespace {

std::string pendingError()
{
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const PyRef a = PyRef::steal(type), b = PyRef::steal(value), c = PyRef::steal(trace);
    const PyRef text = PyRef::steal(value ? PyObject_Str(value) : nullptr);
    return textOf(text.get());
}

PyStatus initialise(const std::string& python)
{
    PyPreConfig pre;
    PyPreConfig_InitIsolatedConfig(&pre);
    pre.utf8_mode = 1;
    PyStatus status = Py_PreInitialize(&pre);
    if (PyStatus_Exception(status))
        return status;
    PyConfig config;
    PyConfig_InitIsolatedConfig(
        &config); // no PYTHON* variables, no user site, no current folder on sys.path
    config.site_import = 1;
    config.write_bytecode = 0;
    config.install_signal_handlers = 0;
    config.buffered_stdio = 0; // what a crashing candidate printed must be out by then
    status = PyConfig_SetBytesString(&config, &config.program_name, python.c_str());
    if (!PyStatus_Exception(status))
        status = PyConfig_SetBytesString(&config, &config.executable, python.c_str());
    if (!PyStatus_Exception(status))
        status = Py_InitializeFromConfig(&config);
    PyConfig_Clear(&config);
    return status;
}

/// The kernels' error functions live there; without it a kernel's message is lost but everything
/// else works.
void preloadTvmFfi()
{
    const PyRef util = PyRef::steal(PyImport_ImportModule("importlib.util"));
    const PyRef spec =
        PyRef::steal(util ? PyObject_CallMethod(util.get(), "find_spec", "s", "tvm_ffi") : nullptr);
    const PyRef origin =
        PyRef::steal(spec ? PyObject_GetAttrString(spec.get(), "origin") : nullptr);
    PyErr_Clear();
    const std::string init = textOf(origin.get());
    const std::string folder =
        init.substr(0, init.rfind('/') == std::string::npos ? 0 : init.rfind('/'));
    dlopen((folder + "/lib/libtvm_ffi.so").c_str(), RTLD_NOW | RTLD_GLOBAL);
}

Result<void> addRuntimeModules()
{
    for (const PythonModule& own : runtimeModules()) {
        const PyRef code = PyRef::steal(Py_CompileString(own.source, "<lathe>", Py_file_input));
        const PyRef module =
            PyRef::steal(code ? PyImport_ExecCodeModule(own.name, code.get()) : nullptr);
        if (!module)
            return fail(ErrorCode::Internal,
                        std::string("The arm's module ") + own.name + " failed: " + pendingError());
    }
    return {};
}

} // namespace

Result<Versions> startInterpreter(const std::string& python)
{
    if (access(python.c_str(), X_OK) != 0)
        return fail(ErrorCode::NotFound, "There is no Python interpreter at " + python + ".");
    const PyStatus status = initialise(python);
    if (PyStatus_Exception(status))
        return fail(ErrorCode::Unsupported,
                    std::string("Python could not start: ")
                        + (status.err_msg ? status.err_msg : "unknown error"));
    Versions versions;
    const PyRef torch = PyRef::steal(PyImport_ImportModule("torch"));
    if (!torch)
        return fail(ErrorCode::Unsupported,
                    "torch could not be imported with " + python + ": " + pendingError());
    const PyRef version = PyRef::steal(PyObject_GetAttrString(torch.get(), "__version__"));
    const PyRef text = PyRef::steal(version ? PyObject_Str(version.get()) : nullptr);
    versions.torch = textOf(text.get());
    versions.python =
        std::string(Py_GetVersion()).substr(0, std::string(Py_GetVersion()).find(' '));
    PyErr_Clear();
    preloadTvmFfi();
    if (auto added = addRuntimeModules(); !added)
        return tl::unexpected(added.error());
    return versions;
}

void dumpStackOnFatalSignals()
{
    const PyRef handler = PyRef::steal(PyImport_ImportModule("faulthandler"));
    const PyRef done =
        PyRef::steal(handler ? PyObject_CallMethod(handler.get(), "enable", "i", 2) : nullptr);
    PyErr_Clear();
}

int forkInterpreter()
{
    PyOS_BeforeFork();
    const int pid = fork();
    if (pid == 0)
        PyOS_AfterFork_Child();
    else
        PyOS_AfterFork_Parent();
    return pid;
}

} // namespace lathe::arm
