/* SPDX-License-Identifier: Apache-2.0 */
/* Small products, with mma.sync: both operands go from memory straight into fragments, and are on their way before anything
 * waits. Tiles of 16 * MT * WM x 8 * NT; WK warps of a workgroup each sum a part of the depth.
 *
 * The elements along K may come in any order that A and B agree on: of 32, lane t of a row has 8t to 8t + 7, which A loads
 * as 16 bytes, as does B where its neighbours are along K. Where they are along N, a lane loads NT columns of each of these
 * eight rows and pairs the elements of neighbouring rows; column j of lane g is then column g * NT + j. */
#include "shaders/cuda/gemm_meta.cuh"

#define THREADS (32 * WM * WK)
#define BM      (WM * MT * 16)
#define BN      (NT * 8)
#if !defined B_K_MAJOR && !defined B_PACKED
#define SUMS_APART
#endif
#include "shaders/cuda/gemm_finish.cuh"
#include "shaders/cuda/parts.cuh"
#include "shaders/cuda/turn.cuh"

#define UNITS    (BM * BN / 4)                     /* four results side by side */
#define UNITS_IN ((UNITS + THREADS - 1) / THREADS) /* of a thread */

extern __shared__ float4 shared_memory[];

#define MULTIPLY(type)                                                                                                 \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "    \
                 "{%8, %9}, {%0, %1, %2, %3};"                                                                         \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                                      \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1))

template <bool BFLOAT16> DEVICE void multiply(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1)
{
    if (BFLOAT16)
        MULTIPLY("bf16");
    else
        MULTIPLY("f16");
}

/* A: 16 bytes of each of a lane's rows. B: 16 bytes of each of NT columns, or NT columns of each of eight rows. */
struct fragments {
    uint4 a[MT * 2];
#ifndef SUMS_APART
    uint4 b[NT];
#else
    u32 b[8][NT / 2];
#endif
};

/* Of a lane: element 0 along K of its rows and columns. Behind the last one it is that one again, for results that nobody
 * stores. */
struct lines {
    const element *a[MT * 2];
#ifdef B_PACKED
    const element *b;
    u32 panels[NT];
#elif defined B_K_MAJOR
    const element *b[NT];
#else
    const element *b;
#endif
};

DEVICE void load_a(const struct lines &from, i32 k, struct fragments &out)
{
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        out.a[i] = load16(from.a[i] + k);
}

#ifndef SUMS_APART
DEVICE void load_b(const struct gemm_meta_params &p, const struct lines &from, i32 k, struct fragments &out)
{
#pragma unroll
    for (int j = 0; j < NT; j++)
#ifdef B_PACKED
        out.b[j] = load_stream(from.b + (size_t)(from.panels[j] + (u32)k / 32 * 256));
#else
        out.b[j] = load16(from.b[j] + k);
#endif
}
DEVICE void pair_of(const struct fragments &f, int h, int j, u32 &b0, u32 &b1)
{
    b0 = h ? f.b[j].z : f.b[j].x;
    b1 = h ? f.b[j].w : f.b[j].y;
}
DEVICE void clear_b(struct fragments &f)
{
#pragma unroll
    for (int j = 0; j < NT; j++)
        f.b[j] = make_uint4(0, 0, 0, 0);
}
#else
DEVICE void load_b(const struct gemm_meta_params &p, const struct lines &from, i32 k, struct fragments &out)
{
    const element *at = from.b + k * (i64)p.b_k;
#pragma unroll
    for (int r = 0; r < 8; r++, at += p.b_k) {
#if NT == 8
        const uint4 v = load16(at);
        out.b[r][0] = v.x;
        out.b[r][1] = v.y;
        out.b[r][2] = v.z;
        out.b[r][3] = v.w;
#elif NT == 4
        const uint2 v = __ldg((const uint2 *)at);
        out.b[r][0] = v.x;
        out.b[r][1] = v.y;
#else
        out.b[r][0] = __ldg((const u32 *)at);
#endif
    }
}
DEVICE void pair_of(const struct fragments &f, int h, int j, u32 &b0, u32 &b1)
{
    const u32 select = j % 2 ? 0x7632 : 0x5410;
    b0 = __byte_perm(f.b[4 * h][j / 2], f.b[4 * h + 1][j / 2], select);
    b1 = __byte_perm(f.b[4 * h + 2][j / 2], f.b[4 * h + 3][j / 2], select);
}
DEVICE void clear_b(struct fragments &f)
{
#pragma unroll
    for (int r = 0; r < 8; r++)
#pragma unroll
        for (int j = 0; j < NT / 2; j++)
            f.b[r][j] = 0;
}
#endif

/* 32 elements along K; a lane that has none of them, since K ends before, loads others and clears them when they come. */
DEVICE void load(const struct gemm_meta_params &p, const struct lines &from, i32 k, struct fragments &out)
{
    k = min(k, (i32)p.k - 8);
    load_a(from, k, out);
    load_b(p, from, k, out);
}

/* The first ones. Packed, B is constant: it may come before the dispatch's turn. */
DEVICE void load_first(const struct gemm_meta_params &p, const struct lines &from, i32 k, struct fragments (&out)[STAGES])
{
#ifdef B_PACKED
#pragma unroll
    for (int s = 0; s < STAGES; s++)
        load_b(p, from, min(k + s * 32 * WK, (i32)p.k - 8), out[s]);
    turn_await(p.counters, p.turn);
#pragma unroll
    for (int s = 0; s < STAGES; s++)
        load_a(from, min(k + s * 32 * WK, (i32)p.k - 8), out[s]);
#else
    turn_await(p.counters, p.turn);
#pragma unroll
    for (int s = 0; s < STAGES; s++)
        load(p, from, k + s * 32 * WK, out[s]);
#endif
}

DEVICE void clear(struct fragments &f)
{
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        f.a[i] = make_uint4(0, 0, 0, 0);
    clear_b(f);
}

template <bool BFLOAT16> DEVICE void multiply_all(float (&sums)[MT][NT][4], const struct fragments &f)
{
#pragma unroll
    for (int h = 0; h < 2; h++)
#pragma unroll
        for (int j = 0; j < NT; j++) {
            u32 b0, b1;
            pair_of(f, h, j, b0, b1);
#pragma unroll
            for (int i = 0; i < MT; i++) {
                const uint4 v = f.a[2 * i], w = f.a[2 * i + 1];
                const u32 a[4] = { h ? v.z : v.x, h ? w.z : w.x, h ? v.w : v.y, h ? w.w : w.y };
                multiply<BFLOAT16>(sums[i][j], a, b0, b1);
            }
        }
}

DEVICE void prepare(const struct gemm_meta_params &p, i32 m0, i32 n0, u32 batch, int number, struct unit &u)
{
    const bool along_m = p.flags & GEMM_Y_ALONG_M;
    const i32 row = along_m ? number % (BM / 4) * 4 : number / (BN / 4);
    const i32 column = along_m ? number / (BM / 4) : number % (BN / 4) * 4;
    u.batch = batch;
    u.row = m0 + row;
    u.column = n0 + column;
    u.count = u.row >= (i32)p.m || u.column >= (i32)p.n ? 0 : min(4, along_m ? (i32)p.m - u.row : (i32)p.n - u.column);
    if (UNITS % THREADS && number >= UNITS)
        u.count = 0;
    u.y_at = batch_offset(p.y_batch, batch, p.batch_size) + u.row * (i64)p.y_m + u.column * (i64)p.y_n;
    u.c_at = batch_offset(p.c_batch, batch, p.batch_size) + u.row * (i64)p.c_m + u.column * (i64)p.c_n;
    load_early(p, u);
}

DEVICE float4 sum_of(const struct gemm_meta_params &p, const float *parts, const struct unit &u, i32 m0, i32 n0)
{
    const int next = p.flags & GEMM_Y_ALONG_M ? LINE : 1;
    const float *from = parts + (u.row - m0) * LINE + u.column - n0;
    float4 sum = make_float4(0, 0, 0, 0);
#pragma unroll
    for (int i = 0; i < KEPT; i++, from += PART)
        sum = make_float4(sum.x + from[0], sum.y + from[next], sum.z + from[2 * next], sum.w + from[3 * next]);
    return sum;
}

DEVICE void find_lines(const struct gemm_meta_params &p, i32 row, i32 n0, u32 batch, int lane, struct lines &out)
{
    const element *a = (const element *)p.a + batch_offset(p.a_batch, batch, p.batch_size);
#pragma unroll
    for (int i = 0; i < MT * 2; i++)
        out.a[i] = a + min(row + 8 * i, (i32)p.m - 1) * (i64)p.a_m;
    const element *b = (const element *)p.b + batch_offset(p.b_batch, batch, p.batch_size);
#ifdef B_PACKED
    const u32 panel = (p.k + 31) / 32 * 256, last = (p.n - 1) / 8;
    out.b = (const element *)p.b + (p.packed_batch ? batch : 0) * (i64)p.packed_batch * 8 + lane * 8;
#pragma unroll
    for (int j = 0; j < NT; j++)
        out.panels[j] = min((u32)n0 / 8 + j, last) * panel;
#elif defined B_K_MAJOR
#pragma unroll
    for (int j = 0; j < NT; j++)
        out.b[j] = b + min(n0 + j * 8 + lane / 4, (i32)p.n - 1) * (i64)p.b_n;
#else
    out.b = b + min(n0 + lane / 4 * NT, (i32)p.n - NT);
#endif
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ struct gemm_meta_params p)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warp_k = warp % WK, row0 = warp / WK * MT * 16;
    const u32 batch = blockIdx.z, tile_n = blockIdx.x / p.tiles_m, tile_m = blockIdx.x - tile_n * p.tiles_m;
    const i32 m0 = tile_m * BM, n0 = tile_n * BN, rounds = ((i32)(p.k + 31) / 32 - warp_k + WK - 1) / WK;
    float *parts = (float *)shared_memory, sums[MT][NT][4];
    struct unit units[UNITS_IN];
    struct lines lines;
    struct fragments f[STAGES];
    i32 k = warp_k * 32 + lane % 4 * 8;
    find_lines(p, m0 + row0 + lane / 4, n0, batch, lane, lines);
    load_first(p, lines, k, f);
#pragma unroll
    for (int i = 0; i < MT * NT * 4; i++)
        ((float *)sums)[i] = 0;
#pragma unroll
    for (int i = 0; i < UNITS_IN; i++)
        prepare(p, m0, n0, batch, threadIdx.x + i * THREADS, units[i]);
    for (i32 round = 0; round < rounds;) {
#pragma unroll
        for (int s = 0; s < STAGES; s++) {
            if (round >= rounds)
                break;
            if (k + 8 > (i32)p.k)
                clear(f[s]);
            if (p.flags & GEMM_BFLOAT16)
                multiply_all<true>(sums, f[s]);
            else
                multiply_all<false>(sums, f[s]);
            if (round + STAGES < rounds)
                load(p, lines, k + STAGES * 32 * WK, f[s]);
            k += 32 * WK;
            round++;
        }
    }
    gather_parts(parts, sums, warp_k, row0, lane);
#pragma unroll
    for (int i = 0; i < UNITS_IN; i++)
        if (units[i].count > 0)
            finish(p, units[i], sum_of(p, parts, units[i], m0, n0));
    turn_pass(p.counters, p.turn);
}
