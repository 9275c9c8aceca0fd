/* Programs of one instruction on FLOAT32 or FLOAT16 from where the operands lie to where the result goes: elements are
 * loaded, converted, computed, converted and stored in registers. Included once per instruction set that has vectors of
 * FLOAT16 (map_exec.h). */
#ifndef KERNELS_MAP_DIRECT_H
#define KERNELS_MAP_DIRECT_H

#include "kernels/fmath.h"
#include "kernels/fmath_half.h"
#include "kernels/group_vec.h"
#include "kernels/map.h"

enum {
    DIRECT_VECTORS = 4, /* at once */
    DIRECT_STEP = DIRECT_VECTORS * VEC,
    DIRECT_AHEAD = 2048 /* bytes that are asked for before they are needed */
};

/* Computes one vector. */
typedef vec direct_op(vec first, vec second, vec third, float p, float q);

struct direct {
    const struct kern_map_inst *inst;
    const char *src[3];
    vec one[3];
    uint32_t ones; /* bit s: operand s is one[s] */
    char *out;
};

/* Instructions, how many operands each has, the bound of what its FLOAT32 formula takes (0: all numbers; NaN is beyond
 * any), and formulas of x, y, z, p, q for FLOAT32 and for FLOAT16. */
#define DIRECT_ALIKE(OP, name, arity, expr) OP(name, arity, 0, expr, expr)
#define DIRECT_BASIC(OP)                                                                                               \
    DIRECT_ALIKE(OP, ADD, 2, x + y)                                                                                    \
    DIRECT_ALIKE(OP, SUB, 2, x - y)                                                                                    \
    DIRECT_ALIKE(OP, MUL, 2, x *y)                                                                                     \
    DIRECT_ALIKE(OP, DIV, 2, x / y)                                                                                    \
    DIRECT_ALIKE(OP, MIN, 2, MIN_NUMBER(x, y))                                                                         \
    DIRECT_ALIKE(OP, MAX, 2, MAX_NUMBER(x, y))                                                                         \
    DIRECT_ALIKE(OP, MULADD, 1, fmath_muladd(x, p, q))                                                                 \
    DIRECT_ALIKE(OP, FMA, 3, fmath_muladd(x, y, z))                                                                    \
    DIRECT_ALIKE(OP, CLAMP, 1, MIN_NUMBER(MAX_NUMBER(x, p), q))                                                        \
    DIRECT_ALIKE(OP, SQRT, 1, sqrtf(x))                                                                                \
    DIRECT_ALIKE(OP, RECIP, 1, 1.0f / x)                                                                               \
    DIRECT_ALIKE(OP, RELU, 1, x < 0 ? 0.0f : x)                                                                        \
    DIRECT_ALIKE(OP, LEAKY_RELU, 1, x < 0 ? p * x : x)                                                                 \
    DIRECT_ALIKE(OP, PRELU, 2, x < 0 ? y * x : x)                                                                      \
    DIRECT_ALIKE(OP, ELU, 1, x < 0 ? p * fmath_expm1(x) : x)                                                           \
    DIRECT_ALIKE(OP, HARD_SIGMOID, 1, hard_sigmoid_f32(x, p, q))                                                       \
    DIRECT_ALIKE(OP, HARD_SWISH, 1, x *hard_sigmoid_f32(x, p, q))                                                      \
    DIRECT_ALIKE(OP, LOG, 1, fmath_log(x))                                                                             \
    DIRECT_ALIKE(OP, TANH, 1, fmath_tanh(x))                                                                           \
    DIRECT_ALIKE(OP, ERF, 1, fmath_erf(x))                                                                             \
    OP(EXP, 1, FMATH_NEAR_EXP, fmath_exp_near(x), half_exp(x))                                                         \
    OP(SIGMOID, 1, FMATH_NEAR_EXP, fmath_sigmoid_near(x), half_swish(1.0f, x))                                         \
    OP(SWISH, 1, FMATH_NEAR_SWISH(p), fmath_swish_near(x, p *x), half_swish(x, p *x))                                  \
    OP(GELU, 1, FMATH_NEAR_GELU, fmath_gelu_near(x), half_gelu(x))
#ifdef FMATH_FUSED
#define DIRECT_LIST(OP)                                                                                                \
    DIRECT_BASIC(OP)                                                                                                   \
    OP(SIN, 1, FMATH_NEAR_TURNS, fmath_sin_near(x), half_turned(x, 0))                                                 \
    OP(COS, 1, FMATH_NEAR_TURNS, fmath_cos_near(x), half_turned(x, 1))
#else
#define DIRECT_LIST(OP) DIRECT_BASIC(OP)
#endif

/* Loops of one vector's length, which the compiler makes instructions of; unrolled before, choices would become
 * branches. */
#define DIRECT_VECTOR(function, expr)                                                                                  \
    FMATH vec function(vec first, vec second, vec third, float p, float q)                                             \
    {                                                                                                                  \
        float a[VEC], b[VEC], c[VEC];                                                                                  \
        (void)p, (void)q;                                                                                              \
        vec_store(a, first);                                                                                           \
        vec_store(b, second);                                                                                          \
        vec_store(c, third);                                                                                           \
        _Pragma("GCC unroll 1") for (uint32_t i = 0; i < VEC; i++) a[i] = expr;                                        \
        return vec_load(a);                                                                                            \
    }
#define DIRECT_FUNCTIONS(name, arity, bound, single, narrow)                                                           \
    DIRECT_VECTOR(direct_##name, single)                                                                               \
    DIRECT_VECTOR(direct_half_##name, narrow)

#define x a[i]
#define y b[i]
#define z c[i]
DIRECT_LIST(DIRECT_FUNCTIONS)
#undef x
#undef y
#undef z
#undef DIRECT_FUNCTIONS
#undef DIRECT_VECTOR

FMATH vec direct_load(const struct direct *d, uint32_t s, uint32_t i, bool half)
{
    if (d->ones >> s & 1)
        return d->one[s];
    return half ? vec_load_half((const uint16_t *)d->src[s] + i) : vec_load((const float *)d->src[s] + i);
}

FMATH void direct_store(const struct direct *d, uint32_t i, bool half, bool stream, const vec *value)
{
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < DIRECT_VECTORS; j += 2)
    {
        const uint32_t at = i + j * VEC;
        if (half && stream) {
            vec_stream_halves((uint16_t *)d->out + at, value[j], value[j + 1]);
        } else if (half) {
            vec_store_half((uint16_t *)d->out + at, value[j]);
            vec_store_half((uint16_t *)d->out + at + VEC, value[j + 1]);
        } else if (stream) {
            vec_stream((float *)d->out + at, value[j]);
            vec_stream((float *)d->out + at + VEC, value[j + 1]);
        } else {
            vec_store((float *)d->out + at, value[j]);
            vec_store((float *)d->out + at + VEC, value[j + 1]);
        }
    }
}

/* Some of the elements are beyond what the cheap formula takes. */
static __attribute__((noinline)) void direct_far(const struct kern_map_inst *inst, vec *value)
{
    float in[DIRECT_STEP], out[DIRECT_STEP];
    for (uint32_t j = 0; j < DIRECT_VECTORS; j++)
        vec_store(in + j * VEC, value[j]);
    exec_block(inst, out, (const void *[]){ in, in, in }, DIRECT_STEP);
    for (uint32_t j = 0; j < DIRECT_VECTORS; j++)
        value[j] = vec_load(out + j * VEC);
}

FMATH void direct_step(direct_op *op, uint32_t arity, float bound, const struct direct *d, uint32_t i, bool half,
                       bool stream)
{
    const float p = d->inst->imm[0].f32, q = d->inst->imm[1].f32;
    vec a[DIRECT_VECTORS], b[DIRECT_VECTORS], c[DIRECT_VECTORS];
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < DIRECT_VECTORS; j++)
    {
        a[j] = direct_load(d, 0, i + j * VEC, half);
        b[j] = arity > 1 ? direct_load(d, 1, i + j * VEC, half) : a[j];
        c[j] = arity > 2 ? direct_load(d, 2, i + j * VEC, half) : a[j];
    }
    if (bound != 0 && !vec_all_within(a[0], a[1], a[2], a[3], bound))
        direct_far(d->inst, a);
    else
        _Pragma("GCC unroll 4") for (uint32_t j = 0; j < DIRECT_VECTORS; j++) a[j] = op(a[j], b[j], c[j], p, q);
    direct_store(d, i, half, stream, a);
}

/* Fewer elements than a step has. */
FMATH void direct_part(direct_op *op, uint32_t arity, float bound, const struct direct *d, uint32_t i, uint32_t count,
                       bool half)
{
    const uint32_t bytes = half ? 2 : 4;
    float room[4][DIRECT_STEP];
    struct direct part = *d;
    memset(room, 0, sizeof(room));
    for (uint32_t s = 0; s < arity; s++) {
        part.src[s] = (const char *)room[s];
        if (!(d->ones >> s & 1))
            memcpy(room[s], d->src[s] + (size_t)i * bytes, (size_t)count * bytes);
    }
    part.out = (char *)room[3];
    direct_step(op, arity, bound, &part, 0, half, false);
    memcpy(d->out + (size_t)i * bytes, room[3], (size_t)count * bytes);
}

FMATH void direct_run(direct_op *op, uint32_t arity, float bound, const struct direct *d, uint32_t count, bool half,
                      bool stream)
{
    const uint32_t bytes = half ? 2 : 4;
    const uint32_t head = stream ? BASE_MIN((uint32_t)(-(uintptr_t)d->out % 64 / bytes), count) : 0;
    uint32_t i = 0;
    for (uint32_t n; i < head; i += n) {
        n = BASE_MIN(head - i, DIRECT_STEP);
        direct_part(op, arity, bound, d, i, n, half);
    }
    for (; i + DIRECT_STEP <= count; i += DIRECT_STEP) {
        for (uint32_t s = 0; s < arity; s++)
            _Pragma("GCC unroll 4") for (uint32_t at = 0; at < DIRECT_STEP * bytes; at += 64)
                __builtin_prefetch(d->src[s] + (size_t)i * bytes + DIRECT_AHEAD + at);
        direct_step(op, arity, bound, d, i, half, stream);
    }
    if (i < count)
        direct_part(op, arity, bound, d, i, count - i, half);
}

#define DIRECT_CASE(name, arity, bound, single, narrow)                                                                \
    case KERN_MAP_##name:                                                                                              \
        if (half)                                                                                                      \
            direct_run(direct_half_##name, arity, 0, d, count, true, stream);                                          \
        else                                                                                                           \
            direct_run(direct_##name, arity, bound, d, count, false, stream);                                          \
        return true;

FMATH bool direct_code(const struct direct *d, uint32_t count, bool half, bool stream)
{
    const float p = d->inst->imm[0].f32;
    (void)p;
    switch ((enum kern_map_code)d->inst->code) {
        DIRECT_LIST(DIRECT_CASE)
    default:
        return false;
    }
}
#undef DIRECT_CASE
#undef DIRECT_LIST
#undef DIRECT_BASIC
#undef DIRECT_ALIKE

static bool direct_float(const struct direct *d, uint32_t count, bool stream)
{
    return stream ? direct_code(d, count, false, true) : direct_code(d, count, false, false);
}

static bool direct_half(const struct direct *d, uint32_t count, bool stream)
{
    return stream ? direct_code(d, count, true, true) : direct_code(d, count, true, false);
}

static bool direct_block(const struct kern_map_direct *given, uint32_t count)
{
    struct direct d = { .inst = given->inst, .out = given->out };
    for (uint32_t s = 0; s < 3; s++) {
        d.src[s] = given->src[s];
        d.one[s] = vec_set(given->one[s]);
        d.ones |= given->src[s] ? 0 : 1u << s;
    }
    return given->half ? direct_half(&d, count, given->stream) : direct_float(&d, count, given->stream);
}

#endif
