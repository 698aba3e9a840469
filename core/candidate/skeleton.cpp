// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
#include <lathe/base/text.h>
#include <lathe/candidate/candidate.h>

#include <regex>

namespace lathe::candidate {
namespace {

constexpr const char* kCpuKernel = R"(#include <lathe/kernel.h>

#include <cstdint>

// An example to start from: y = factor * x. Outputs are allocated in Python and passed as arguments.
static void scale(lathe::Tensor x, lathe::Tensor y, double factor)
{
    lathe::check(x.isContiguous() && y.isContiguous(), "scale: x and y must be contiguous");
    lathe::check(x.numel() == y.numel(), "scale: x and y must have the same number of elements");
    const float* in = x.data<float>();
    float* out = y.data<float>();
    const std::int64_t n = x.numel();
#pragma omp parallel for simd
    for (std::int64_t i = 0; i < n; ++i) {
        out[i] = static_cast<float>(factor) * in[i];
    }
}
LATHE_EXPORT(scale, scale)
)";

constexpr const char* kCudaKernel = R"(#include <lathe/kernel.h>

#include <cstdint>

// An example to start from: y = factor * x. Outputs are allocated in Python and passed as arguments.
__global__ void scaleKernel(const float* x, float* y, std::int64_t n, float factor)
{
    const std::int64_t i = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = factor * x[i];
    }
}

static void scale(lathe::Tensor x, lathe::Tensor y, double factor)
{
    lathe::check(x.isContiguous() && y.isContiguous(), "scale: x and y must be contiguous");
    lathe::check(x.numel() == y.numel(), "scale: x and y must have the same number of elements");
    const std::int64_t n = x.numel();
    if (n == 0) {
        return;
    }
    const unsigned blocks = static_cast<unsigned>((n + 255) / 256);
    scaleKernel<<<blocks, 256, 0, static_cast<cudaStream_t>(lathe::cudaStream(x))>>>(
        x.data<float>(), y.data<float>(), n, static_cast<float>(factor));
    lathe::check(cudaGetLastError() == cudaSuccess, "scale: the launch failed");
}
LATHE_EXPORT(scale, scale)
)";

constexpr const char* kHead =
    R"(# The reference's code under the name ModelNew: correct, and no faster. Replace what forward does by calls of your own
# kernels: everything exported in kernels/ is a function of the module lathe_native, for example
#     import lathe_native
#     y = torch.empty_like(x)
#     lathe_native.scale(x, y, 2.0)
)";

/// The reference without get_inputs and get_init_inputs, which only the judge calls.
std::string withoutInputs(const std::string& source)
{
    static const std::regex kDrop(R"(^def\s+(get_inputs|get_init_inputs)\s*\(.*)");
    std::vector<std::string> kept;
    bool dropping = false;
    for (const auto& line : splitLines(source)) {
        static constexpr std::string_view kContinues = " \t)]}#0123456789";
        const bool topLevel = !line.empty() && kContinues.find(line[0]) == std::string_view::npos;
        if (topLevel) {
            dropping = std::regex_match(line, kDrop);
        }
        if (!dropping) {
            kept.push_back(line);
        }
    }
    while (!kept.empty() && trimmed(kept.back()).empty()) {
        kept.pop_back();
    }
    return join(kept, "\n") + "\n";
}

} // namespace

protocol::CandidateSpec skeleton(const protocol::TaskSpec& task, const std::string& device)
{
    static const std::regex kModel(R"(\bModel\b)");
    protocol::CandidateSpec spec;
    spec.format = "native";
    const bool cuda = device.starts_with("cuda");
    spec.files.push_back(
        {cuda ? "kernels/kernel.cu" : "kernels/kernel.cpp", cuda ? kCudaKernel : kCpuKernel});
    spec.files.push_back(
        {"model_new.py",
         kHead + std::regex_replace(withoutInputs(task.source), kModel, "ModelNew")});
    return spec;
}

} // namespace lathe::candidate
