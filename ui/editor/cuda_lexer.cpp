// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: GPL-3.0-or-later
#include "cuda_lexer.h"

namespace lathe::ui {

CudaLexer::CudaLexer(QObject* parent)
    : QsciLexerCPP(parent)
{
    setFoldComments(false);
    setFoldPreprocessor(false);
}

const char* CudaLexer::keywords(int set) const
{
    if (set == 1) {
        return "alignas alignof asm auto break case catch class co_await co_return co_yield "
               "concept const "
               "consteval constexpr constinit const_cast continue decltype default delete do "
               "dynamic_cast else "
               "enum explicit export extern false final for friend goto if inline mutable "
               "namespace new "
               "noexcept nullptr operator override private protected public register "
               "reinterpret_cast requires "
               "return sizeof static static_assert static_cast struct switch template this "
               "thread_local throw "
               "true try typedef typeid typename union using virtual volatile while "
               "__global__ __device__ __host__ __shared__ __constant__ __managed__ __restrict__ "
               "__restrict "
               "__launch_bounds__ __forceinline__ __noinline__ __grid_constant__ __cluster_dims__";
    }
    if (set == 2) {
        return "bool char char8_t char16_t char32_t double float int long short signed unsigned "
               "void wchar_t "
               "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t ptrdiff_t "
               "intptr_t "
               "half half2 __half __half2 __nv_bfloat16 __nv_bfloat162 bf16 bfloat16 float2 float3 "
               "float4 "
               "double2 int2 int3 int4 uint2 uint3 uint4 dim3 cudaStream_t cudaError_t "
               "__m128 __m128i __m256 __m256i __m256d __m512 __m512i __m512d __mmask8 __mmask16 "
               "threadIdx blockIdx blockDim gridDim warpSize std vector string array span Tensor";
    }
    return QsciLexerCPP::keywords(set);
}

} // namespace lathe::ui
