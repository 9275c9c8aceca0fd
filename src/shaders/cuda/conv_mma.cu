// SPDX-License-Identifier: Apache-2.0
/* Convolutions at small sizes, with mma.sync: operands go from memory straight into fragments, 16 bytes a lane, and are
 * on their way before anything waits. WK warps of a block each sum a part of the depth. Tile: WM x MT x 16 pixels by
 * NT x 8 channels. */
#include "shaders/cuda/conv_meta.cuh"
#include "shaders/cuda/turn.cuh"

#define THREADS  (32 * WM * WK)
#define BM       (WM * MT * 16)
#define BN       (NT * 8)
#include "shaders/cuda/parts.cuh"

#define UNITS    (BM * BN / 4)             /* four channels of a pixel */
#define UNITS_IN ((UNITS + THREADS - 1) / THREADS) /* of a thread */
#define EARLY    (UNITS <= 4 * THREADS) /* what the epilogue reads is loaded before the sums are there */

extern __shared__ float4 shared_memory[];

DI void multiply(float (&d)[4], u32 a0, u32 a1, u32 a2, u32 a3, u32 b0, u32 b1)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
}

DI float4 unpack4(uint2 v)
{
    const float2 a = unpack(v.x), b = unpack(v.y);
    return make_float4(a.x, a.y, b.x, b.y);
}

struct fragments {
    uint4 a[MT * 2], b[NT];
};

#ifndef GATHER
/* Depth k to k + 7 of this lane, of W and of X. */
DI void load_w(const conv_meta_params &p, const __half *w, const bool (&in)[NT], u32 k, fragments &f)
{
#pragma unroll
    for (int j = 0; j < NT; j++)
        f.b[j] = load16(w + (int)k + j * 8 * p.w_out, k < p.k && in[j]);
}

DI void load_x(const conv_meta_params &p, const window (&r)[MT * 2], u32 k, fragments &f)
{
    const tap t = tap_of(p, k);
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        f.a[i] = load16((const __half *)p.x + (r[i].at + t.offset), k < p.k && is_inside(p, r[i], t));
}
#endif

DI void multiply_all(float (&sums)[MT][NT][4], const fragments &f)
{
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int i = 0; i < MT; i++)
            multiply(sums[i][j], f.a[2 * i].x, f.a[2 * i + 1].x, f.a[2 * i].y, f.a[2 * i + 1].y, f.b[j].x, f.b[j].y);
#pragma unroll
    for (int j = 0; j < NT; j++)
#pragma unroll
        for (int i = 0; i < MT; i++)
            multiply(sums[i][j], f.a[2 * i].z, f.a[2 * i + 1].z, f.a[2 * i].w, f.a[2 * i + 1].w, f.b[j].z, f.b[j].w);
}

DI float4 sum_parts(const float *parts, int at)
{
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < KEPT; i++) {
        const float4 v = *(const float4 *)(parts + i * PART + at);
        sum.x += v.x, sum.y += v.y, sum.z += v.z, sum.w += v.w;
    }
    return sum;
}

/* Four channels of a pixel: where they are in the tile, and among all. */
struct place {
    int row, column;
    u32 pixel, channel;
};

/* What is known before their sums are. */
struct unit {
    int y_at;
    uint2 bias, residual;
};

/* Neighbouring threads have neighbouring channels, or pixels, of which Y has its elements side by side. */
DI place place_of(const conv_meta_params &p, u32 m0, u32 n0, int number)
{
    const bool along = p.y_channel == 1;
    const int row = along ? number / (BN / 4) : number % BM, column = (along ? number % (BN / 4) : number / BM) * 4;
    return { row, column, m0 + row, n0 + column };
}

/* The end of the workgroup's group of channels. */
DI u32 channel_end(const conv_meta_params &p)
{
    return (blockIdx.y + 1) * p.n;
}

DI uint2 load_operands(const conv_meta_params &p, u32 step, const spot &at, u32 channel)
{
    return *(const uint2 *)((const __half *)p.epilogue.operands[step] + (operand_of(p.epilogue.steps[step], at) + (int)channel));
}

/* More than one such step is seldom: a function of its own. */
static __device__ __noinline__ uint2 load_late(const conv_meta_params &p, u32 step, u32 pixel, u32 channel)
{
    return load_operands(p, step, spot_of(p, pixel), channel);
}

DI void prepare(const conv_meta_params &p, u32 m0, u32 n0, int number, unit &u)
{
    const place here = place_of(p, m0, n0, number);
    const spot at = spot_of(p, here.pixel);
    u.y_at = result_of(p, at) + (int)here.channel * p.y_channel;
    u.bias = u.residual = make_uint2(0, 0);
    if (!p.wide_y || here.pixel >= p.m || here.channel >= channel_end(p))
        return;
    if (p.bias)
        u.bias = *(const uint2 *)((const __half *)p.bias + here.channel);
    if (p.residual)
        u.residual = load_operands(p, p.residual - 1, at, here.channel);
}

DI void finish_wide(const conv_meta_params &p, const place &at, const unit &u, float4 sum)
{
    const float4 bias = unpack4(u.bias);
    float v[4] = { sum.x + bias.x, sum.y + bias.y, sum.z + bias.z, sum.w + bias.w };
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        if (!(p.vectors >> i & 1)) {
            run_step(p, i, v, at.pixel, u.y_at, (int)at.channel);
            continue;
        }
        const float4 r = unpack4(i + 1 == p.residual ? u.residual : load_late(p, i, at.pixel, at.channel));
        const float b[4] = { r.x, r.y, r.z, r.w };
        run_operands(p, i, v, b);
    }
    *(uint2 *)((__half *)p.y + u.y_at) = make_uint2(pack(v[0], v[1]), pack(v[2], v[3]));
}

#ifdef GATHER
#include "shaders/cuda/conv_gather.cuh"
#endif

DI void finish(const conv_meta_params &p, const place &at, const unit &u, const float *parts)
{
    const float4 sum = sum_parts(parts, at.row * LINE + at.column);
    if (at.pixel >= p.m || at.channel >= channel_end(p))
        return;
    if (p.wide_y)
        finish_wide(p, at, u, sum);
    else
        store_apart<4, 4>(p, values<4>{ { sum.x, sum.y, sum.z, sum.w } }, at.pixel, at.channel, channel_end(p));
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
    meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warp_k = warp % WK, row0 = warp / WK * MT * 16;
    const u32 tile_n = blockIdx.x / p.tiles_m, m0 = (blockIdx.x - tile_n * p.tiles_m) * BM;
    const u32 n0 = blockIdx.y * p.n + tile_n * BN;
    float *parts = (float *)shared_memory, sums[MT][NT][4];
#pragma unroll
    for (int i = 0; i < MT * NT * 4; i++)
        ((float *)sums)[i] = 0;
#if EARLY
    unit units[UNITS_IN];
#endif
#ifdef GATHER
    turn_await(p.counters, p.turn);
    gather_sums(p, sums, m0 + row0, n0, warp_k, lane);
#if EARLY
#pragma unroll
    for (int i = 0; i < UNITS_IN; i++)
        prepare(p, m0, n0, threadIdx.x + i * THREADS, units[i]);
#endif
#else
    {
        const int rounds = ((int)(p.k + 31) / 32 - warp_k + WK - 1) / WK;
        u32 k = warp_k * 32 + lane % 4 * 8;
        const __half *w = (const __half *)p.w + (size_t)(n0 + lane / 4) * p.w_out;
        bool in[NT];
#pragma unroll
        for (int j = 0; j < NT; j++)
            in[j] = n0 + j * 8 + lane / 4 < channel_end(p);
        window r[MT * 2];
        fragments f[STAGES];
#pragma unroll
        for (int i = 0; i < MT * 2; i++) {
            r[i] = window_of(p, m0 + row0 + lane / 4 + 8 * i);
            r[i].at += (int)blockIdx.y * p.x_group;
        }
#pragma unroll
        for (int s = 0; s < STAGES; s++)
            load_w(p, w, in, k + s * 32 * WK, f[s]);
        turn_await(p.counters, p.turn); /* no dispatch of the chain writes W */
#pragma unroll
        for (int s = 0; s < STAGES; s++, k += 32 * WK)
            load_x(p, r, k, f[s]);
#if EARLY
#pragma unroll
        for (int i = 0; i < UNITS_IN; i++)
            prepare(p, m0, n0, threadIdx.x + i * THREADS, units[i]);
#endif
        for (int round = 0; round < rounds;) {
#pragma unroll
            for (int s = 0; s < STAGES; s++) {
                if (round >= rounds)
                    break;
                multiply_all(sums, f[s]);
                if (round + STAGES < rounds) {
                    load_w(p, w, in, k, f[s]);
                    load_x(p, r, k, f[s]);
                }
                k += 32 * WK;
                round++;
            }
        }
    }
#endif
    gather_parts(parts, sums, warp_k, row0, lane);
#if EARLY
#pragma unroll
    for (int i = 0; i < UNITS_IN; i++)
        if (UNITS % THREADS == 0 || threadIdx.x + i * THREADS < UNITS)
            finish(p, place_of(p, m0, n0, threadIdx.x + i * THREADS), units[i], parts);
#else
#pragma unroll 1
    for (int first = threadIdx.x; first < UNITS; first += 4 * THREADS) {
        unit u[4];
#pragma unroll
        for (int i = 0; i < 4; i++)
            prepare(p, m0, n0, first + i * THREADS, u[i]);
#pragma unroll
        for (int i = 0; i < 4; i++)
            finish(p, place_of(p, m0, n0, first + i * THREADS), u[i], parts);
    }
#endif
    turn_pass(p.counters, p.turn);
}
