/* SPDX-License-Identifier: Apache-2.0 */
/* Products by tiles of 64 * GROUPS * ROWS x TILE_N of a B that gemm_pack.cu has packed. Each multiprocessor has one
 * workgroup, which takes one tile after the other: GROUPS warpgroups multiply, a thread of another one brings B into a ring
 * of stages of 16 rows in shared memory, which runs on over the tiles. A goes from memory straight into the registers of
 * wgmma; the next 32 * DEEP elements of each row are loaded while these are multiplied. wgmma may have the elements along K
 * in any order that A and B agree on: of 32, lane t of a row has 8t to 8t + 7. WHOLE: K is a multiple of 128. With several splits, workgroups sum parts of
 * K, and gemm_sum.cu adds them up. */
#include "shaders/cuda/barrier.cuh"
#include "shaders/cuda/gemm_finish_wide.cuh"
#include "shaders/cuda/turn.cuh"
#include "shaders/cuda/wgmma.cuh"

#ifdef BFLOAT16
#define IS_BFLOAT16 true
#else
#define IS_BFLOAT16 false
#endif
#define WARPS       (4 * GROUPS)
#define THREADS     (128 * GROUPS + 128)
#define STAGES      (GEMM_RING_BYTES / STAGE_BYTES)
#define STAGE_BYTES (TILE_N * 32)
#ifdef HALF_SUMS
#define SUM u32
#define SUMS (TILE_N / 4)
#else
#define SUM float
#define SUMS (TILE_N / 2)
#endif

extern __shared__ __align__(1024) unsigned char shared[];

struct ring {
    u32 stage, phase;
};
DEVICE void advance(struct ring &r)
{
    if (++r.stage == STAGES) {
        r.stage = 0;
        r.phase ^= 1;
    }
}

#define UNIT (32 * DEEP) /* of K */

/* A tile, and the part of K that is summed: its first element, and its units. */
struct place {
    u32 batch, split;
    i32 m0, n0, from, units;
};
DEVICE struct place place_of(const struct gemm_meta_params &p, u32 id)
{
    const u32 of_batch = p.tiles_m * p.tiles_n, padded = (p.k + GEMM_PACKED_K - 1) / GEMM_PACKED_K * GEMM_PACKED_K;
    const u32 number = id / of_batch, split = number / p.batches;
    struct place at = { number - split * p.batches, split };
    u32 tile_m, tile_n;
    at.from = split * p.split_depth;
    at.units = (min(at.from + p.split_depth, padded) - at.from) / UNIT;
    tile_of(p, id % of_batch, &tile_m, &tile_n);
    at.m0 = tile_m * 64 * GROUPS * ROWS;
    at.n0 = tile_n * TILE_N;
    return at;
}

/* One thread brings B. */
DEVICE void produce(const struct gemm_meta_params &p, u32 stages, u32 full, u32 empty, u32 tiles)
{
    struct ring next = { 0, 1 };
    const i32 panel = (p.k + GEMM_PACKED_K - 1) / GEMM_PACKED_K * (GEMM_PACKED_K / 16);
    for (u32 id = blockIdx.x; id < tiles; id += gridDim.x) {
        const struct place at = place_of(p, id);
        const char *from = (const char *)p.b + (p.packed_batch ? at.batch : 0) * (i64)p.packed_batch * 16 +
                           ((i64)(at.n0 / GEMM_PACKED_N) * panel + at.from / 16) * GEMM_PACKED_BYTES +
                           at.n0 % GEMM_PACKED_N * 32;
        for (i32 step = 0; step < at.units * (UNIT / 16); step++) {
            barrier_wait(empty + next.stage * 8, next.phase);
            barrier_expect(full + next.stage * 8, STAGE_BYTES);
            copy_bulk(stages + next.stage * STAGE_BYTES, from, STAGE_BYTES, full + next.stage * 8);
            from += GEMM_PACKED_BYTES;
            advance(next);
        }
    }
}

struct fragments {
    uint4 v[DEEP][ROWS][2];
};

DEVICE void load_a(const struct gemm_meta_params &p, const element *const (&a)[ROWS][2], i32 k, struct fragments &out)
{
#ifndef WHOLE
    const i32 last = p.k - 8 - threadIdx.x % 4 * 8; /* of this lane */
#endif
#pragma unroll
    for (int u = 0; u < DEEP; u++)
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int h = 0; h < 2; h++)
#ifdef WHOLE
                out.v[u][r][h] = load_stream(a[r][h] + k + u * 32);
#else
                out.v[u][r][h] = load_stream(a[r][h] + min(k + u * 32, last));
#endif
}

/* Lanes of a quad exchange what they have of four times 8 columns, so that each stores 16 bytes. */
DEVICE void store(const struct gemm_meta_params &p, const SUM (&sums)[SUMS], element *y, i32 row, i32 n0, int lane)
{
    const int t = lane % 4;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const i32 line = row + lane / 4 + 8 * h;
        element *to = y + (i64)line * p.y_m;
#pragma unroll
        for (int j = 0; j < TILE_N / 8; j += 4) {
            u32 v[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
#ifdef HALF_SUMS
                const float2 pair = unpack(sums[2 * (j + i) + h], false);
                v[i] = p.alpha == 1 ? sums[2 * (j + i) + h] : pack2(pair.x * p.alpha, pair.y * p.alpha, false);
#else
                v[i] = pack2(sums[4 * (j + i) + 2 * h] * p.alpha, sums[4 * (j + i) + 2 * h + 1] * p.alpha, IS_BFLOAT16);
#endif
            }
            const uint4 w = transpose_quad(make_uint4(v[0], v[1], v[2], v[3]), lane);
            const i32 column = n0 + j * 8 + t * 8;
            if (line < (i32)p.m && column < (i32)p.n)
                *(uint4 *)(to + column) = w;
        }
    }
}

#ifndef HALF_SUMS
#define PAIRS (TILE_N / 64) /* of a row: two times eight results of each lane of a quad */

DEVICE void transpose_quad(float &x, float &y, float &z, float &w, int lane)
{
    const uint4 v = transpose_quad(
        make_uint4(__float_as_uint(x), __float_as_uint(y), __float_as_uint(z), __float_as_uint(w)), lane);
    x = __uint_as_float(v.x), y = __uint_as_float(v.y), z = __uint_as_float(v.z), w = __uint_as_float(v.w);
}

/* Pair `number` of a lane, those of its first row before those of the other one. Each number has a case with its
 * registers, so that what follows is there once. */
DEVICE void take_pair(const SUM (&sums)[SUMS], int number, int lane, struct wides &out)
{
    float v[2][8]; /* even and odd columns of eight times eight */
    switch (number) {
#define PAIR(n)                                                                                                            case n:                                                                                                                    for (int c = 0; c < 8; c++)                                                                                                for (int odd = 0; odd < 2; odd++)                                                                                          v[odd][c] = sums[(n) < 2 * PAIRS ? 4 * ((n) % PAIRS * 8 + c) + 2 * ((n) / PAIRS) + odd : 0];                   break;
        PAIR(0) PAIR(1) PAIR(2)
#if PAIRS > 2
        PAIR(3) PAIR(4) PAIR(5) PAIR(6)
    default:
        PAIR(7)
#else
    default:
        PAIR(3)
#endif
    }
#pragma unroll
    for (int part = 0; part < WIDES; part++)
#pragma unroll
        for (int odd = 0; odd < 2; odd++) {
            float *x = v[odd] + 4 * part;
            transpose_quad(x[0], x[1], x[2], x[3], lane);
#pragma unroll
            for (int c = 0; c < 4; c++)
                out.part[part].v[2 * c + odd] = x[c];
        }
}

/* Results with an epilogue, or that are no vectors. */
DEVICE void store_any(const struct gemm_meta_params &p, const SUM (&sums)[SUMS], u32 batch, i32 row, i32 n0, int lane)
{
    const u32 outer = batch / p.batch_size;
    const struct wide_place tile = { outer, batch - outer * p.batch_size, row + lane / 4, n0 + lane % 4 * 8,
                                     (i32)p.n - n0 - lane % 4 * 8 };
    const struct wide_operand operands[GEMM_EARLY] = { early_operand(p, 0, tile), early_operand(p, 1, tile) };
    uint4 early[GEMM_EARLY][WIDES];
    auto load = [&](int number) {
        const i32 line = tile.row + number / PAIRS * 8, columns = number % PAIRS * 64;
        const i32 count = number < 2 * PAIRS && line < (i32)p.m ? tile.count - columns : 0;
        load_early_wides(operands[0], line, columns, count, early[0]);
        load_early_wides(operands[1], line, columns, count, early[1]);
    };
    load(0);
#pragma unroll 1
    for (int number = 0; number < 2 * PAIRS; number++) {
        struct wides v;
        struct wide_place at = tile;
        at.row += number / PAIRS * 8;
        at.column += number % PAIRS * 64;
        at.count = at.row < (i32)p.m ? tile.count - number % PAIRS * 64 : 0;
        take_pair(sums, number, lane, v);
        scale_all(v, p.alpha);
        /* The next operands are on their way during what follows. */
        if (p.flags & GEMM_QUICK) {
            add_early(p, v, early);
            load(number + 1);
            finish_quick(p, v);
        } else {
            finish_any(p, v, early, at);
            load(number + 1);
        }
        store_wides(p, v, at);
    }
}

/* Sums of a part of K. */
DEVICE void store_part(const struct gemm_meta_params &p, const SUM (&sums)[SUMS], const struct place &at, i32 row, int lane)
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        const i32 line = row + lane / 4 + 8 * h, column = at.n0 + lane % 4 * 2;
        float *to = (float *)p.parts + (((u64)at.split * p.batches + at.batch) * p.m + line) * p.part_line + column;
#pragma unroll
        for (int j = 0; j < TILE_N / 8; j++)
            if (line < (i32)p.m && column + j * 8 < (i32)p.part_line)
                *(float2 *)(to + j * 8) = make_float2(sums[4 * j + 2 * h], sums[4 * j + 2 * h + 1]);
    }
}
#endif

DEVICE void consume(const struct gemm_meta_params &p, u32 stages, u32 full, u32 empty, u32 tiles)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp / 4 * 64 * ROWS + warp % 4 * 16;
    struct ring at = { 0, 0 };
    i32 before = -1; /* stage that the last wgmma but one has read */
    SUM sums[ROWS][SUMS];
    struct fragments a[2];
    const element *from[ROWS][2];
    u32 id = blockIdx.x;
    struct place place = place_of(p, id);
    auto start = [&]() {
        const element *base = (const element *)p.a + batch_offset(p.a_batch, place.batch, p.batch_size) + lane % 4 * 8;
        /* behind the last row that one again, for results that nobody stores */
#pragma unroll
        for (int i = 0; i < 2 * ROWS; i++)
            from[i / 2][i % 2] = base + (i64)min(place.m0 + row + lane / 4 + i * 8 + i / 2 * 48, (i32)p.m - 1) * p.a_m;
        load_a(p, from, place.from, a[0]);
    };
    auto release = [&]() {
        if (before >= 0 && lane == 0)
            barrier_arrive(empty + before * 8);
    };
    auto multiply = [&](struct fragments &now, struct fragments &next, i32 unit) {
#pragma unroll
        for (int u = 0; u < DEEP; u++) {
#ifndef WHOLE
            if (unit + 1 == place.units && place.from + unit * UNIT + u * 32 + lane % 4 * 8 >= (i32)p.k)
#pragma unroll
                for (int i = 0; i < 2 * ROWS; i++)
                    now.v[u][i / 2][i % 2] = make_uint4(0, 0, 0, 0);
#endif
#pragma unroll
            for (int h = 0; h < 2; h++) {
                barrier_wait(full + at.stage * 8, at.phase);
                wgmma_fence();
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    const uint4 v = now.v[u][r][0], w = now.v[u][r][1];
                    const u32 x[4] = { h ? v.z : v.x, h ? w.z : w.x, h ? v.w : v.y, h ? w.w : w.y };
                    wgmma(sums[r], x, descriptor(stages + at.stage * STAGE_BYTES, 128, 256));
                }
                wgmma_commit();
                wgmma_wait<1>();
                release();
                before = at.stage;
                advance(at);
                if (u == 0 && h == 0 && unit + 1 < place.units)
                    load_a(p, from, place.from + (unit + 1) * UNIT, next);
            }
        }
    };
    turn_await_warp(p.counters, p.turn); /* B is constant in chains, and on its way */
    start();
    for (;;) {
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                sums[r][i] = 0;
        for (i32 unit = 0; unit < place.units; unit += 2) {
            multiply(a[0], a[1], unit);
            if (unit + 1 < place.units)
                multiply(a[1], a[0], unit + 1);
        }
        wgmma_wait<0>();
        release();
        before = -1;
        const struct place done = place;
        id += gridDim.x;
        if (id < tiles) {
            place = place_of(p, id);
            start();
        }
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#ifndef HALF_SUMS
            if (p.parts)
                store_part(p, sums[r], done, done.m0 + row + r * 64, lane);
            else if (!(p.flags & GEMM_PLAIN))
                store_any(p, sums[r], done.batch, done.m0 + row + r * 64, done.n0, lane);
            else
#endif
                store(p, sums[r], (element *)p.y + batch_offset(p.y_batch, done.batch, p.batch_size),
                      done.m0 + row + r * 64, done.n0, lane);
        if (id >= tiles)
            break;
    }
    turn_pass_some<128 * GROUPS>(p.counters, p.turn);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ struct gemm_meta_params p)
{
    const u32 stages = shared_address(shared), full = stages + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
    const u32 tiles = p.tiles_m * p.tiles_n * p.batches * p.splits;
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(full + i * 8, 1);
            barrier_init(empty + i * 8, WARPS);
        }
        fence_async();
    }
    __syncthreads();
    if (threadIdx.x >= 128 * GROUPS) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
        if (threadIdx.x == 128 * GROUPS)
            produce(p, stages, full, empty, tiles);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        consume(p, stages, full, empty, tiles);
    }
}
