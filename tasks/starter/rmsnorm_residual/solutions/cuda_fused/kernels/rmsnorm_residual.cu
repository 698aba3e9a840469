// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// h = x + residual; y = rmsnorm(h) * weight, one block a row, every operand moved once: 16-byte
// accesses, all loads of a thread in flight before the first use, the row kept in registers between
// the two halves. Rows that are not whole 16-byte vectors, or too long for the registers, go
// through shared memory element by element.
#include <lathe/kernel.h>

#include <cuda_runtime.h>

#include <cstdint>

namespace {

constexpr int kMaxThreads = 1024;

/// Sum over the block, the same in every thread. One call a kernel: the scratch is not reused.
__device__ float blockSum(float value)
{
    __shared__ float partial[kMaxThreads / 32];
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    if (threadIdx.x % 32 == 0)
        partial[threadIdx.x / 32] = value;
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x) / 32;
    value = static_cast<int>(threadIdx.x % 32) < warps ? partial[threadIdx.x % 32] : 0.0f;
    for (int offset = 16; offset > 0; offset /= 2)
        value += __shfl_xor_sync(0xffffffffu, value, offset);
    return value;
}

__device__ float lowHalf(std::uint32_t word)
{
    return __uint_as_float(word << 16);
}
__device__ float highHalf(std::uint32_t word)
{
    return __uint_as_float(word & 0xffff0000u);
}

/// Two floats rounded to nearest even, the first in the low half.
__device__ std::uint32_t packBfloat(float low, float high)
{
    std::uint32_t word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

struct Bfloat
{
    using Element = std::uint16_t;
    static constexpr int kPerVector = 8;
    static __device__ void unpack(uint4 vector, float* values)
    {
        const std::uint32_t words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            values[2 * i] = lowHalf(words[i]);
            values[2 * i + 1] = highHalf(words[i]);
        }
    }
    static __device__ uint4 pack(const float* values)
    {
        return make_uint4(packBfloat(values[0], values[1]),
                          packBfloat(values[2], values[3]),
                          packBfloat(values[4], values[5]),
                          packBfloat(values[6], values[7]));
    }
    static __device__ float toFloat(Element element)
    {
        return __uint_as_float(std::uint32_t{element} << 16);
    }
    static __device__ Element fromFloat(float value)
    {
        return static_cast<Element>(packBfloat(value, 0.0f));
    }
};

struct Float
{
    using Element = float;
    static constexpr int kPerVector = 4;
    static __device__ void unpack(uint4 vector, float* values)
    {
        values[0] = __uint_as_float(vector.x);
        values[1] = __uint_as_float(vector.y);
        values[2] = __uint_as_float(vector.z);
        values[3] = __uint_as_float(vector.w);
    }
    static __device__ uint4 pack(const float* values)
    {
        return make_uint4(__float_as_uint(values[0]),
                          __float_as_uint(values[1]),
                          __float_as_uint(values[2]),
                          __float_as_uint(values[3]));
    }
    static __device__ float toFloat(Element element) { return element; }
    static __device__ Element fromFloat(float value) { return value; }
};

/// Row in registers: kVectors vectors a thread. vectors: 16-byte vectors in a row.
template <class Kind, int kVectors>
__global__ void __launch_bounds__(kMaxThreads)
    rmsnormResidualVector(const uint4* __restrict__ x,
                          const uint4* __restrict__ residual,
                          const uint4* __restrict__ weight,
                          uint4* __restrict__ y,
                          uint4* __restrict__ h,
                          int vectors,
                          float inverseWidth,
                          float eps)
{
    constexpr int kPer = Kind::kPerVector;
    const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * vectors;
    uint4 left[kVectors], right[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const int at = static_cast<int>(threadIdx.x) + v * static_cast<int>(blockDim.x);
        left[v] = right[v] = make_uint4(0, 0, 0, 0);
        if (at < vectors) {
            left[v] = x[base + at];
            right[v] = residual[base + at];
        }
    }
    float sum = 0;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        float a[kPer], b[kPer];
        Kind::unpack(left[v], a);
        Kind::unpack(right[v], b);
#pragma unroll
        for (int i = 0; i < kPer; ++i)
            a[i] += b[i];
        left[v] = Kind::pack(a); // the reference normalises the rounded sum
        Kind::unpack(left[v], a);
#pragma unroll
        for (int i = 0; i < kPer; ++i)
            sum += a[i] * a[i];
        const int at = static_cast<int>(threadIdx.x) + v * static_cast<int>(blockDim.x);
        if (at < vectors)
            h[base + at] = left[v];
    }
    const float scale = rsqrtf(blockSum(sum) * inverseWidth + eps);
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
        const int at = static_cast<int>(threadIdx.x) + v * static_cast<int>(blockDim.x);
        if (at < vectors) {
            float a[kPer], w[kPer];
            Kind::unpack(left[v], a);
            Kind::unpack(weight[at], w);
#pragma unroll
            for (int i = 0; i < kPer; ++i)
                a[i] = a[i] * scale * w[i];
            y[base + at] = Kind::pack(a);
        }
    }
}

/// Any width: one element a thread and step. row holds the sums when they fit (kKeep), else h is
/// read back.
template <class Kind, bool kKeep>
__global__ void __launch_bounds__(kMaxThreads)
    rmsnormResidualScalar(const typename Kind::Element* __restrict__ x,
                          const typename Kind::Element* __restrict__ residual,
                          const typename Kind::Element* __restrict__ weight,
                          typename Kind::Element* __restrict__ y,
                          typename Kind::Element* h,
                          int width,
                          float inverseWidth,
                          float eps)
{
    extern __shared__ float row[];
    const std::int64_t base = static_cast<std::int64_t>(blockIdx.x) * width;
    float sum = 0;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < width; i += static_cast<int>(blockDim.x)) {
        const auto rounded =
            Kind::fromFloat(Kind::toFloat(x[base + i]) + Kind::toFloat(residual[base + i]));
        const float value = Kind::toFloat(rounded);
        h[base + i] = rounded;
        if (kKeep)
            row[i] = value;
        sum += value * value;
    }
    const float scale = rsqrtf(blockSum(sum) * inverseWidth + eps);
    // Every thread reads back only what it wrote itself.
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < width; i += static_cast<int>(blockDim.x)) {
        const float value = kKeep ? row[i] : Kind::toFloat(h[base + i]);
        y[base + i] = Kind::fromFloat(value * scale * Kind::toFloat(weight[i]));
    }
}

struct Operands
{
    const void* x;
    const void* residual;
    const void* weight;
    void* y;
    void* h;
    std::int64_t rows;
    int width;
    float eps;
    cudaStream_t stream;
};

template <class Kind, int kVectors>
void launchVector(const Operands& o, int vectors)
{
    const int threads = ((vectors + kVectors - 1) / kVectors + 31) / 32 * 32;
    rmsnormResidualVector<Kind, kVectors><<<static_cast<unsigned>(o.rows), threads, 0, o.stream>>>(
        static_cast<const uint4*>(o.x),
        static_cast<const uint4*>(o.residual),
        static_cast<const uint4*>(o.weight),
        static_cast<uint4*>(o.y),
        static_cast<uint4*>(o.h),
        vectors,
        1.0f / static_cast<float>(o.width),
        o.eps);
}

template <class Kind, bool kKeep>
void launchScalar(const Operands& o)
{
    using Element = typename Kind::Element;
    const int threads = o.width >= kMaxThreads ? 512 : (o.width + 31) / 32 * 32;
    const std::size_t shared = kKeep ? static_cast<std::size_t>(o.width) * sizeof(float) : 0;
    rmsnormResidualScalar<Kind, kKeep>
        <<<static_cast<unsigned>(o.rows), threads, shared, o.stream>>>(
            static_cast<const Element*>(o.x),
            static_cast<const Element*>(o.residual),
            static_cast<const Element*>(o.weight),
            static_cast<Element*>(o.y),
            static_cast<Element*>(o.h),
            o.width,
            1.0f / static_cast<float>(o.width),
            o.eps);
}

bool aligned(const void* pointer)
{
    return reinterpret_cast<std::uintptr_t>(pointer) % sizeof(uint4) == 0;
}

template <class Kind>
void normalise(const Operands& o)
{
    const bool whole = o.width % Kind::kPerVector == 0 && aligned(o.x) && aligned(o.residual)
                       && aligned(o.weight) && aligned(o.y) && aligned(o.h);
    const int vectors = o.width / Kind::kPerVector;
    // 128 to 512 threads a block leave room for several blocks a multiprocessor.
    if (whole && vectors <= 512)
        launchVector<Kind, 1>(o, vectors);
    else if (whole && vectors <= 1024)
        launchVector<Kind, 2>(o, vectors);
    else if (whole && vectors <= 4096)
        launchVector<Kind, 4>(o, vectors);
    else if (o.width <= 8192)
        launchScalar<Kind, true>(o);
    else
        launchScalar<Kind, false>(o);
}

void rmsnormResidual(const lathe::Tensor& x,
                     const lathe::Tensor& residual,
                     const lathe::Tensor& weight,
                     const lathe::Tensor& y,
                     const lathe::Tensor& h,
                     double eps)
{
    lathe::check(x.ndim() >= 1 && weight.ndim() == 1 && x.size(x.ndim() - 1) == weight.size(0),
                 "rmsnorm_residual: the weight must be as long as the last dimension of x");
    for (const lathe::Tensor* other : {&residual, &y, &h})
        lathe::check(other->numel() == x.numel(),
                     "rmsnorm_residual: x, residual, y and h must have the same shape");
    for (const lathe::Tensor* tensor : {&x, &residual, &weight, &y, &h})
        lathe::check(
            tensor->isCuda() && tensor->isContiguous() && tensor->dtype() == x.dtype(),
            "rmsnorm_residual: every tensor must be contiguous, on the GPU and of the dtype of x");
    lathe::check(x.dtype() == lathe::DType::BFloat16 || x.dtype() == lathe::DType::Float32,
                 "rmsnorm_residual: only bfloat16 and float32 are supported");
    if (x.numel() == 0)
        return;
    const std::int64_t width = weight.size(0);
    const std::int64_t rows = x.numel() / width;
    lathe::check(width <= INT32_MAX && rows <= INT32_MAX,
                 "rmsnorm_residual: too many rows or columns");
    const Operands operands{x.data<void>(),
                            residual.data<void>(),
                            weight.data<void>(),
                            y.data<void>(),
                            h.data<void>(),
                            rows,
                            static_cast<int>(width),
                            static_cast<float>(eps),
                            lathe::cudaStream(x)};
    if (x.dtype() == lathe::DType::BFloat16)
        normalise<Bfloat>(operands);
    else
        normalise<Float>(operands);
    const cudaError_t error = cudaGetLastError();
    lathe::check(error == cudaSuccess, cudaGetErrorString(error));
}

} // namespace

LATHE_EXPORT(rmsnorm_residual, rmsnormResidual)
