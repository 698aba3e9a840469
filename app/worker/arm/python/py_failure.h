// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "failure.h"
#include "python/py_ref.h"

namespace lathe::arm {

/// Takes the pending Python exception (there must be one) and describes it with the host's
/// describe(); stage is used when the host cannot tell. Never leaves an exception pending.
Failure takePythonFailure(PyObject* host, const std::string& stage);

} // namespace lathe::arm
