/* SPDX-License-Identifier: Apache-2.0 */
/* The epilogue of large matrix products: of a row, eight neighbouring results and eight more 32 columns on at a time. The
 * code is there once in a kernel and in no function, or its parameters would not be constants. */
#ifndef META_GEMM_FINISH_WIDE_CUH
#define META_GEMM_FINISH_WIDE_CUH

#include "shaders/cuda/gemm_finish.cuh"

#define WIDE  8
#define WIDES 2
#define APART 32 /* columns from the first eight to the others */

struct wide {
    float v[WIDE];
};
struct wides {
    struct wide part[WIDES];
};

/* Where the results are. */
struct wide_place {
    u32 outer, inner; /* batch */
    i32 row, column, count; /* count: what there is from the column on; <= 0: nothing */
};

/* With the first one's distance and from one to the next, in elements. */
struct wide_line {
    i64 at;
    i32 step;
};

DEVICE struct wide unpack8(uint4 v, bool bfloat16)
{
    const float2 a = unpack(v.x, bfloat16), b = unpack(v.y, bfloat16), c = unpack(v.z, bfloat16), d = unpack(v.w, bfloat16);
    return { { a.x, a.y, b.x, b.y, c.x, c.y, d.x, d.y } };
}

DEVICE struct wide_line line_of(const i32 (&batches)[2], i32 along_m, i32 along_n, const struct wide_place &at)
{
    return { (i64)batches[0] * at.outer + (i64)batches[1] * at.inner + (i64)at.row * along_m + (i64)at.column * along_n,
             along_n };
}

/* Of the operand of a step. */
DEVICE struct wide_line operand_line(const struct gemm_meta_params &p, const struct meta_step &step, const struct wide_place &at)
{
    const bool transposed = p.flags & GEMM_TRANSPOSED;
    if (step.place == META_PLACE_RESULT)
        return line_of(p.y_batch, p.y_m, p.y_n, at);
    if (step.place == META_PLACE_CHANNEL)
        return { (i64)step.stride * (transposed ? at.row : at.column), transposed ? 0 : step.stride };
    if (step.place == META_PLACE_STRIDED)
        return { strided_at(step, at.outer, at.inner, at.row, at.column), step.strides[3] };
    return { 0, 0 };
}

/* Whether eight elements are 16 bytes that begin at a multiple of these. */
DEVICE bool is_vector(u64 base, u32 type, const struct wide_line &line, i32 count)
{
    return count >= WIDE && line.step == 1 && type != META_FLOAT32 && ((base + (u64)line.at * 2) & 15) == 0;
}

/* At most eight elements. */
static __device__ __noinline__ struct wide load_each(u64 base, u32 type, i64 at, i32 step, i32 count)
{
    struct wide out;
    if (step == 0) {
        const float x = meta_load(base, type, at);
        return { { x, x, x, x, x, x, x, x } };
    }
#pragma unroll
    for (i32 i = 0; i < WIDE; i++)
        out.v[i] = i < count ? meta_load(base, type, at + (i64)i * step) : 0;
    return out;
}

DEVICE struct wides load_wides(u64 base, u32 type, const struct wide_line &line, i32 count)
{
    struct wides out;
#pragma unroll
    for (int i = 0; i < WIDES; i++) {
        const struct wide_line from = { line.at + (i64)i * APART * line.step, line.step };
        out.part[i] = {};
        if (is_vector(base, type, from, count - i * APART))
            out.part[i] = unpack8(load_cached((const element *)base + from.at), type == META_BFLOAT16);
        else if (count > i * APART)
            out.part[i] = load_each(base, type, from.at, from.step, count - i * APART);
    }
    return out;
}

template <u32 CODE> DEVICE void apply_all(struct wides &v, const struct wides &b, float p, float q)
{
#pragma unroll
    for (int i = 0; i < WIDES * WIDE; i++)
        v.part[i / WIDE].v[i % WIDE] =
            CODE == META_GELU ? short_gelu(v.part[i / WIDE].v[i % WIDE])
                              : meta_step_run(CODE, v.part[i / WIDE].v[i % WIDE], b.part[i / WIDE].v[i % WIDE], p, q);
}

/* What is seldom. */
DEVICE void apply_other(const struct meta_step &step, struct wides &v, const struct wides &b)
{
#pragma unroll
    for (int i = 0; i < WIDES; i++) {
        float *x = v.part[i].v;
        const float *y = b.part[i].v;
#pragma unroll
        for (int j = 0; j < WIDE; j += 4) {
            const float4 out = apply_code(step.code, make_float4(x[j], x[j + 1], x[j + 2], x[j + 3]),
                                          make_float4(y[j], y[j + 1], y[j + 2], y[j + 3]), step.p, step.q);
            x[j] = out.x, x[j + 1] = out.y, x[j + 2] = out.z, x[j + 3] = out.w;
        }
    }
}

DEVICE void apply_step(const struct meta_step &step, bool short_results, struct wides &v, const struct wides &b)
{
    if (step.code == META_ADD)
        apply_all<META_ADD>(v, b, 0, 0);
    else if (step.code == META_MUL)
        apply_all<META_MUL>(v, b, 0, 0);
    else if (step.code == META_RELU)
        apply_all<META_RELU>(v, b, 0, 0);
    else if (step.code == META_CLAMP)
        apply_all<META_CLAMP>(v, b, step.p, step.q);
    else if (step.code == META_SWISH)
        apply_all<META_SWISH>(v, b, step.p, step.q);
    else if (step.code == META_GELU && short_results)
        apply_all<META_GELU>(v, b, 0, 0);
    else
        apply_other(step, v, b);
}

DEVICE void store_wides(const struct gemm_meta_params &p, const struct wides &v, const struct wide_place &at)
{
    const struct wide_line y = line_of(p.y_batch, p.y_m, p.y_n, at);
    const bool bfloat16 = p.flags & GEMM_BFLOAT16, vectors = (p.flags & GEMM_Y_VECTORS) && !(p.flags & GEMM_Y_ALONG_M);
    if (at.count <= 0)
        return;
#pragma unroll
    for (int i = 0; i < WIDES; i++) {
        const float *x = v.part[i].v;
        const i64 first = y.at + (i64)i * APART * y.step;
        if (vectors) {
            if (at.count > i * APART)
                *(uint4 *)((element *)p.y + first) = make_uint4(pack2(x[0], x[1], bfloat16), pack2(x[2], x[3], bfloat16),
                                                                pack2(x[4], x[5], bfloat16), pack2(x[6], x[7], bfloat16));
            continue;
        }
#pragma unroll
        for (i32 j = 0; j < WIDE; j++) {
            if (i * APART + j >= at.count)
                continue;
            if (p.y_type == META_FLOAT32)
                ((float *)p.y)[first + (i64)j * y.step] = x[j];
            else
                ((element *)p.y)[first + (i64)j * y.step] = (element)pack2(x[j], 0, bfloat16);
        }
    }
}

/* Operands that are vectors, of the steps early[0] - 1 and early[1] - 1: of a lane, in a tile. */
struct wide_operand {
    const element *from; /* in row 0 and the first of the tile's columns; NULL: there is none */
    i32 along_m;
};

DEVICE struct wide_operand early_operand(const struct gemm_meta_params &p, int number, const struct wide_place &tile)
{
    const u32 step = p.early[number] - 1;
    if (!p.early[number])
        return { NULL, 0 };
    const struct meta_step &s = p.epilogue.steps[step];
    struct wide_place first = tile;
    first.row = 0;
    return { (const element *)p.epilogue.operands[step] + operand_line(p, s, first).at,
             s.place == META_PLACE_RESULT ? p.y_m : s.place == META_PLACE_STRIDED ? s.strides[2] : 0 };
}

/* `columns` behind the tile's first; count: as in struct wide_place. */
DEVICE void load_early_wides(const struct wide_operand &operand, i32 row, i32 columns, i32 count, uint4 (&out)[WIDES])
{
    const element *from = operand.from + (i64)row * operand.along_m + columns;
#pragma unroll
    for (int i = 0; i < WIDES; i++)
        out[i] = operand.from && count >= i * APART + WIDE ? load_cached(from + i * APART) : make_uint4(0, 0, 0, 0);
}

DEVICE struct wides unpack_wides(const struct gemm_meta_params &p, const uint4 (&v)[WIDES])
{
    struct wides out;
#pragma unroll
    for (int i = 0; i < WIDES; i++)
        out.part[i] = unpack8(v[i], p.flags & GEMM_BFLOAT16);
    return out;
}

/* GEMM_QUICK: sums of the early operands, */
DEVICE void add_early(const struct gemm_meta_params &p, struct wides &v, const uint4 (&early)[GEMM_EARLY][WIDES])
{
#pragma unroll
    for (int i = 0; i < GEMM_EARLY; i++)
        if (p.early[i])
            apply_all<META_ADD>(v, unpack_wides(p, early[i]), 0, 0);
}

/* and at most one step more. */
DEVICE void finish_quick(const struct gemm_meta_params &p, struct wides &v)
{
    const u32 adds = (p.early[0] > 0) + (p.early[1] > 0);
    if (adds < p.epilogue.count)
        apply_step(p.epilogue.steps[adds], p.y_type != META_FLOAT32, v, v);
}

DEVICE void finish_any(const struct gemm_meta_params &p, struct wides &v, const uint4 (&early)[GEMM_EARLY][WIDES],
                       const struct wide_place &at)
{
    if (p.c) {
        const struct wides c = load_wides(p.c, p.c_type, line_of(p.c_batch, p.c_m, p.c_n, at), at.count);
#pragma unroll
        for (int i = 0; i < WIDES * WIDE; i++)
            v.part[i / WIDE].v[i % WIDE] += p.beta * c.part[i / WIDE].v[i % WIDE];
    }
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        const struct meta_step &step = p.epilogue.steps[i];
        struct wides b;
        if (i + 1 == p.early[0]) {
            b = unpack_wides(p, early[0]);
        } else if (i + 1 == p.early[1]) {
            b = unpack_wides(p, early[1]);
        } else if (step.type) {
            b = load_wides(p.epilogue.operands[i], step.type, operand_line(p, step, at), at.count);
        } else {
#pragma unroll
            for (int j = 0; j < WIDES * WIDE; j++)
                b.part[j / WIDE].v[j % WIDE] = step.p;
        }
        apply_step(step, p.y_type != META_FLOAT32, v, b);
    }
}

DEVICE void scale_all(struct wides &v, float alpha)
{
#pragma unroll
    for (int i = 0; i < WIDES * WIDE; i++)
        v.part[i / WIDE].v[i % WIDE] *= alpha;
}

/* The first column of lane `number` of a row of parts, which has eight columns and eight more APART. */
DEVICE i32 part_column(u32 number)
{
    const u32 lanes = GEMM_PART_COLUMNS / (WIDES * WIDE);
    return (i32)(number / lanes * GEMM_PART_COLUMNS + number % lanes * WIDE);
}

/* Others may have stored it a moment ago: not through the first-level cache. */
DEVICE void add_vector(const float *from, float (&v)[WIDE])
{
    const float4 a = __ldcg((const float4 *)from), b = __ldcg((const float4 *)from + 1);
    v[0] += a.x, v[1] += a.y, v[2] += a.z, v[3] += a.w, v[4] += b.x, v[5] += b.y, v[6] += b.z, v[7] += b.w;
}

/* Adds parts of K in their order. */
DEVICE void finish_parts(const struct gemm_meta_params &p, const struct wide_place &at)
{
    const u32 batch = at.outer * p.batch_size + at.inner;
    uint4 early[GEMM_EARLY][WIDES];
    if (at.row >= (i32)p.m || at.count <= 0)
        return;
#pragma unroll
    for (int i = 0; i < GEMM_EARLY; i++)
        load_early_wides(early_operand(p, i, at), at.row, 0, at.count, early[i]);
    const float *from = (const float *)p.parts + ((u64)batch * p.m + at.row) * p.part_line + at.column;
    const u64 apart = (u64)p.batches * p.m * p.part_line;
    struct wides v = {};
#pragma unroll 4
    for (u32 i = 0; i < p.splits; i++, from += apart)
#pragma unroll
        for (int part = 0; part < WIDES; part++)
            add_vector(from + part * APART, v.part[part].v);
    scale_all(v, p.alpha);
    if (p.flags & GEMM_QUICK) {
        add_early(p, v, early);
        finish_quick(p, v);
    } else {
        finish_any(p, v, early, at);
    }
    store_wides(p, v, at);
}

#endif
