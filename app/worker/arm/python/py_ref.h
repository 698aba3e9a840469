// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string>
#include <utility>

namespace lathe::arm {

/// Owns one reference to a Python object. Every use needs the GIL.
class PyRef
{
public:
    PyRef() = default;
    static PyRef steal(PyObject* object) { return PyRef(object); }
    static PyRef borrow(PyObject* object)
    {
        Py_XINCREF(object);
        return PyRef(object);
    }
    PyRef(const PyRef& other)
        : m_object(other.m_object)
    {
        Py_XINCREF(m_object);
    }
    PyRef(PyRef&& other) noexcept
        : m_object(std::exchange(other.m_object, nullptr))
    {}
    PyRef& operator=(PyRef other) noexcept
    {
        std::swap(m_object, other.m_object);
        return *this;
    }
    ~PyRef() { Py_XDECREF(m_object); }
    [[nodiscard]] PyObject* get() const { return m_object; }
    [[nodiscard]] PyObject* release() { return std::exchange(m_object, nullptr); }
    explicit operator bool() const { return m_object != nullptr; }

private:
    explicit PyRef(PyObject* object)
        : m_object(object)
    {}
    PyObject* m_object = nullptr;
};

/// The text of a str; empty (and no Python error) for anything else.
inline std::string textOf(PyObject* object)
{
    Py_ssize_t size = 0;
    const char* text =
        object && PyUnicode_Check(object) ? PyUnicode_AsUTF8AndSize(object, &size) : nullptr;
    if (!text) {
        PyErr_Clear();
        return {};
    }
    return {text, static_cast<std::size_t>(size)};
}

} // namespace lathe::arm
