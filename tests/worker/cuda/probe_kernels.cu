// SPDX-FileCopyrightText: the Lathe authors
// SPDX-License-Identifier: Apache-2.0
//
// What the probe runs on memory that another process owns.

/// out = 2 * in + 1, 16 bytes a thread.
extern "C" __global__ void probeScale(const float4* in, float4* out, unsigned long long vectors)
{
    const unsigned long long i =
        static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < vectors) {
        const float4 v = in[i];
        out[i] = make_float4(2 * v.x + 1, 2 * v.y + 1, 2 * v.z + 1, 2 * v.w + 1);
    }
}

/// Writes where it should only read.
extern "C" __global__ void probeOverwrite(float4* in)
{
    in[threadIdx.x] = make_float4(7, 7, 7, 7);
}

/// Never ends.
extern "C" __global__ void probeHang(volatile unsigned* flag)
{
    while (flag[0] != 0xffffffffu) {
    }
}
