/* SPDX-License-Identifier: Apache-2.0 */
/* From sums to results: the epilogue of matrix products. */
#ifndef META_GEMM_FINISH_CUH
#define META_GEMM_FINISH_CUH

#include "shaders/cuda/gemm_meta.cuh"

/* Four results side by side, along M or N: where, and what their epilogue reads, loaded before their sums are there. */
struct unit {
    i32 row, column, count; /* count <= 0: they are outside */
    u32 batch;
    i64 y_at, c_at;
    uint2 early[GEMM_EARLY];
};

DEVICE void load_early(const struct gemm_meta_params &p, struct unit &u)
{
#pragma unroll
    for (int i = 0; i < GEMM_EARLY; i++) {
        u.early[i] = make_uint2(0, 0);
        if (p.early[i] && u.count > 0) {
            const struct meta_step &step = p.epilogue.steps[p.early[i] - 1];
            const i64 at = step.place == META_PLACE_RESULT ? u.y_at : p.flags & GEMM_TRANSPOSED ? u.row : u.column;
            u.early[i] = load8((const element *)p.epilogue.operands[p.early[i] - 1] + at);
        }
    }
}

template <u32 CODE> DEVICE float4 apply(float4 v, float4 b, float p, float q)
{
    return make_float4(meta_step_run(CODE, v.x, b.x, p, q), meta_step_run(CODE, v.y, b.y, p, q),
                       meta_step_run(CODE, v.z, b.z, p, q), meta_step_run(CODE, v.w, b.w, p, q));
}

/* meta_step_run of four: one choice, and no copy for each of them. */
static __device__ __noinline__ float4 apply_code(u32 code, float4 v, float4 b, float p, float q)
{
    switch (code) {
#define APPLY(name)                                                                                                    \
    case META_##name:                                                                                                  \
        return apply<META_##name>(v, b, p, q);
        APPLY(SUB)
        APPLY(MUL)
        APPLY(DIV)
        APPLY(MIN)
        APPLY(MAX)
        APPLY(CLAMP)
        APPLY(ABS)
        APPLY(NEG)
        APPLY(RECIP)
        APPLY(LEAKY_RELU)
        APPLY(HARD_SIGMOID)
        APPLY(HARD_SWISH)
        APPLY(MULADD)
        APPLY(SQRT)
        APPLY(RINT)
        APPLY(SIGMOID)
        APPLY(SWISH)
    default:
        return make_float4(meta_curve(code, v.x, p), meta_curve(code, v.y, p), meta_curve(code, v.z, p),
                           meta_curve(code, v.w, p));
    }
}

DEVICE float4 short_gelu4(float4 v)
{
    return make_float4(short_gelu(v.x), short_gelu(v.y), short_gelu(v.z), short_gelu(v.w));
}

/* Four elements `step` apart, numbers of any type. */
static __device__ __noinline__ float4 load4(u64 base, u32 type, i64 at, i64 step, i32 count)
{
    return make_float4(meta_load(base, type, at), count > 1 ? meta_load(base, type, at + step) : 0,
                       count > 2 ? meta_load(base, type, at + 2 * step) : 0,
                       count > 3 ? meta_load(base, type, at + 3 * step) : 0);
}

DEVICE float4 unpack4(const struct gemm_meta_params &p, uint2 v)
{
    const float2 a = unpack(v.x, p.flags & GEMM_BFLOAT16), b = unpack(v.y, p.flags & GEMM_BFLOAT16);
    return make_float4(a.x, a.y, b.x, b.y);
}

/* Of META_PLACE_STRIDED: the distance from the operand's first element. */
DEVICE i64 strided_at(const struct meta_step &step, u32 outer, u32 inner, i32 row, i32 column)
{
    return (i64)step.strides[0] * outer + (i64)step.strides[1] * inner + (i64)step.strides[2] * row +
           (i64)step.strides[3] * column;
}

DEVICE float4 operand_of(const struct gemm_meta_params &p, u32 i, const struct unit &u)
{
    const struct meta_step &step = p.epilogue.steps[i];
    const bool along_m = p.flags & GEMM_Y_ALONG_M, transposed = p.flags & GEMM_TRANSPOSED;
    if (!step.type)
        return make_float4(step.p, step.p, step.p, step.p);
    if (i + 1 == p.early[0])
        return unpack4(p, u.early[0]);
    if (i + 1 == p.early[1])
        return unpack4(p, u.early[1]);
    if (step.place == META_PLACE_RESULT)
        return load4(p.epilogue.operands[i], step.type, u.y_at, along_m ? p.y_m : p.y_n, u.count);
    if (step.place == META_PLACE_CHANNEL)
        return load4(p.epilogue.operands[i], step.type, (transposed ? u.row : u.column) * (i64)step.stride,
                     along_m == transposed ? step.stride : 0, u.count);
    if (step.place == META_PLACE_STRIDED)
        return load4(p.epilogue.operands[i], step.type,
                     strided_at(step, u.batch / p.batch_size, u.batch % p.batch_size, u.row, u.column),
                     step.strides[along_m ? 2 : 3], u.count);
    return load4(p.epilogue.operands[i], step.type, 0, 0, u.count);
}

static __device__ __noinline__ void store_each(const struct gemm_meta_params &p, float4 v, i64 y_at, i32 count)
{
    const i32 step = p.flags & GEMM_Y_ALONG_M ? p.y_m : p.y_n;
    for (i32 i = 0; i < count; i++, y_at += step) {
        const float x = i < 2 ? i < 1 ? v.x : v.y : i < 3 ? v.z : v.w;
        if (p.y_type == META_FLOAT32)
            ((float *)p.y)[y_at] = x;
        else
            ((element *)p.y)[y_at] = (element)pack2(x, 0, p.flags & GEMM_BFLOAT16);
    }
}

DEVICE void finish(const struct gemm_meta_params &p, const struct unit &u, float4 v)
{
    const bool along_m = p.flags & GEMM_Y_ALONG_M, bfloat16 = p.flags & GEMM_BFLOAT16;
    if (u.count <= 0)
        return;
    v = make_float4(v.x * p.alpha, v.y * p.alpha, v.z * p.alpha, v.w * p.alpha);
    if (p.c) {
        const float4 c = load4(p.c, p.c_type, u.c_at, along_m ? p.c_m : p.c_n, u.count);
        v = make_float4(v.x + p.beta * c.x, v.y + p.beta * c.y, v.z + p.beta * c.z, v.w + p.beta * c.w);
    }
#pragma unroll 1
    for (u32 i = 0; i < p.epilogue.count; i++) {
        const struct meta_step &step = p.epilogue.steps[i];
        const float4 b = operand_of(p, i, u);
        if (step.code == META_ADD)
            v = apply<META_ADD>(v, b, 0, 0);
        else if (step.code == META_RELU)
            v = apply<META_RELU>(v, b, 0, 0);
        else if (step.code == META_GELU && p.y_type != META_FLOAT32)
            v = short_gelu4(v);
        else
            v = apply_code(step.code, v, b, step.p, step.q);
    }
    if (p.flags & GEMM_Y_VECTORS)
        *(uint2 *)((element *)p.y + u.y_at) = make_uint2(pack2(v.x, v.y, bfloat16), pack2(v.z, v.w, bfloat16));
    else
        store_each(p, v, u.y_at, u.count);
}

#endif
