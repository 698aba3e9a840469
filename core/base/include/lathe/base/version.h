// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lathe {
/// The project's version, e.g. "0.1.0".
const char* version();
} // namespace lathe
