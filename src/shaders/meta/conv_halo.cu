// SPDX-License-Identifier: Apache-2.0
/* Convolutions of many pixels with windows of 3 x 3, steps of 1 and at most 64 input channels, with wgmma: W^T, 64
 * output channels, stays in the registers of each warpgroup, X comes into shared memory once, with a border, and the
 * nine taps read it at shifted addresses. A warpgroup's tile has 8 x ROWS pixels; while one of the two multiplies the
 * other stores its results and waits for its next pixels. */
#include <cuda_fp16.h>
#include "shaders/meta/conv_meta_params.h"

#define DI       static __device__ __forceinline__
#define ROWS     16
#define PIXELS   (8 * ROWS)
#define CHUNKS   8 /* of eight channels */
#define STEPS    (9 * CHUNKS / 2)
#define WIDTH    10
#define BORDERED (WIDTH * (ROWS + 2))
#define CHUNK    (BORDERED * 16 + 80) /* bytes; neighbouring chunks use other banks */

extern __shared__ __align__(128) unsigned char shared_memory[];

DI u32 divide(u32 n, const conv_meta_divisor &by)
{
    return (__umulhi(n, by.factor) + n) >> by.shift;
}

#include "shaders/meta/conv_wgmma.cuh"

struct place {
    u32 image, top, left;
};

DI place place_of(const conv_meta_params &p, u32 tile)
{
    place at;
    at.image = divide(tile, p.by_pixels);
    const u32 within = tile - at.image * p.by_pixels.size, row = divide(within, p.by_column);
    at.top = row * ROWS;
    at.left = (within - row * p.by_column.size) * 8;
    return at;
}

DI void fetch(const conv_meta_params &p, const place &at, u32 to, int thread)
{
    const __half *x = (const __half *)p.x + (size_t)at.image * p.x_image + thread % 8 * 8;
    const bool inside = thread % 8 * 8 < (int)p.by_channels.size;
    const int top = (int)at.top - p.pad_y, left = (int)at.left - p.pad_x;
    to += thread % 8 * CHUNK;
#pragma unroll 4
    for (int i = thread / 8; i < BORDERED; i += 16) {
        const int y = i / WIDTH, row = top + y, column = left + i - y * WIDTH;
        const bool there = inside && (u32)row < (u32)p.in_height && (u32)column < (u32)p.in_width;
        const __half *from = there ? x + (row * p.x_row + column * p.x_column) : (const __half *)p.x;
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + i * 16), "l"(from), "r"(there ? 16 : 0) : "memory");
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Fragments of the filters of channels first + lane / 4 and 8 more. */
DI void load_filters(const conv_meta_params &p, u32 first, int lane, u32 (&w)[STEPS][4])
{
#pragma unroll
    for (int s = 0; s < STEPS; s++)
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const u32 channel = first + lane / 4 + (i & 1) * 8, c = s % (CHUNKS / 2) * 16 + (i >> 1) * 8 + lane % 4 * 2;
            w[s][i] = 0;
            if (channel < p.n && c < p.by_channels.size)
                w[s][i] = __ldg((const u32 *)((const __half *)p.w + (size_t)channel * p.w_out + s / (CHUNKS / 2) * p.w_column + c));
        }
}

DI u32 pack(float low, float high)
{
    const __half2 v = __floats2half2_rn(low, high);
    return *(const u32 *)&v;
}

DI u32 transpose(u32 v)
{
    u32 r;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(v));
    return r;
}

/* Lane t of four gets number t of each of them. */
DI uint4 exchange(u32 v0, u32 v1, u32 v2, u32 v3, int lane)
{
    bool odd = lane & 1;
    u32 a = __shfl_xor_sync(~0u, odd ? v0 : v1, 1), b = __shfl_xor_sync(~0u, odd ? v2 : v3, 1);
    if (odd)
        v0 = a, v2 = b;
    else
        v1 = a, v3 = b;
    odd = lane & 2;
    a = __shfl_xor_sync(~0u, odd ? v0 : v2, 2), b = __shfl_xor_sync(~0u, odd ? v1 : v3, 2);
    if (odd)
        v0 = a, v1 = b;
    else
        v2 = a, v3 = b;
    return make_uint4(v0, v1, v2, v3);
}

DI void store(const conv_meta_params &p, const place &at, float (&sums)[PIXELS / 2], u32 first, int lane)
{
    float bias[2] = { 0, 0 };
    const u32 channel = first + lane % 2 * 8;
    const int column = (int)at.left + lane / 4;
    __half *y = (__half *)p.y + (size_t)at.image * p.y_image + column * p.y_column + (int)channel;
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.bias && first + lane / 4 + i * 8 < p.n)
            bias[i] = __half2float(((const __half *)p.bias)[(int)(first + lane / 4 + i * 8) * p.bias_step]);
#pragma unroll
    for (int i = 0; i < PIXELS / 2; i++) {
        const float v = sums[i] + bias[i >> 1 & 1], w = v < p.low ? p.low : v; /* keeps NaN */
        sums[i] = w > p.high ? p.high : w;
    }
#pragma unroll
    for (int j = 0; j < ROWS; j += 2) {
        const float *s = sums + j * 4;
        const uint4 v = exchange(transpose(pack(s[0], s[1])), transpose(pack(s[2], s[3])), transpose(pack(s[4], s[5])),
                                 transpose(pack(s[6], s[7])), lane);
        const u32 row = at.top + j + lane / 2 % 2;
        if (row < p.out_height && column < (int)p.out_width && channel < p.n)
            *(uint4 *)(y + (int)row * p.y_row) = v;
    }
}

extern "C" __global__ void __launch_bounds__(256, 1) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128, lane = threadIdx.x % 32;
    const u32 blocks = (p.n + 63) / 64, block = blockIdx.x % blocks, first = block * 64 + thread / 32 * 16;
    const u32 stride = gridDim.x / blocks * 2, here = (u32)__cvta_generic_to_shared(shared_memory) + group * CHUNKS * CHUNK;
    u32 tile = blockIdx.x / blocks * 2 + group;
    if (tile >= p.tiles || blockIdx.x / blocks * 2 >= stride)
        return;
    place at = place_of(p, tile);
    fetch(p, at, here, thread);
    u32 w[STEPS][4];
    load_filters(p, first, lane, w);
    for (;;) {
        float sums[PIXELS / 2];
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const int tap = s / (CHUNKS / 2), c = s % (CHUNKS / 2) * 2;
            const u32 from = here + c * CHUNK + (tap / 3 * WIDTH + tap % 3) * 16;
            wgmma(sums, w[s], (u64)(from >> 4) | (u64)(CHUNK >> 4) << 16 | (u64)(WIDTH) << 32, s > 0);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        const place done = at;
        tile += stride;
        if (tile < p.tiles) {
            at = place_of(p, tile);
            fetch(p, at, here, thread);
        }
        store(p, done, sums, first, lane);
        if (tile >= p.tiles)
            break;
    }
}
