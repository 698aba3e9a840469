// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python/py_failure.h"

#include <lathe/base/text.h>

namespace lathe::arm {
namespace {

constexpr std::size_t kMaxTraceback = 24 * 1024;
constexpr std::size_t kMaxSentence = 1000;

} // namespace

Failure takePythonFailure(PyObject* host, const std::string& stage)
{
    PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    const PyRef typeRef = PyRef::steal(type), valueRef = PyRef::steal(value),
                traceRef = PyRef::steal(trace);
    if (value && trace)
        PyException_SetTraceback(value, trace);

    Failure result{stage, "an unknown Python exception", {}, 0, {}};
    if (!value)
        return result;
    const PyRef told =
        host ? PyRef::steal(PyObject_CallMethod(host, "describe", "O", value)) : PyRef();
    if (told && PyTuple_Check(told.get()) && PyTuple_GET_SIZE(told.get()) == 5) {
        if (result.stage.empty())
            result.stage = textOf(PyTuple_GET_ITEM(told.get(), 0));
        result.sentence = textOf(PyTuple_GET_ITEM(told.get(), 1));
        result.traceback = textOf(PyTuple_GET_ITEM(told.get(), 2));
        result.line = static_cast<int>(PyLong_AsLong(PyTuple_GET_ITEM(told.get(), 3)));
        result.file = textOf(PyTuple_GET_ITEM(told.get(), 4));
    } else {
        // The candidate may have broken what describe() needs; the exception's own text is still
        // there.
        PyErr_Clear();
        const PyRef text = PyRef::steal(PyObject_Str(value));
        result.sentence = std::string(Py_TYPE(value)->tp_name) + ": " + textOf(text.get());
    }
    PyErr_Clear();
    result.sentence = headAndTail(toValidUtf8(result.sentence), kMaxSentence);
    result.traceback = headAndTail(toValidUtf8(result.traceback), kMaxTraceback);
    return result;
}

} // namespace lathe::arm
