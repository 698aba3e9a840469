// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace lathe::worker {

/// What the CUDA driver says without a context: cheap, and harmless where there is none.
struct CudaProbe
{
    std::vector<std::string> devices; ///< names, by index
    std::string architecture;         ///< of the first, as nvcc wants it: "90"; empty: no device
    std::string driver;               ///< "CUDA 13.0"; empty: no driver
    std::string problem;              ///< why there is no device
};

CudaProbe probeCuda();

} // namespace lathe::worker
