// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver_api.h"

#include <lathe/worker/memory.h>

namespace lathe::worker {

/// What buffers need of their device; owned by the CudaDevice, which outlives them.
struct CudaMemoryContext
{
    const cuda::DriverApi& api;
    const cuda::PrimaryContext& context;
    int index;
    CUfunction digest;
};

std::unique_ptr<MemorySpace> makeCudaMemory(const CudaMemoryContext& context);

} // namespace lathe::worker
