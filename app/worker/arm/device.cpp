// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <charconv>

namespace lathe::arm {

Result<std::unique_ptr<Device>> makeDevice(const std::string& name)
{
    if (name.empty() || name == "cpu")
        return makeCpuDevice();
    if (name.rfind("cuda:", 0) == 0) {
#ifdef LATHE_ARM_CUDA
        int index = 0;
        const char* const begin = name.data() + 5;
        if (std::from_chars(begin, name.data() + name.size(), index).ec == std::errc())
            return makeCudaDevice(index);
#else
        return fail(
            ErrorCode::Unsupported,
            "This lathe-arm was built without CUDA: install the CUDA toolkit and build it again.");
#endif
    }
    return fail(ErrorCode::InvalidArgument, "There is no device " + name + "; use cpu or cuda:N.");
}

} // namespace lathe::arm
