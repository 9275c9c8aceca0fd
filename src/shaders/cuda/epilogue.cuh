// SPDX-License-Identifier: Apache-2.0
/* struct meta_epilogue on results in FLOAT32. */
#pragma once
#include "shaders/cuda/meta.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

static __device__ __forceinline__ float meta_load(u64 base, u32 type, i64 at)
{
    if (type == META_FLOAT16)
        return __half2float(((const __half *)base)[at]);
    if (type == META_BFLOAT16)
        return __bfloat162float(((const __nv_bfloat16 *)base)[at]);
    return ((const float *)base)[at];
}

/* A number wins over NaN. */
static __device__ __forceinline__ float meta_min(float a, float b)
{
    return a < b || isnan(b) ? a : b;
}

static __device__ __forceinline__ float meta_max(float a, float b)
{
    return a > b || isnan(b) ? a : b;
}

static __device__ __forceinline__ float meta_sigmoid(float a)
{
    return 1.0f / (1.0f + __expf(-a));
}

/* May be cubic (kernels/core/epilogue.h); q = 0 for finite values of any size. */
static __device__ __forceinline__ float meta_swish(float a, float p, float q)
{
    return a * meta_sigmoid(a * fmaf(q, fminf(a * a, 3e38f), p));
}

static __device__ __forceinline__ float exp2_short(float a)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(a));
    return y;
}

/* To 16 bits. The logarithm of the odds of the normal distribution is odd: by a polynomial that minimises the largest
 * relative error of the result, 7e-5, for |a| < 5.6, behind which results are below 1e-7. */
static __device__ __forceinline__ float short_gelu(float a)
{
    const float u = a * a;
    const float odds =
        a * (2.30181694f +
             u * (0.105406843f +
                  u * (-3.43592546e-4f +
                       u * (-1.1252219e-4f + u * (7.16140312e-6f + u * (-1.98590811e-7f + u * 2.14738494e-9f))))));
    return __fdividef(a, 1.0f + exp2_short(-odds));
}

/* Operations that are more than arithmetic: a function of its own, since few epilogues have one. */
static __device__ __noinline__ float meta_curve(u32 code, float a, float p)
{
    switch (code) {
    case META_ELU:
        return a < 0 ? p * expm1f(a) : a;
    case META_SOFTPLUS: {
        const float x = p * a;
        return (fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)))) / p;
    }
    case META_TANH:
        return tanhf(a);
    case META_GELU:
        return a * 0.5f * erfcf(-a * 0.707106781f);
    default:
        return a;
    }
}

static __device__ __forceinline__ float meta_step_run(u32 code, float a, float b, float p, float q)
{
    switch (code) {
    case META_ADD:
        return __fadd_rn(a, b);
    case META_SUB:
        return __fsub_rn(a, b);
    case META_MUL:
        return __fmul_rn(a, b);
    case META_DIV:
        return a / b;
    case META_MIN:
        return meta_min(a, b);
    case META_MAX:
        return meta_max(a, b);
    case META_CLAMP:
        return meta_min(meta_max(a, p), q);
    case META_ABS:
        return fabsf(a);
    case META_NEG:
        return -a;
    case META_RECIP:
        return 1.0f / a;
    case META_RELU:
        return a < 0 ? 0.0f : a;
    case META_LEAKY_RELU:
        return a < 0 ? p * a : a;
    case META_HARD_SIGMOID:
        return meta_max(0.0f, meta_min(__fadd_rn(__fmul_rn(a, p), q), 1.0f));
    case META_HARD_SWISH:
        return a * meta_max(0.0f, meta_min(__fadd_rn(__fmul_rn(a, p), q), 1.0f));
    case META_MULADD:
        return fmaf(a, p, q);
    case META_SQRT:
        return sqrtf(a);
    case META_RINT:
        return rintf(a);
    case META_SIGMOID:
        return meta_sigmoid(a);
    case META_SWISH:
        return meta_swish(a, p, q);
    default:
        return meta_curve(code, a, p);
    }
}
