// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lathe::arm {

/// The text of runtime.py.
const char* runtimeSource();

} // namespace lathe::arm
