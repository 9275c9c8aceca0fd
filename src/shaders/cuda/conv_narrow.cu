// SPDX-License-Identifier: Apache-2.0
/* As conv_halo.cu, for at most eight output channels: pixels are the lines of A of wgmma, at shifted addresses for each
 * tap, filters the eight columns of B, in shared memory too. */
#include "shaders/cuda/conv_halo.cuh"

#define STEPS   (9 * CHUNKS / 2)
#define FILTERS (9 * CHUNKS * 128) /* bytes: of each tap and chunk eight channels' 16 */

extern __shared__ __align__(128) unsigned char shared_memory[];

DI void wgmma(float (&d)[4], u64 a, u64 b)
{
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;\n"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
}

DI void stage_filters(const conv_meta_params &p, u32 to)
{
    for (int i = threadIdx.x; i < 9 * CHUNKS * 8; i += THREADS) {
        const u32 channel = i % 8, chunk = i / 8 % CHUNKS, tap = i / 8 / CHUNKS;
        const bool there = channel < p.n && chunk * 8 < p.by_channels.size;
        const __half *from = (const __half *)p.w;
        if (there)
            from += (size_t)channel * p.w_out + (int)tap * p.w_column + (int)chunk * 8;
        copy16(to + i * 16, from, there);
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
}

/* Of a thread: number i of its four results in each half of the tile is pixel i / 2 and channel i % 2 of these. */
struct results {
    int row, column, channel;
};

DI bool is_there(const conv_meta_params &p, const place &at, const results &r, int half, int i)
{
    return at.top + half * 8 + r.row + i / 2 < p.out_height && at.left + r.column < p.out_width &&
           r.channel + i % 2 < (int)p.n;
}

/* What the epilogue adds, loaded before the sums are there. */
DI void load_residual(const conv_meta_params &p, const place &at, const results &r, __half (&v)[2][4])
{
    const __half *from = (const __half *)p.epilogue.operands[p.residual - 1] + (size_t)at.image * p.r_image +
                         ((int)at.top + r.row) * p.r_row + ((int)at.left + r.column) * p.r_column + r.channel * p.r_channel;
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (is_there(p, at, r, i / 4, i % 4))
            v[i / 4][i % 4] = from[(i / 4 * 8 + i % 4 / 2) * p.r_row + i % 2 * p.r_channel];
}

DI void store(const conv_meta_params &p, const place &at, const results &r, const float (&sums)[2][4],
              const __half (&residual)[2][4])
{
    const u32 least = pack(p.low, p.low);
    unsigned short *y = (unsigned short *)p.y + ((size_t)at.image * p.y_image + ((int)at.top + r.row) * p.y_row +
                                                 ((int)at.left + r.column) * p.y_column + r.channel * p.y_channel);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float v = sums[i / 4][i % 4];
        if (p.residual)
            v += __half2float(residual[i / 4][i % 4]);
        u32 bits = pack(v, 0.0f);
        asm("max.NaN.f16x2 %0, %0, %1;" : "+r"(bits) : "r"(least));
        if (is_there(p, at, r, i / 4, i % 4))
            y[(i / 4 * 8 + i % 4 / 2) * p.y_row + i % 2 * p.y_channel] = (unsigned short)bits;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const int group = threadIdx.x / 128, thread = threadIdx.x % 128, lane = threadIdx.x % 32;
    const u32 stride = gridDim.x * GROUPS, filters = (u32)__cvta_generic_to_shared(shared_memory);
    const u32 here = filters + FILTERS + group * CHUNKS * CHUNK;
    const results r = { thread / 32 * 2, lane / 4, lane % 4 * 2 };
    u32 tile = blockIdx.x * GROUPS + group;
    stage_filters(p, filters);
    if (tile >= p.tiles)
        return;
    place at = place_of(p, tile);
    fetch(p, at, here, thread);
    float bias[2] = { 0, 0 };
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (p.bias && r.channel + i < (int)p.n)
            bias[i] = __half2float(((const __half *)p.bias)[(r.channel + i) * p.bias_step]);
    for (;;) {
        float sums[2][4];
        __half residual[2][4] = {};
#pragma unroll
        for (int i = 0; i < 8; i++)
            sums[i / 4][i % 4] = bias[i % 2];
        if (p.residual)
            load_residual(p, at, r, residual);
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int s = 0; s < STEPS; s++) {
            const int tap = s / (CHUNKS / 2), c = s % (CHUNKS / 2) * 2;
            const u32 from = here + c * CHUNK + (tap / 3 * WIDTH + tap % 3) * 16;
            const u64 shape = (u64)(CHUNK >> 4) << 16 | (u64)(WIDTH) << 32;
            const u64 b = (u64)(filters + (tap * CHUNKS + c) * 128 >> 4) | (u64)(128 >> 4) << 16 | (u64)(128 >> 4) << 32;
            wgmma(sums[0], (u64)(from >> 4) | shape, b);
            wgmma(sums[1], (u64)(from + 8 * WIDTH * 16 >> 4) | shape, b);
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
        store(p, done, r, sums, residual);
        if (tile >= p.tiles)
            break;
    }
}
