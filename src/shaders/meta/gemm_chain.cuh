/* SPDX-License-Identifier: Apache-2.0 */
/* What chains of products load: pieces of work, factors and rows. */
#ifndef META_GEMM_CHAIN_CUH
#define META_GEMM_CHAIN_CUH

#include "shaders/meta/gemm_chain_params.h"

#define BM      GEMM_CHAIN_M
#define BN      GEMM_CHAIN_N
#define MT      2
#define NT      3
#define WN      4 /* warps along N, */
#define WK      4 /* and along the depth */
#define PARTS   2
#define THREADS 512
#define DEEP    (GEMM_CHAIN_UNITS / WK) /* 32 elements along K, of a warp */
#define WAITS_MAX (1u << 20) /* of about half a microsecond */
#define OPERANDS_CHANGE
#include "shaders/meta/gemm_finish.cuh"
#include "shaders/meta/parts.cuh"

#define ROWS    (BM * 32 / THREADS)    /* of a warp that loads A */
#define VECTORS (GEMM_CHAIN_UNITS / 8) /* of 8 elements, of a lane in a row */
#define HELD    2                      /* vectors of these fit in shared memory at once, */
#define PHASE   (HELD * 8)             /* which are as many units */
#define RESULTS (BM * BN / 4)          /* four side by side */

/* Dynamic shared memory: A or parts of sums, and behind that scale and bias of the normalisation, then the epilogue's
 * operands. Parameters are copied, too: each kernel parameter that is not in the constant cache takes its time. */
struct chain_shared {
    uint4 a[PHASE * BM * 4];
    union {
        uint4 norm[2][VECTORS * 32];
        uint2 early[GEMM_EARLY][RESULTS];
    };
};
extern __shared__ uint4 shared_memory[];
#define room ((struct chain_shared *)shared_memory)

struct piece {
    u32 step, m, n, split;
};

DEVICE struct piece find_piece(const struct gemm_chain_params &p, u32 number)
{
    struct piece out = { 0, 0, 0, 0 };
    while (out.step + 1 < p.steps[0].count && number >= p.steps[out.step + 1].first)
        out.step++;
    const struct gemm_chain_step &s = p.steps[out.step];
    const u32 tile = number - s.first, column = tile / s.product.tiles_m;
    out.m = tile - column * s.product.tiles_m;
    out.split = column / s.product.tiles_n;
    out.n = column - out.split * s.product.tiles_n;
    return out;
}

/* The warp's part of a piece's packed B: units apart by WK, and panels. Behind the ends is what is there before them. */
struct factor {
    const uint4 *b;
    u32 unit, end, panels[NT];
};
DEVICE struct factor find_factor(const struct gemm_chain_step &s, const struct piece &at)
{
    const u32 warp = threadIdx.x / 32, all = s.product.k / 32, last = (s.product.n - 1) / 8;
    struct factor out;
    out.b = (const uint4 *)s.product.b + threadIdx.x % 32;
    out.unit = at.split * s.units + warp % WK;
    out.end = min((at.split + 1) * s.units, all) - 1;
#pragma unroll
    for (int j = 0; j < NT; j++)
        out.panels[j] = min(at.n * (BN / 8) + warp / WK * NT + j, last) * all;
    return out;
}
DEVICE void load_unit(const struct factor &from, int i, uint4 (&b)[NT])
{
#pragma unroll
    for (int j = 0; j < NT; j++)
        b[j] = load_stream(from.b + (from.panels[j] + min(from.unit + WK * i, from.end)) * 32);
}

/* Into the second-level cache: what the piece of the same place in another step reads of B. */
DEVICE void prefetch_factor(const struct gemm_chain_params &p, const struct piece &of, u32 step)
{
    if (step >= p.steps[0].count)
        return;
    const struct gemm_chain_step &s = p.steps[step];
    const u32 column = of.split * p.steps[of.step].product.tiles_n + of.n, split = column / s.product.tiles_n;
    const u32 panel = (column - split * s.product.tiles_n) * (BN / 8) + threadIdx.x, all = s.product.k / 32;
    if (split < s.splits && threadIdx.x < BN / 8 && threadIdx.x % s.product.tiles_m == of.m &&
        panel <= (s.product.n - 1) / 8) {
        const u32 unit = split * s.units, bytes = min(s.units, all - unit) * GEMM_FRAGMENT_BYTES;
        const char *from = (const char *)s.product.b + (size_t)(panel * all + unit) * GEMM_FRAGMENT_BYTES;
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
    }
}

/* Not by the first-level cache, which may have what was there before. */
DEVICE uint4 load_new(const void *p)
{
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3},[%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p)
                 : "memory");
    return v;
}
DEVICE void copy16(uint4 *to, const void *from)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
DEVICE void copy8(uint2 *to, const void *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(to)), "l"(from) : "memory");
}
DEVICE void wait_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}
DEVICE u32 load_acquire(const u32 *p)
{
    u32 v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}

/* A in shared memory: for each 32 elements along K as fragments of mma.sync have them, without bank conflicts also where
 * a warp stores a row. */
DEVICE u32 place_of(u32 row, u32 vector)
{
    const u32 unit = vector / 4;
    return unit * (BM * 4) + ((row * 4 + vector % 4) ^ unit % 2 * 4);
}

DEVICE void sum_lanes(float (&v)[ROWS])
{
#pragma unroll
    for (int i = 16; i; i /= 2)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
            v[r] += __shfl_xor_sync(~0u, v[r], i);
}
DEVICE void widen(const uint4 &v, float (&out)[8])
{
    const u32 words[4] = { v.x, v.y, v.z, v.w };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const float2 pair = unpack(words[i], false);
        out[2 * i] = pair.x;
        out[2 * i + 1] = pair.y;
    }
}

/* A warp's rows, of so many vectors. Sums of FLOAT16 are as good as exact. */
DEVICE void normalize(float epsilon, uint4 (&rows)[ROWS][VECTORS], u32 vectors)
{
    const u32 lane = threadIdx.x % 32;
    const float count = (float)(vectors * 8);
    float x[8], scale[8], bias[8], mean[ROWS] = {}, factor[ROWS] = {};
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            widen(rows[r][i], x);
            if (i * 32 + lane < vectors)
#pragma unroll
                for (int e = 0; e < 8; e++)
                    mean[r] += x[e];
        }
    sum_lanes(mean);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        mean[r] = __fdividef(mean[r], count);
#pragma unroll
        for (int i = 0; i < VECTORS; i++) {
            widen(rows[r][i], x);
            if (i * 32 + lane < vectors)
#pragma unroll
                for (int e = 0; e < 8; e++)
                    factor[r] += (x[e] - mean[r]) * (x[e] - mean[r]);
        }
    }
    sum_lanes(factor);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
        factor[r] = rsqrtf(__fdividef(factor[r], count) + epsilon);
#pragma unroll
    for (int i = 0; i < VECTORS; i++) {
        const u32 at = min(i * 32 + lane, vectors - 1);
        widen(room->norm[0][at], scale);
        widen(room->norm[1][at], bias);
#pragma unroll
        for (int r = 0; r < ROWS; r++) {
            widen(rows[r][i], x);
#pragma unroll
            for (int e = 0; e < 8; e++)
                x[e] = (x[e] - mean[r]) * (factor[r] * scale[e]) + bias[e];
            rows[r][i] = make_uint4(pack2(x[0], x[1], false), pack2(x[2], x[3], false), pack2(x[4], x[5], false),
                                    pack2(x[6], x[7], false));
        }
    }
}
#endif
