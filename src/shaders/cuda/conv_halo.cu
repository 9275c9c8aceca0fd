// SPDX-License-Identifier: Apache-2.0
/* Convolutions of many pixels with windows of 3 x 3, steps of 1 and few input channels, 8 x CHUNKS, with wgmma: W^T, 64
 * output channels, stays in the registers of each warpgroup, X comes into shared memory once, with a border, and the
 * nine taps read it at shifted addresses. A warpgroup's tile has 8 x ROWS pixels; while one of them multiplies the
 * others store their results and wait for their next pixels. */
#include "shaders/cuda/conv_halo.cuh"

#define STEPS (9 * CHUNKS / 2)
#define FILTER   (5 * CHUNKS * 16 + 16) /* bytes of a channel's five taps */

extern __shared__ __align__(128) unsigned char shared_memory[];

#include "shaders/cuda/conv_wgmma.cuh"

/* Taps first to first + TAPS of 64 channels' filters into shared memory, by all threads. */
template <int TAPS> DI void stage_filters(const conv_meta_params &p, u32 channels, u32 to, int first)
{
#pragma unroll
    for (int i = threadIdx.x; i < 64 * TAPS * CHUNKS; i += THREADS) {
        const u32 chunk = i % CHUNKS, tap = i / CHUNKS % TAPS, channel = i / CHUNKS / TAPS;
        const bool there = channels + channel < p.n && chunk * 8 < p.by_channels.size;
        const __half *from = there ? (const __half *)p.w + (size_t)(channels + channel) * p.w_out +
                                         (first + (int)tap) * p.w_column + (int)chunk * 8
                                   : (const __half *)p.w;
        copy16(to + channel * FILTER + (tap * CHUNKS + chunk) * 16, from, there);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
}

/* Fragments of the filters of 16 channels a warp. */
template <int TAPS> DI void load_filters(u32 from, int first, int lane, u32 (&w)[STEPS][4])
{
    from += lane % 16 * FILTER + lane / 16 * 16;
#pragma unroll
    for (int i = 0; i < TAPS * CHUNKS / 2; i++) {
        u32 *const to = w[first * CHUNKS / 2 + i];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]) : "r"(from + i * 32) : "memory");
    }
    __syncthreads();
}

DI u32 transpose(u32 v)
{
    u32 r;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(v));
    return r;
}

/* What the epilogue adds, element by element. */
DI void add_residual(const conv_meta_params &p, const place &at, float (&sums)[PIXELS / 2], u32 first, int lane)
{
    const u32 channel = first + lane / 4, column = at.left + lane % 4 * 2;
    const __half *r = (const __half *)p.epilogue.operands[p.residual - 1] + (size_t)at.image * p.r_image +
                      (int)channel * p.r_channel + (int)at.top * p.r_row + (int)column * p.r_column;
#pragma unroll
    for (int j = 0; j < ROWS; j++)
#pragma unroll
        for (int i = 0; i < 4; i++)
            if (at.top + j < p.out_height && column + i % 2 < p.out_width && channel + i / 2 * 8 < p.n)
                sums[j * 4 + i] += __half2float(r[j * p.r_row + i % 2 * p.r_column + i / 2 * 8 * p.r_channel]);
}

DI u32 finish(float low, float high, u32 least)
{
    u32 v = pack(low, high);
    asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(v) : "r"(least));
    return transpose(v);
}

DI void store8(const conv_meta_params &p, __half *to, uint4 v, u32 channel)
{
    if (p.wide_y) {
        *(uint4 *)to = v;
        return;
    }
    const u32 words[4] = { v.x, v.y, v.z, v.w };
#pragma unroll
    for (u32 e = 0; e < 8; e++)
        if (channel + e < p.n)
            ((unsigned short *)to)[(int)e * p.y_channel] = (unsigned short)(words[e / 2] >> e % 2 * 16);
}

DI void store(const conv_meta_params &p, const place &at, const float (&sums)[PIXELS / 2], u32 first, int lane)
{
    const u32 channel = first + lane % 2 * 8, least = pack(p.low, p.low);
    const int column = (int)at.left + lane / 4;
    __half *y = (__half *)p.y + (size_t)at.image * p.y_image + column * p.y_column + (int)channel * p.y_channel;
#pragma unroll
    for (int j = 0; j < ROWS; j += 2) {
        const float *s = sums + j * 4;
        const uint4 v = exchange(finish(s[0], s[1], least), finish(s[2], s[3], least), finish(s[4], s[5], least),
                                 finish(s[6], s[7], least), lane);
        const u32 row = at.top + j + lane / 2 % 2;
        if (row < p.out_height && column < (int)p.out_width && channel < p.n)
            store8(p, y + (int)row * p.y_row, v, channel);
    }
}

/* Warpgroups take turns with the matrix units: otherwise all of them would multiply, and then all of them load. */
DI void await_turn(int group)
{
    asm volatile("bar.sync %0, 256;" ::"r"(GROUPS + 1 + group) : "memory");
}

DI void pass_turn(int group)
{
    asm volatile("bar.arrive %0, 256;" ::"r"(GROUPS + 1 + group) : "memory");
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128, lane = threadIdx.x % 32;
    const u32 blocks = (p.n + 63) / 64, block = blockIdx.x % blocks, first = block * 64 + thread / 32 * 16;
    const u32 stride = gridDim.x / blocks * GROUPS, shared = (u32)__cvta_generic_to_shared(shared_memory);
    const u32 here = shared + group * CHUNKS * CHUNK, filters = shared + thread / 32 * 16 * FILTER;
    u32 tile = blockIdx.x / blocks * GROUPS + group, w[STEPS][4];
    if (blockIdx.x / blocks * GROUPS >= min(stride, p.tiles))
        return;
    stage_filters<5>(p, block * 64, shared, 0);
    load_filters<5>(filters, 0, lane, w);
    stage_filters<4>(p, block * 64, shared, 5);
    load_filters<4>(filters, 5, lane, w);
    if (group == GROUPS - 1)
        pass_turn(0);
    if (tile >= p.tiles)
        return;
    place at = place_of(p, tile);
    fetch(p, at, here, thread);
    float bias[2] = { 0, 0 };
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.bias && first + lane / 4 + i * 8 < p.n)
            bias[i] = __half2float(((const __half *)p.bias)[(int)(first + lane / 4 + i * 8) * p.bias_step]);
    for (;;) {
        float sums[PIXELS / 2];
#pragma unroll
        for (int i = 0; i < PIXELS / 2; i++)
            sums[i] = bias[i >> 1 & 1];
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        await_turn(group);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const int tap = s / (CHUNKS / 2), c = s % (CHUNKS / 2) * 2;
            const u32 from = here + c * CHUNK + (tap / 3 * WIDTH + tap % 3) * 16;
            wgmma(sums, w[s], (u64)(from >> 4) | (u64)(CHUNK >> 4) << 16 | (u64)(WIDTH) << 32, 1);
        }
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        pass_turn((group + 1) % GROUPS);
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        const place done = at;
        tile += stride;
        if (tile < p.tiles) {
            at = place_of(p, tile);
            fetch(p, at, here, thread);
        }
        if (p.residual)
            add_residual(p, done, sums, first, lane);
        if (first < p.n)
            store(p, done, sums, first, lane);
        if (tile >= p.tiles)
            break;
    }
}
