/* SPDX-License-Identifier: Apache-2.0 */
/* Products by tiles of 64 * GROUPS * ROWS x TILE_N of a B that gemm_pack.cu has packed. Each multiprocessor has one
 * workgroup, which takes one tile after the other: GROUPS warpgroups multiply, a thread of another one brings B into a ring
 * of stages of 16 * STAGE_STEPS rows in shared memory, which runs on over the tiles. A goes from memory straight into the registers of
 * wgmma; the next 32 * DEEP elements of each row are loaded while these are multiplied. wgmma may have the elements along K
 * in any order that A and B agree on: of 32, lane t of a row has 8t to 8t + 7. Likewise B's columns are packed in the order
 * in which lane t of a row has sums of 8t to 8t + 7 of 32. WHOLE: K is a multiple of 32 * DEEP. With several splits,
 * workgroups sum parts of K, which gemm_sum.cu adds up; or, in a chain, the workgroup that has the last part of a tile. */
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
#define TILE_M      (64 * GROUPS * ROWS)
#define STAGES      (GEMM_RING_BYTES / STAGE_BYTES)
#define STAGE_STEPS (TILE_N > 128 ? 1 : 2) /* wgmmas of each row of tiles that are waited for together */
#define STEP_BYTES  (TILE_N * 32)
#define STAGE_BYTES (STAGE_STEPS * STEP_BYTES)
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
    u32 batch, split, tile; /* tile: its number among those of all batches */
    i32 m0, n0, from, units;
};
DEVICE struct place place_of(const struct gemm_meta_params &p, u32 id)
{
    const u32 of_batch = p.tiles_m * p.tiles_n;
    const u32 number = id / of_batch, split = number / p.batches;
    struct place at = { number - split * p.batches, split, id - split * p.batches * of_batch };
    u32 tile_m, tile_n;
    at.from = split * p.split_depth;
    at.units = (min(p.split_depth, p.k - at.from) + UNIT - 1) / UNIT;
    tile_of(p, id % of_batch, &tile_m, &tile_n);
    at.m0 = tile_m * TILE_M;
    at.n0 = tile_n * TILE_N;
    return at;
}

/* Where B of a tile begins, and the bytes of a panel of B. */
DEVICE const char *b_of(const struct gemm_meta_params &p, const struct place &at, i64 *out_panel)
{
    *out_panel = (i64)((p.k + GEMM_PACKED_K - 1) / GEMM_PACKED_K * (GEMM_PACKED_K / 16)) * GEMM_PACKED_BYTES;
    return (const char *)p.b + (p.packed_batch ? at.batch : 0) * (i64)p.packed_batch * 16 +
           at.n0 / GEMM_PACKED_N * *out_panel + (i64)(at.from / 16) * GEMM_PACKED_BYTES + at.n0 % GEMM_PACKED_N * 32;
}

/* One thread brings B. */
DEVICE void produce(const struct gemm_meta_params &p, u32 stages, u32 full, u32 empty, u32 tiles)
{
    struct ring next = { 0, 1 };
    for (u32 id = blockIdx.x; id < tiles; id += gridDim.x) {
        const struct place at = place_of(p, id);
        i64 panel;
        const char *from = b_of(p, at, &panel);
        /* Of a tile that ends in the next panel, if there is one, the columns in the first. */
        const u32 first = min(TILE_N, GEMM_PACKED_N - at.n0 % GEMM_PACKED_N) * 32;
        const u32 rest = at.n0 + first / 32 < p.n ? STEP_BYTES - first : 0;
        for (i32 stage = 0; stage < at.units * (UNIT / 16 / STAGE_STEPS); stage++) {
            barrier_wait(empty + next.stage * 8, next.phase);
            barrier_expect(full + next.stage * 8, STAGE_STEPS * (first + rest));
#pragma unroll
            for (int i = 0; i < STAGE_STEPS; i++, from += GEMM_PACKED_BYTES) {
                const u32 to = stages + next.stage * STAGE_BYTES + i * STEP_BYTES;
                copy_bulk(to, from, first, full + next.stage * 8);
                if (GEMM_PACKED_N % TILE_N && rest)
                    copy_bulk(to + first, from + panel - at.n0 % GEMM_PACKED_N * 32, rest, full + next.stage * 8);
            }
            advance(next);
        }
    }
}

struct fragments {
    uint4 v[DEEP][ROWS][2];
};

/* Of each line of the cache a lane has half, and asks for the other half next. */
#if ROWS > 1
#define load_rows load_stream
#else
#define load_rows load_cached
#endif

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
                out.v[u][r][h] = load_rows(a[r][h] + k + u * 32);
#else
                out.v[u][r][h] = load_rows(a[r][h] + min(k + u * 32, last));
#endif
}

#define NUMBERS (TILE_N / 16) /* of a lane: eight neighbouring columns of each 32, in its two rows */

/* Results `number` of a lane: those of its first row before those of the other one. */
DEVICE void take(const SUM (&sums)[SUMS], int number, float (&v)[WIDE])
{
    const int half = number / (NUMBERS / 2), group = number % (NUMBERS / 2);
#pragma unroll
    for (int i = 0; i < WIDE / 2; i++) {
#ifdef HALF_SUMS
        const float2 pair = unpack(sums[2 * (4 * group + i) + half], false);
        v[2 * i] = pair.x;
        v[2 * i + 1] = pair.y;
#else
        v[2 * i] = sums[4 * (4 * group + i) + 2 * half];
        v[2 * i + 1] = sums[4 * (4 * group + i) + 2 * half + 1];
#endif
    }
}

DEVICE struct wide_place place_in(const struct gemm_meta_params &p, u32 batch, i32 row, i32 n0, int lane)
{
    const u32 outer = batch / p.batch_size;
    return { outer, batch - outer * p.batch_size, row + lane / 4, n0 + lane % 4 * WIDE, (i32)p.n - n0 - lane % 4 * WIDE };
}

DEVICE void scale_sums(SUM (&sums)[SUMS], float alpha)
{
    if (alpha == 1)
        return;
#pragma unroll
    for (int i = 0; i < SUMS; i++) {
#ifdef HALF_SUMS
        const float2 pair = unpack(sums[i], false);
        sums[i] = pack2(pair.x * alpha, pair.y * alpha, false);
#else
        sums[i] *= alpha;
#endif
    }
}

/* Vectors that need no more than this. */
DEVICE void store_plain(const struct gemm_meta_params &p, const SUM (&sums)[SUMS], const struct wide_place &tile)
{
    element *y = (element *)p.y + line_of(p.y_batch, p.y_m, 1, tile).at;
#pragma unroll
    for (int number = 0; number < NUMBERS; number++) {
        const int half = number / (NUMBERS / 2), columns = number % (NUMBERS / 2) * 32;
        float v[WIDE];
        take(sums, number, v);
        const uint4 out = make_uint4(pack2(v[0], v[1], IS_BFLOAT16), pack2(v[2], v[3], IS_BFLOAT16),
                                     pack2(v[4], v[5], IS_BFLOAT16), pack2(v[6], v[7], IS_BFLOAT16));
        if (tile.row + half * 8 < (i32)p.m && tile.count > columns)
            *(uint4 *)(y + (i64)(half * 8) * p.y_m + columns) = out;
    }
}

#ifndef HALF_SUMS
#define PAIRS (TILE_N / 64) /* of a row: two times eight results of a lane, APART */

/* Each pair of numbers has a case with its registers, so that what follows is there once: code that a tile runs through
 * only once costs more than these copies. */
DEVICE void take_pair(const SUM (&sums)[SUMS], int number, struct wides &out)
{
    switch (number) {
#define PAIR(n)                                                                                                        \
    case n:                                                                                                            \
        take(sums, 2 * (n), out.part[0].v);                                                                            \
        take(sums, 2 * (n) + 1, out.part[1].v);                                                                        \
        break;
        PAIR(0)
#if PAIRS > 1
        PAIR(1) PAIR(2)
#endif
#if PAIRS > 2
        PAIR(3) PAIR(4)
#endif
#if PAIRS > 3
        PAIR(5) PAIR(6)
#endif
    default:
        take(sums, NUMBERS - 2, out.part[0].v);
        take(sums, NUMBERS - 1, out.part[1].v);
    }
}

/* Adds vectors of an operand. */
DEVICE void add_operand(const struct gemm_meta_params &p, SUM (&sums)[SUMS], const struct wide_place &tile, int operand)
{
    const struct wide_operand from = early_operand(p, operand, tile);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        uint4 vectors[NUMBERS / 2];
#pragma unroll
        for (int i = 0; i < NUMBERS / 2; i++) {
            const bool is_there = tile.row + half * 8 < (i32)p.m && tile.count > i * 32;
            vectors[i] = is_there ? load_cached(from.from + (i64)(tile.row + half * 8) * from.along_m + i * 32)
                                  : make_uint4(0, 0, 0, 0);
        }
#pragma unroll
        for (int i = 0; i < NUMBERS / 2; i++) {
            const struct wide v = unpack8(vectors[i], IS_BFLOAT16);
#pragma unroll
            for (int j = 0; j < WIDE; j++)
                sums[16 * i + j / 2 * 4 + 2 * half + j % 2] += v.v[j];
        }
    }
}

/* Results with any epilogue, or that are no vectors. */
DEVICE void store_any(const struct gemm_meta_params &p, const SUM (&sums)[SUMS], const struct wide_place &tile)
{
    const bool quick = p.flags & GEMM_QUICK;
    const struct wide_operand operands[GEMM_EARLY] = { early_operand(p, 0, tile), early_operand(p, 1, tile) };
    uint4 early[GEMM_EARLY][WIDES];
    auto load = [&](int number) {
        const i32 line = tile.row + number / PAIRS * 8, columns = number % PAIRS * 64;
        const i32 count = number < 2 * PAIRS && line < (i32)p.m && !quick ? tile.count - columns : 0;
#pragma unroll
        for (int i = 0; i < GEMM_EARLY; i++)
            load_early_wides(operands[i], line, columns, count, early[i]);
    };
    load(0);
#pragma unroll 1
    for (int number = 0; number < 2 * PAIRS; number++) {
        struct wides v;
        struct wide_place at = tile;
        at.row += number / PAIRS * 8;
        at.column += number % PAIRS * 64;
        at.count = at.row < (i32)p.m ? tile.count - number % PAIRS * 64 : 0;
        take_pair(sums, number, v);
        if (quick)
            finish_quick(p, v);
        else
            finish_any(p, v, early, at);
        load(number + 1);
        store_wides(p, v, at);
    }
}

template <u32 CODE> DEVICE void run_each(SUM (&sums)[SUMS], const struct meta_step &step)
{
#pragma unroll
    for (int i = 0; i < SUMS; i++)
        sums[i] = CODE == META_GELU ? short_gelu(sums[i]) : meta_step_run(CODE, sums[i], 0, step.p, step.q);
}

/* The step of GEMM_PLAIN that is not an early operand's. */
DEVICE void run_step(SUM (&sums)[SUMS], const struct meta_step &step)
{
    if (step.code == META_GELU)
        run_each<META_GELU>(sums, step);
    else if (step.code == META_RELU)
        run_each<META_RELU>(sums, step);
    else if (step.code == META_CLAMP)
        run_each<META_CLAMP>(sums, step);
    else
        run_each<META_SWISH>(sums, step);
}

DEVICE void store(const struct gemm_meta_params &p, SUM (&sums)[SUMS], const struct wide_place &tile)
{
    u32 adds = 0;
    scale_sums(sums, p.alpha);
    if (p.flags & GEMM_QUICK)
#pragma unroll 1
        for (; adds < GEMM_EARLY && p.early[adds]; adds++)
            add_operand(p, sums, tile, adds);
    if (!(p.flags & GEMM_PLAIN)) {
        store_any(p, sums, tile);
        return;
    }
    if (adds < p.epilogue.count)
        run_step(sums, p.epilogue.steps[adds]);
    store_plain(p, sums, tile);
}

/* Sums of a part of K. */
DEVICE void store_part(const struct gemm_meta_params &p, const SUM (&sums)[SUMS], u32 split, u32 batch,
                       const struct wide_place &tile)
{
    float *to = (float *)p.parts + (((u64)split * p.batches + batch) * p.m + tile.row) * p.part_line + tile.column;
#pragma unroll
    for (int number = 0; number < NUMBERS; number++) {
        const int half = number / (NUMBERS / 2), columns = number % (NUMBERS / 2) * 32;
        float v[WIDE];
        take(sums, number, v);
        if (tile.row + half * 8 < (i32)p.m && tile.column + columns < (i32)p.part_line) {
            float4 *vectors = (float4 *)(to + (u64)(half * 8) * p.part_line + columns);
            vectors[0] = make_float4(v[0], v[1], v[2], v[3]);
            vectors[1] = make_float4(v[4], v[5], v[6], v[7]);
        }
    }
}

/* In a chain: the workgroup that stores the last part of a tile's sums adds all up, in their order. None waits for another. */
DEVICE void join_parts(const struct gemm_meta_params &p, const struct place &of)
{
    volatile u32 *is_last = (u32 *)(shared + STAGES * STAGE_BYTES + STAGES * 16);
    const u32 outer = of.batch / p.batch_size, threads = 128 * GROUPS, each = TILE_N / 16;
    asm volatile("bar.sync 1, %0;" ::"n"(128 * GROUPS) : "memory");
    if (threadIdx.x == 0) {
        __threadfence();
        *is_last = atomicAdd((u32 *)p.counters + p.turn.after + 1 + of.tile, 1) + 1 == p.splits;
        __threadfence();
    }
    asm volatile("bar.sync 1, %0;" ::"n"(128 * GROUPS) : "memory");
    if (!*is_last)
        return;
#pragma unroll 1
    for (u32 i = threadIdx.x; i < TILE_M * each; i += threads) {
        const i32 column = of.n0 + part_column(i % each);
        finish_parts(p, { outer, of.batch - outer * p.batch_size, of.m0 + (i32)(i / each), column, (i32)p.n - column });
    }
}
#endif

DEVICE void consume(const struct gemm_meta_params &p, u32 stages, u32 full, u32 empty, u32 tiles)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, row = warp / 4 * 64 * ROWS + warp % 4 * 16;
    struct ring at = { 0, 0 };
    i32 before = -1; /* stage that the last wgmmas but one stage's have read */
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
            for (int h = 0; h < 2; h += STAGE_STEPS) {
                barrier_wait(full + at.stage * 8, at.phase);
                wgmma_fence();
#pragma unroll
                for (int i = h; i < h + STAGE_STEPS; i++)
#pragma unroll
                    for (int r = 0; r < ROWS; r++) {
                        const uint4 v = now.v[u][r][0], w = now.v[u][r][1];
                        const u32 x[4] = { i ? v.z : v.x, i ? w.z : w.x, i ? v.w : v.y, i ? w.w : w.y };
                        wgmma(sums[r], x, descriptor(stages + at.stage * STAGE_BYTES + (i - h) * STEP_BYTES, 128, 256));
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
        for (int r = 0; r < ROWS; r++) {
            const struct wide_place tile = place_in(p, done.batch, done.m0 + row + r * 64, done.n0, lane);
#ifdef HALF_SUMS
            scale_sums(sums[r], p.alpha);
            store_plain(p, sums[r], tile);
#else
            if (p.parts) {
                store_part(p, sums[r], done.split, done.batch, tile);
                if (p.counters)
                    join_parts(p, done);
            } else {
                store(p, sums[r], tile);
            }
#endif
        }
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
