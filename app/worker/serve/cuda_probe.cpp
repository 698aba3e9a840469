// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include "cuda_probe.h"

#include <array>
#include <dlfcn.h>
#include <memory>

namespace lathe::worker {
namespace {

// The driver's ABI as its documentation fixes it; the header is not needed for six calls.
constexpr int kAttributeMajor = 75;
constexpr int kAttributeMinor = 76;

template <class Function>
Function symbol(void* library, const char* name)
{
    return reinterpret_cast<Function>(::dlsym(library, name));
}

} // namespace

CudaProbe probeCuda()
{
    CudaProbe probe;
    void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        probe.problem = "no CUDA driver (libcuda.so.1)";
        return probe;
    }
    const auto init = symbol<int (*)(unsigned)>(library, "cuInit");
    const auto version = symbol<int (*)(int*)>(library, "cuDriverGetVersion");
    const auto count = symbol<int (*)(int*)>(library, "cuDeviceGetCount");
    const auto get = symbol<int (*)(int*, int)>(library, "cuDeviceGet");
    const auto name = symbol<int (*)(char*, int, int)>(library, "cuDeviceGetName");
    const auto attribute = symbol<int (*)(int*, int, int)>(library, "cuDeviceGetAttribute");
    if (init == nullptr || version == nullptr || count == nullptr || get == nullptr
        || name == nullptr || attribute == nullptr) {
        probe.problem = "libcuda.so.1 is not a CUDA driver";
        return probe;
    }
    int number = 0;
    if (version(&number) == 0) {
        probe.driver =
            "CUDA " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    }
    int devices = 0;
    if (const int error = init(0); error != 0) {
        probe.problem = "the CUDA driver does not start (error " + std::to_string(error) + ")";
        return probe;
    }
    if (count(&devices) != 0 || devices == 0) {
        probe.problem = "the CUDA driver finds no device";
        return probe;
    }
    for (int i = 0; i < devices; ++i) {
        int device = 0;
        std::array<char, 256> text = {};
        if (get(&device, i) == 0
            && name(text.data(), static_cast<int>(text.size()) - 1, device) == 0) {
            probe.devices.emplace_back(text.data());
            int major = 0;
            int minor = 0;
            if (i == 0 && attribute(&major, kAttributeMajor, device) == 0
                && attribute(&minor, kAttributeMinor, device) == 0) {
                probe.architecture = std::to_string(major * 10 + minor);
            }
        }
    }
    return probe; // the library stays loaded: the driver does not like to be unloaded
}

} // namespace lathe::worker
