// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "python/values.h"

#include "python/tensor_bridge.h"

#include <lathe/base/text.h>

#include <cstdint>

namespace lathe::arm {
namespace {

using protocol::ArmValue;
using Kind = ArmValue::Kind;

constexpr int kMaxDepth = 30; // the wire allows 32

tl::unexpected<Error> unusable(std::string what)
{
    return fail(ErrorCode::Unsupported, std::move(what));
}

Result<ArmValue> takeSequence(PyObject* object, std::vector<PyRef>& tensors, int depth)
{
    ArmValue value;
    value.kind = PyTuple_Check(object) ? Kind::Tuple : Kind::List;
    const PyRef fast = PyRef::steal(PySequence_Fast(object, "a sequence"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(fast.get()); ++i) {
        auto item = takeApart(PySequence_Fast_GET_ITEM(fast.get(), i), tensors, depth + 1);
        if (!item)
            return item;
        value.items.push_back(std::move(*item));
    }
    return value;
}

Result<ArmValue> takeDict(PyObject* object, std::vector<PyRef>& tensors, int depth)
{
    ArmValue value;
    value.kind = Kind::Dict;
    PyObject *key = nullptr, *item = nullptr;
    Py_ssize_t position = 0;
    while (PyDict_Next(object, &position, &key, &item)) {
        for (PyObject* part : {key, item}) {
            auto taken = takeApart(part, tensors, depth + 1);
            if (!taken)
                return taken;
            value.items.push_back(std::move(*taken));
        }
    }
    return value;
}

Result<PyRef> buildItems(const ArmValue& value, const std::vector<PyRef>& tensors)
{
    if (value.kind == Kind::Dict) {
        PyRef dict = PyRef::steal(PyDict_New());
        for (std::size_t i = 0; i + 1 < value.items.size(); i += 2) {
            auto key = buildValue(value.items[i], tensors);
            auto item = buildValue(value.items[i + 1], tensors);
            if (!key || !item)
                return key ? item : key;
            if (PyDict_SetItem(dict.get(), key->get(), item->get()) != 0) {
                PyErr_Clear();
                return unusable("a dictionary key cannot be hashed");
            }
        }
        return dict;
    }
    const auto size = static_cast<Py_ssize_t>(value.items.size());
    PyRef sequence = PyRef::steal(value.kind == Kind::Tuple ? PyTuple_New(size) : PyList_New(size));
    for (Py_ssize_t i = 0; i < size; ++i) {
        auto item = buildValue(value.items[static_cast<std::size_t>(i)], tensors);
        if (!item)
            return item;
        if (value.kind == Kind::Tuple)
            PyTuple_SET_ITEM(sequence.get(), i, item->release());
        else
            PyList_SET_ITEM(sequence.get(), i, item->release());
    }
    return sequence;
}

} // namespace

Result<ArmValue> takeApart(PyObject* object, std::vector<PyRef>& tensors, int depth)
{
    if (depth > kMaxDepth)
        return unusable("is nested too deeply");
    ArmValue value;
    if (object == Py_None)
        return value;
    if (isTensor(object)) {
        value.kind = Kind::TensorRef;
        value.integer = static_cast<std::int64_t>(tensors.size());
        tensors.push_back(PyRef::borrow(object));
        return value;
    }
    if (PyBool_Check(object)) {
        value.kind = Kind::Bool;
        value.integer = object == Py_True ? 1 : 0;
        return value;
    }
    if (PyLong_Check(object)) {
        int overflow = 0;
        value.kind = Kind::Int;
        value.integer = PyLong_AsLongLongAndOverflow(object, &overflow);
        return overflow == 0 ? Result<ArmValue>(value)
                             : unusable("holds an int of more than 64 bits");
    }
    if (PyFloat_Check(object)) {
        value.kind = Kind::Float;
        value.real = PyFloat_AS_DOUBLE(object);
        return value;
    }
    if (PyUnicode_Check(object)) {
        value.kind = Kind::String;
        value.text = textOf(object);
        return value;
    }
    if (PyTuple_Check(object) || PyList_Check(object))
        return takeSequence(object, tensors, depth);
    if (PyDict_Check(object))
        return takeDict(object, tensors, depth);
    return unusable(std::string("holds a ") + toValidUtf8(Py_TYPE(object)->tp_name)
                    + ", which is neither a tensor nor a plain value");
}

Result<PyRef> buildValue(const ArmValue& value, const std::vector<PyRef>& tensors)
{
    switch (value.kind) {
    case Kind::None:
        return PyRef::borrow(Py_None);
    case Kind::Bool:
        return PyRef::borrow(value.integer ? Py_True : Py_False);
    case Kind::Int:
        return PyRef::steal(PyLong_FromLongLong(value.integer));
    case Kind::Float:
        return PyRef::steal(PyFloat_FromDouble(value.real));
    case Kind::String:
        return PyRef::steal(PyUnicode_DecodeUTF8(
            value.text.data(), static_cast<Py_ssize_t>(value.text.size()), "replace"));
    case Kind::TensorRef:
        if (value.integer < 0 || static_cast<std::size_t>(value.integer) >= tensors.size())
            return unusable("an argument refers to tensor " + std::to_string(value.integer)
                            + ", which is not there");
        return tensors[static_cast<std::size_t>(value.integer)];
    case Kind::Tuple:
    case Kind::List:
    case Kind::Dict:
        return buildItems(value, tensors);
    }
    return unusable("an argument has an unknown kind");
}

} // namespace lathe::arm
