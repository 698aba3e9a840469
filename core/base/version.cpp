// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/version.h>

namespace lathe {
const char* version()
{
    return LATHE_VERSION;
}
} // namespace lathe
