/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions with W packed as gemm_large.cu wants its B: tiles of 64 * GROUPS * ROWS pixels x TILE_N channels. Each
 * multiprocessor has one workgroup, which takes one tile after the other: GROUPS warpgroups multiply, a thread of another
 * one brings W into a ring of stages of a depth of 16 * STAGE_STEPS in shared memory, which runs on over the tiles. X goes from memory
 * straight into the registers of wgmma; the next 32 * DEEP elements of each window are loaded while these are multiplied.
 * With several splits, workgroups sum parts of the depth, and conv_sum.cu adds them up. */
#include "shaders/cuda/barrier.cuh"
#include "shaders/cuda/conv_finish.cuh"
#include "shaders/cuda/gemm_meta_params.h"
#include "shaders/cuda/turn.cuh"
#include "shaders/cuda/wgmma_group.cuh"
#include "shaders/cuda/wgmma.cuh"

#define WARPS       (4 * GROUPS)
#define THREADS     (128 * GROUPS + 128)
#define TILE_M      (64 * GROUPS * ROWS)
#define STAGE_STEPS (TILE_N > 128 ? 1 : 2) /* wgmmas of each row of tiles that are waited for together */
#define STEP_BYTES  (TILE_N * 32)
#define STAGE_BYTES (STAGE_STEPS * STEP_BYTES)
#define STAGES      (GEMM_RING_BYTES / STAGE_BYTES)
#define UNIT        (32 * DEEP) /* of the depth */
#define SUMS        (TILE_N / 2)
#define PAIRS       (TILE_N / 64) /* of a pixel: two times eight neighbouring channels of each lane of a quad, APART */
#define NUMBERS     (2 * ROWS * PAIRS)
#define APART       32
#define WIDE        16

extern __shared__ __align__(1024) unsigned char shared[];

struct ring {
    u32 stage, phase;
};
DI void advance(ring &r)
{
    if (++r.stage == STAGES) {
        r.stage = 0;
        r.phase ^= 1;
    }
}

/* A tile, and the part of the depth that is summed. */
struct place {
    u32 m0, n0, split, from, to;
};
DI place place_of(const conv_meta_params &p, u32 id)
{
    const u32 tiles_n = (p.n + TILE_N - 1) / TILE_N, rest = id / tiles_n, split = rest / p.tiles_m, from = split * p.split_depth;
    return { (rest - split * p.tiles_m) * TILE_M, (id - rest * tiles_n) * TILE_N, split, from, min(from + p.split_depth, p.k) };
}

/* In units: a split's depth is a multiple of UNIT. */
DI u32 units_of(const place &at)
{
    return (at.to - at.from + UNIT - 1) / UNIT;
}

/* One thread brings W. */
DI void produce(const conv_meta_params &p, u32 stages, u32 full, u32 empty)
{
    ring next = { 0, 1 };
    const u32 panel = (p.k + GEMM_PACKED_K - 1) / GEMM_PACKED_K * (GEMM_PACKED_K / 16);
    for (u32 id = blockIdx.x; id < p.tiles; id += gridDim.x) {
        const place at = place_of(p, id);
        const u32 count = units_of(at) * (UNIT / 16 / STAGE_STEPS);
        const char *from = (const char *)p.w + ((i64)(at.n0 / GEMM_PACKED_N) * panel + at.from / 16) * GEMM_PACKED_BYTES +
                           at.n0 % GEMM_PACKED_N * 32;
        for (u32 stage = 0; stage < count; stage++) {
            barrier_wait(empty + next.stage * 8, next.phase);
            barrier_expect(full + next.stage * 8, STAGE_BYTES);
#pragma unroll
            for (int i = 0; i < STAGE_STEPS; i++, from += GEMM_PACKED_BYTES)
                copy_bulk(stages + next.stage * STAGE_BYTES + i * STEP_BYTES, from, STEP_BYTES, full + next.stage * 8);
            advance(next);
        }
    }
}

struct fragments {
    uint4 v[DEEP][ROWS][2];
};

/* 32 elements from depth k of this lane on. Zeros behind the end: the packed W has zeros there, too. */
DI void load_x(const conv_meta_params &p, const window (&windows)[ROWS][2], u32 k, uint4 (&out)[ROWS][2])
{
    const tap t = tap_of(p, k);
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int h = 0; h < 2; h++)
            out[r][h] = load16((const __half *)p.x + (windows[r][h].at + t.offset),
                               k < p.k && is_inside(p, windows[r][h], t));
}

/* ---- results ---- */

/* The order of W's columns gives a lane eight neighbouring channels of each 32. */
template <int NUMBER> DI void take_one(const float (&sums)[ROWS][SUMS], float (&out)[WIDE])
{
    constexpr int row = NUMBER / (2 * PAIRS) % ROWS, first = NUMBER % PAIRS * 32 + NUMBER / PAIRS % 2 * 2;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        out[2 * i] = sums[row][first + 4 * i];
        out[2 * i + 1] = sums[row][first + 4 * i + 1];
    }
}

/* Each number has a case with its registers, so that what follows is there once. */
DI void take(const float (&sums)[ROWS][SUMS], int number, float (&out)[WIDE])
{
    switch (number) {
#define TAKE(number)                                                                                                   \
    case number:                                                                                                       \
        take_one<number>(sums, out);                                                                                   \
        break;
        TAKE(0)
        TAKE(1)
        TAKE(2)
#if ROWS * TILE_N > 128
        TAKE(3)
        TAKE(4)
        TAKE(5)
        TAKE(6)
#endif
    default:
        take_one<NUMBERS - 1>(sums, out);
    }
}

/* The bias, and the operand of the step p.residual - 1. */
#define EARLY 2
struct early {
    uint4 v[EARLY][2];
};

DI void load_early(const conv_meta_params &p, u32 pixel, u32 channel, early &out)
{
    const spot at = spot_of(p, pixel);
    const u64 residual = p.residual ? p.epilogue.operands[p.residual - 1] : 0;
    const int of_residual = p.residual ? operand_of(p.epilogue.steps[p.residual - 1], at) : 0;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        const u32 c = channel + i * APART;
        const bool there = pixel < p.m && c < p.n;
        out.v[0][i] = load16((const __half *)p.bias + c, there && p.bias);
        out.v[1][i] = load16((const __half *)residual + (of_residual + (int)c), there && residual);
    }
}

DI void unpack16(const uint4 (&from)[2], float (&v)[WIDE])
{
    float x[8], y[8];
    unpack8(from[0], x);
    unpack8(from[1], y);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        v[i] = x[i];
        v[8 + i] = y[i];
    }
}

template <u32 CODE> DI void apply(float (&v)[WIDE], const float (&b)[WIDE], float low, float high)
{
#pragma unroll
    for (int i = 0; i < WIDE; i++)
        v[i] = meta_step_run(CODE, v[i], b[i], low, high);
}

/* A step with its operands. */
DI void apply_step(const meta_step &s, float (&v)[WIDE], const float (&b)[WIDE])
{
    if (s.code == META_ADD)
        apply<META_ADD>(v, b, 0, 0);
    else if (s.code == META_MUL)
        apply<META_MUL>(v, b, 0, 0);
    else if (s.code == META_RELU)
        apply<META_RELU>(v, b, 0, 0);
    else if (s.code == META_CLAMP)
        apply<META_CLAMP>(v, b, s.p, s.q);
    else if (s.code == META_SWISH)
        apply<META_SWISH>(v, b, s.p, s.q);
    else if (s.code == META_MULADD)
        apply<META_MULADD>(v, b, s.p, s.q);
    else if (s.code == META_GELU)
#pragma unroll
        for (int i = 0; i < WIDE; i++)
            v[i] = short_gelu(v[i]);
    else
#pragma unroll
        for (int i = 0; i < WIDE; i++)
            v[i] = code_run(s.code, v[i], b[i], s.p, s.q);
}

/* Operands that are no vectors. */
static __device__ __noinline__ float load_each(const conv_meta_params &p, u32 step, u32 pixel, int channel)
{
    const meta_step &s = p.epilogue.steps[step];
    return meta_load(p.epilogue.operands[step], s.type, operand_of(s, spot_of(p, pixel)) + channel * s.strides[1]);
}

DI void load_operands_of(const conv_meta_params &p, u32 step, u32 pixel, u32 channel, const early &early, float (&b)[WIDE])
{
    const meta_step &s = p.epilogue.steps[step];
    if (step + 1 == p.residual) {
        unpack16(early.v[1], b);
    } else if (p.vectors >> step & 1) {
        const __half *from = (const __half *)p.epilogue.operands[step] + (operand_of(s, spot_of(p, pixel)) + (int)channel);
        const uint4 v[2] = { load16(from, pixel < p.m && channel < p.n), load16(from + APART, pixel < p.m && channel + APART < p.n) };
        unpack16(v, b);
    } else {
#pragma unroll
        for (int i = 0; i < WIDE; i++) {
            const u32 c = channel + i / 8 * APART + i % 8;
            b[i] = s.type && pixel < p.m && c < p.n ? load_each(p, step, pixel, (int)c) : s.p;
        }
    }
}

/* Channels that are vectors of Y. */
DI void finish_wide(const conv_meta_params &p, float (&v)[WIDE], u32 pixel, u32 channel, const early &early)
{
    float b[WIDE];
    unpack16(early.v[0], b);
    apply<META_ADD>(v, b, 0, 0);
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        load_operands_of(p, i, pixel, channel, early, b);
        apply_step(p.epilogue.steps[i], v, b);
    }
    __half *y = (__half *)p.y + (result_of(p, pixel) + (int)channel);
#pragma unroll
    for (int i = 0; i < 2; i++)
        if (pixel < p.m && channel + i * APART < p.n)
            *(uint4 *)(y + i * APART) = make_uint4(pack(v[8 * i], v[8 * i + 1]), pack(v[8 * i + 2], v[8 * i + 3]),
                                                   pack(v[8 * i + 4], v[8 * i + 5]), pack(v[8 * i + 6], v[8 * i + 7]));
}

/* Any others: eight lanes have neighbouring pixels, as planes of channels want it. */
DI void finish_apart(const conv_meta_params &p, const float (&v)[WIDE], u32 pixel, u32 channel)
{
#pragma unroll
    for (int i = 0; i < 2; i++) {
        values<8> of;
#pragma unroll
        for (int j = 0; j < 8; j++)
            of.v[j] = v[8 * i + j];
        if (pixel < p.m && channel + i * APART < p.n)
            store_apart<8, 8>(p, of, pixel, channel + i * APART, p.n);
    }
}

/* The pixel and the first channel of a number. */
DI u32 pixel_of(u32 first, int number)
{
    return first + number / (2 * PAIRS) * 64 + number / PAIRS % 2 * 8;
}

DI void store(const conv_meta_params &p, const float (&sums)[ROWS][SUMS], u32 first, u32 n0, int lane)
{
    early early;
    const u32 column = n0 + lane % 4 * 8;
    if (p.wide_y)
        load_early(p, first, column, early);
#pragma unroll 1
    for (int number = 0; number < NUMBERS; number++) {
        const u32 pixel = pixel_of(first, number), channel = column + number % PAIRS * 64;
        float v[WIDE];
        take(sums, number, v);
        if (!p.wide_y) {
            finish_apart(p, v, pixel, channel);
            continue;
        }
        const struct early now = early;
        if (number + 1 < NUMBERS) /* on their way during what follows */
            load_early(p, pixel_of(first, number + 1), column + (number + 1) % PAIRS * 64, early);
        finish_wide(p, v, pixel, channel, now);
    }
}

/* ---- most epilogues: on sums where they are ---- */

/* The bias, one operand that is added, and steps without operands. */
DI bool is_quick(const conv_meta_params &p)
{
    bool quick = p.wide_y;
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        const meta_step &s = p.epilogue.steps[i];
        const bool has_curve = s.code == META_RELU || s.code == META_CLAMP || s.code == META_SWISH || s.code == META_GELU;
        quick = quick && (i + 1 == p.residual ? s.code == META_ADD : !s.type && has_curve);
    }
    return quick;
}

/* Eight neighbouring channels of each 32. */
struct vectors {
    uint4 v[TILE_N / 32];
};

DI vectors load_vectors(const __half *from, bool is_there, u32 channel, u32 end)
{
    vectors out;
#pragma unroll
    for (int i = 0; i < TILE_N / 32; i++)
        out.v[i] = load16(from + i * 32, is_there && channel + i * 32 < end);
    return out;
}

DI void add_vectors(float (&sums)[SUMS], int half, const vectors &other)
{
#pragma unroll
    for (int i = 0; i < TILE_N / 32; i++) {
        float v[8];
        unpack8(other.v[i], v);
#pragma unroll
        for (int j = 0; j < 8; j++)
            sums[16 * i + j / 2 * 4 + 2 * half + j % 2] += v[j];
    }
}

template <u32 CODE> DI void run_each(float (&sums)[ROWS][SUMS], const meta_step &s)
{
#pragma unroll
    for (int i = 0; i < ROWS * SUMS; i++) {
        float &v = sums[i / SUMS][i % SUMS];
        v = CODE == META_GELU ? short_gelu(v) : meta_step_run(CODE, v, 0, s.p, s.q);
    }
}

DI u32 pixel_of_half(u32 first, int half)
{
    return first + half / 2 * 64 + half % 2 * 8;
}

DI void add_operand(const conv_meta_params &p, u32 step, float (&sums)[ROWS][SUMS], u32 first, u32 channel)
{
    const meta_step &s = p.epilogue.steps[step];
#pragma unroll
    for (int half = 0; half < 2 * ROWS; half++) {
        const u32 pixel = pixel_of_half(first, half);
        const __half *from = (const __half *)p.epilogue.operands[step] + (operand_of(s, spot_of(p, pixel)) + (int)channel);
        add_vectors(sums[half / 2], half % 2, load_vectors(from, pixel < p.m, channel, p.n));
    }
}

DI void run_steps(const conv_meta_params &p, float (&sums)[ROWS][SUMS], u32 first, u32 channel)
{
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        const meta_step &s = p.epilogue.steps[i];
        if (i + 1 == p.residual)
            add_operand(p, i, sums, first, channel);
        else if (s.code == META_RELU)
            run_each<META_RELU>(sums, s);
        else if (s.code == META_CLAMP)
            run_each<META_CLAMP>(sums, s);
        else if (s.code == META_SWISH)
            run_each<META_SWISH>(sums, s);
        else
            run_each<META_GELU>(sums, s);
    }
}

DI void store_quick(const conv_meta_params &p, float (&sums)[ROWS][SUMS], u32 first, u32 n0, int lane)
{
    const u32 channel = n0 + lane % 4 * 8;
    if (p.bias) {
        const vectors bias = load_vectors((const __half *)p.bias + channel, true, channel, p.n);
#pragma unroll
        for (int half = 0; half < 2 * ROWS; half++)
            add_vectors(sums[half / 2], half % 2, bias);
    }
    run_steps(p, sums, first, channel);
#pragma unroll
    for (int half = 0; half < 2 * ROWS; half++) {
        const u32 pixel = pixel_of_half(first, half);
        __half *y = (__half *)p.y + (result_of(p, pixel) + (int)channel);
#pragma unroll
        for (int i = 0; i < TILE_N / 32; i++) {
            const float *v = sums[half / 2] + 16 * i + half % 2 * 2;
            if (pixel < p.m && channel + i * 32 < p.n)
                *(uint4 *)(y + i * 32) = make_uint4(pack(v[0], v[1]), pack(v[4], v[5]), pack(v[8], v[9]), pack(v[12], v[13]));
        }
    }
}

/* Sums of a part of the depth. */
DI void store_part(const conv_meta_params &p, const float (&sums)[ROWS][SUMS], u32 split, u32 first, u32 n0, int lane)
{
    const u32 column = n0 + lane % 4 * 8;
#pragma unroll
    for (int i = 0; i < 2 * ROWS; i++) {
        const u32 pixel = first + i / 2 * 64 + i % 2 * 8;
        float *to = (float *)p.parts + ((u64)split * p.m + pixel) * p.part_line + column;
#pragma unroll
        for (int j = 0; j < TILE_N / 32; j++) {
            const float *v = sums[i / 2] + 16 * j + i % 2 * 2;
            if (pixel >= p.m || column + j * 32 >= p.part_line)
                continue;
            ((float4 *)(to + j * 32))[0] = make_float4(v[0], v[1], v[4], v[5]);
            ((float4 *)(to + j * 32))[1] = make_float4(v[8], v[9], v[12], v[13]);
        }
    }
}

/* ---- sums ---- */

DI void consume(const conv_meta_params &p, u32 stages, u32 full, u32 empty)
{
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const u32 row = warp / 4 * 64 * ROWS + warp % 4 * 16 + lane / 4;
    ring at = { 0, 0 };
    i32 before = -1; /* stage that the last wgmma but one has read */
    float sums[ROWS][SUMS];
    fragments a[2];
    window windows[ROWS][2];
    const bool quick = is_quick(p);
    u32 id = blockIdx.x;
    place place = place_of(p, id);
    auto start = [&]() {
#pragma unroll
        for (int i = 0; i < 2 * ROWS; i++)
            windows[i / 2][i % 2] = window_of(p, place.m0 + row + i / 2 * 64 + i % 2 * 8);
#pragma unroll
        for (int u = 0; u < DEEP; u++)
            load_x(p, windows, place.from + u * 32 + lane % 4 * 8, a[0].v[u]);
    };
    auto release = [&]() {
        if (before >= 0 && lane == 0)
            barrier_arrive(empty + before * 8);
    };
    auto multiply = [&](fragments &now, fragments &next, u32 unit, u32 units) {
#pragma unroll
        for (int u = 0; u < DEEP; u++)
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
                /* A part at a time, so that addresses are computed during a wgmma. */
                if (h == 0 && unit + 1 < units)
                    load_x(p, windows, place.from + (unit + 1) * UNIT + u * 32 + lane % 4 * 8, next.v[u]);
            }
    };
    turn_await_warp(p.counters, p.turn); /* no dispatch of the chain writes W */
    start();
    for (;;) {
        const u32 units = units_of(place);
#pragma unroll
        for (int r = 0; r < ROWS; r++)
#pragma unroll
            for (int i = 0; i < SUMS; i++)
                sums[r][i] = 0;
        for (u32 unit = 0; unit < units; unit += 2) {
            multiply(a[0], a[1], unit, units);
            if (unit + 1 < units)
                multiply(a[1], a[0], unit + 1, units);
        }
        wgmma_wait<0>();
        release();
        before = -1;
        const struct place done = place;
        id += gridDim.x;
        if (id < p.tiles) {
            place = place_of(p, id);
            start();
        }
        if (p.parts)
            store_part(p, sums, done.split, done.m0 + row, done.n0, lane);
        else if (quick)
            store_quick(p, sums, done.m0 + row, done.n0, lane);
        else
            store(p, sums, done.m0 + row, done.n0, lane);
        if (id >= p.tiles)
            break;
    }
    turn_pass_some<128 * GROUPS>(p.counters, p.turn);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) meta_kernel(const __grid_constant__ conv_meta_params p)
{
    const u32 stages = shared_address(shared), full = stages + STAGES * STAGE_BYTES, empty = full + STAGES * 8;
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
            produce(p, stages, full, empty);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
        consume(p, stages, full, empty);
    }
}
