// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "failure.h"
#include "python/py_ref.h"

#include <lathe/protocol/arm_wire.h>

#include <functional>
#include <vector>

namespace lathe::arm {

/// A Python structure taken apart: its shape, and its tensors in the order of TensorRef.
struct Structure
{
    protocol::ArmValue value;
    std::vector<PyRef> tensors;
};

/// Takes a value apart, appending tensors to the list. Only None, bool, int, float, str, tensors
/// and tuples, lists and dicts of them can travel; the error names anything else.
Result<protocol::ArmValue> takeApart(PyObject* object, std::vector<PyRef>& tensors, int depth = 0);

/// Builds the Python value; TensorRef indexes into tensors. A new reference, or an error for a bad
/// index.
Result<PyRef> buildValue(const protocol::ArmValue& value, const std::vector<PyRef>& tensors);

} // namespace lathe::arm
