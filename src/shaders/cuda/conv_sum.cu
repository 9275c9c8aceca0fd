/* SPDX-License-Identifier: Apache-2.0 */
/* Results of convolutions from the sums that conv_large.cu has of parts of the depth: a thread has eight channels of a
 * pixel, and adds the parts in their order. */
#include "shaders/cuda/conv_finish.cuh"

#define BATCH 4 /* parts on their way at once */

struct part {
    float4 v[2];
};

DI part load_part(const float *from, bool there)
{
    const float4 zero = make_float4(0, 0, 0, 0);
    return { { there ? __ldg((const float4 *)from) : zero, there ? __ldg((const float4 *)from + 1) : zero } };
}

extern "C" __global__ void __launch_bounds__(128) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const u32 number = blockIdx.x * 128 + threadIdx.x, across = p.part_line / 8, pixel = number / across;
    const u32 channel = (number - pixel * across) * 8;
    const u64 apart = (u64)p.m * p.part_line;
    if (pixel >= p.m)
        return;
    const float *from = (const float *)p.parts + (u64)pixel * p.part_line + channel;
    float v[8] = { 0 };
    unit u = {};
    const spot at = spot_of(p, pixel);
    if (p.wide_y) {
        if (p.bias)
            u.bias = *(const uint4 *)((const __half *)p.bias + channel);
        if (p.residual)
            u.residual = load_operands(p, p.residual - 1, at, (int)channel);
        if (p.second)
            u.second = load_operands(p, p.second - 1, at, (int)channel);
    }
#pragma unroll 1
    for (u32 first = 0; first < p.splits; first += BATCH, from += BATCH * apart) {
        part parts[BATCH];
#pragma unroll
        for (u32 i = 0; i < BATCH; i++)
            parts[i] = load_part(from + i * apart, first + i < p.splits);
#pragma unroll
        for (u32 i = 0; i < BATCH; i++) {
            const float4 a = parts[i].v[0], b = parts[i].v[1];
            v[0] += a.x, v[1] += a.y, v[2] += a.z, v[3] += a.w, v[4] += b.x, v[5] += b.y, v[6] += b.z, v[7] += b.w;
        }
    }
    if (p.wide_y) {
        finish(p, v, u, pixel, result_of(p, at) + (int)channel, (int)channel);
        return;
    }
    values<8> sums;
#pragma unroll
    for (int i = 0; i < 8; i++)
        sums.v[i] = v[i];
    store_apart<8, 8>(p, sums, pixel, channel, p.n);
}
