// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// Built where there is no CUDA toolkit, so that the rest of the worker need not ask.
#include <lathe/worker/cuda_device.h>
#include <lathe/worker/memory.h>

namespace lathe::worker {
namespace {

constexpr const char* kWhy =
    "this lathe-worker was built without the CUDA toolkit: install it and build again";

} // namespace

int CudaDevice::count(std::string& why)
{
    why = kWhy;
    return 0;
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(int)
{
    return fail(ErrorCode::Unsupported, kWhy);
}

} // namespace lathe::worker
