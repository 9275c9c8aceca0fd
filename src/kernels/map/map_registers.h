/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of KERN_MAP on elements in registers: those whose second and third operands are one number for each row,
 * without expanding those in memory first; chains; and programs of one instruction on FLOAT32 or FLOAT16 with operands
 * and result in place. Included once per instruction set (map_simd.c). */
#ifndef KERNELS_MAP_REGISTERS_H
#define KERNELS_MAP_REGISTERS_H

#include "kernels/vec/fmath_half.h"
#include "kernels/map/map.h"

/* As fmath_muladd. */
FMATH vec rows_muladd(vec x, vec y, vec z)
{
#if defined(FMATH_FUSED)
    return vec_fma(x, y, z);
#else
    for (uint32_t i = 0; i < VEC; i++)
        z[i] = fmath_muladd(x[i], y[i], z[i]);
    return z;
#endif
}

/* One case: `expr` of x = a[i], y = the row's b, z = the row's c. Blocks of quantised weights have rows of 16 or 32. */
#define ROWS_OF(elements, expr)                                                                                        \
    for (uint32_t row = 0; row < rows; row++, a += (elements), out += (elements)) {                                    \
        const vec y = vec_set(b[row]), z = vec_set(c[row]);                                                            \
        (void)z;                                                                                                       \
        for (uint32_t i = 0; i < (elements); i += VEC) {                                                               \
            const vec x = vec_load(a + i);                                                                             \
            vec_store(out + i, expr);                                                                                  \
        }                                                                                                              \
    }
#define ROWS(name, expr)                                                                                               \
    case KERN_MAP_##name:                                                                                              \
        if (length == 16)                                                                                              \
            ROWS_OF(16, expr)                                                                                          \
        else if (length == 32)                                                                                         \
            ROWS_OF(32, expr)                                                                                          \
        else                                                                                                           \
            ROWS_OF(length, expr)                                                                                      \
        return true;

static bool rows_block(const struct kern_map_inst *inst, void *result, const void *const *src, uint32_t length,
                       uint32_t count)
{
    const float *a = src[0], *b = src[1], *c = src[2] ? src[2] : b;
    const uint32_t rows = count / length;
    float *out = result;
    if (inst->type != DML_TENSOR_DATA_TYPE_FLOAT32 || length % VEC || count % length)
        return false;
    switch ((enum kern_map_code)inst->code) {
        ROWS(ADD, x + y)
        ROWS(SUB, x - y)
        ROWS(MUL, x * y)
        ROWS(DIV, x / y)
        ROWS(FMA, rows_muladd(x, y, z))
    default:
        return false;
    }
}

#undef ROWS
#undef ROWS_OF

/* ---- chains ---- */

#if defined(FMATH_FUSED)

/* Vectors at once: limited by the number of registers. */
#if defined(__AVX512F__)
enum { CHAIN_VECS = 16, CHAIN_TILE = CHAIN_VECS * VEC };
#else
enum { CHAIN_VECS = 8, CHAIN_TILE = CHAIN_VECS * VEC };
#endif

#define CHAIN_EACH for (uint32_t i = 0; i < CHAIN_VECS; i++)

/* One case: `expr` of x = v[i] and y, the other operand. */
#define CHAIN(name, expr)                                                                                              \
    case KERN_MAP_##name:                                                                                              \
        if (link->same) {                                                                                              \
            const vec y = vec_set(*link->other);                                                                       \
            CHAIN_EACH v[i] = expr;                                                                                    \
        } else {                                                                                                       \
            CHAIN_EACH                                                                                                 \
            {                                                                                                          \
                const vec y = vec_load(link->other + at + i * VEC);                                                    \
                v[i] = expr;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        break;

/* Division of all elements by one divisor that is neither large nor small: the quotient by its reciprocal plus a
 * correction, rounded like a division except for one in millions. The correction of zeros is +0: subtracted, with a
 * positive divisor, it preserves their sign. */
FMATH bool chain_divide(vec *v, float divisor)
{
    const float size = fmath_abs(divisor);
    bool within = size > 0x1p-30f && size < 0x1p30f;
    for (uint32_t i = 0; i < CHAIN_VECS; i += 4)
        within &= vec_all_within(v[i], v[i + 1], v[i + 2], v[i + 3], 0x1p60f);
    if (!within)
        return false;
    if (divisor < 0)
        CHAIN_EACH v[i] = -v[i];
    const vec y = vec_set(size), inverse = vec_set(1.0f / size);
    CHAIN_EACH
    {
        const vec q = v[i] * inverse;
        v[i] = rows_muladd(-rows_muladd(q, y, -v[i]), inverse, q);
    }
    return true;
}

static uint32_t chain_block(const struct kern_map_link *links, uint32_t link_count, float *out, const float *in,
                            uint32_t count)
{
    uint32_t at = 0;
    for (; at + CHAIN_TILE <= count; at += CHAIN_TILE) {
        vec v[CHAIN_VECS];
        CHAIN_EACH v[i] = vec_load(in + at + i * VEC);
        for (const struct kern_map_link *link = links; link < links + link_count; link++) {
            switch ((enum kern_map_code)link->code) {
                CHAIN(ADD, v[i] + y)
                CHAIN(SUB, v[i] - y)
                CHAIN(MUL, v[i] * y)
            case KERN_MAP_RINT:
                CHAIN_EACH v[i] = vec_round(v[i]);
                break;
            case KERN_MAP_RELU:
                CHAIN_EACH v[i] = vec_max(vec_set(0), v[i]);
                break;
            case KERN_MAP_CLAMP:
                CHAIN_EACH v[i] = vec_min(vec_max(v[i], vec_set(link->p)), vec_set(link->q));
                break;
            case KERN_MAP_CLAMP_NAN: /* in this order NaN stays */
                CHAIN_EACH v[i] = vec_min(vec_set(link->q), vec_max(vec_set(link->p), v[i]));
                break;
            default: /* DIV */
                if (link->same && chain_divide(v, *link->other))
                    break;
                CHAIN_EACH v[i] /= link->same ? vec_set(*link->other) : vec_load(link->other + at + i * VEC);
            }
        }
        CHAIN_EACH vec_store(out + at + i * VEC, v[i]);
    }
    return at;
}

#undef CHAIN
#undef CHAIN_EACH

#else
#define chain_block NULL
#endif

/* ---- programs of one instruction, with vectors of FLOAT16 ---- */

#if defined(__AVX2__) || defined(__aarch64__)

enum {
    DIRECT_VECTORS = 4, /* at once */
    DIRECT_STEP = DIRECT_VECTORS * VEC,
    DIRECT_AHEAD = 2048 /* bytes that are prefetched */
};

/* Computes one vector. */
typedef vec direct_op(vec first, vec second, vec third, float p, float q);

/* Instructions and their number of operands, in addition to those of MAP_NEAR */
#define DIRECT_PLAIN(OP)                                                                                               \
    OP(ADD, 2)                                                                                                         \
    OP(SUB, 2)                                                                                                         \
    OP(MUL, 2)                                                                                                         \
    OP(DIV, 2)                                                                                                         \
    OP(MIN, 2)                                                                                                         \
    OP(MAX, 2)                                                                                                         \
    OP(MIN_NAN, 2)                                                                                                     \
    OP(MAX_NAN, 2)                                                                                                     \
    OP(PRELU, 2)                                                                                                       \
    OP(MULADD, 1)                                                                                                      \
    OP(CLAMP, 1)                                                                                                       \
    OP(CLAMP_NAN, 1)                                                                                                   \
    OP(SQRT, 1)                                                                                                        \
    OP(RECIP, 1)                                                                                                       \
    OP(RELU, 1)                                                                                                        \
    OP(LEAKY_RELU, 1)                                                                                                  \
    OP(ELU, 1)                                                                                                         \
    OP(HARD_SIGMOID, 1)                                                                                                \
    OP(HARD_SWISH, 1)                                                                                                  \
    OP(LOG, 1)                                                                                                         \
    OP(TANH, 1)                                                                                                        \
    OP(ERF, 1)                                                                                                         \
    OP(FMA, 3)                                                                                                         \
    OP(SELECT, 3)

/* Loops of one vector's length, which become instructions; unrolled before, selections would become branches. */
#define DIRECT_VECTOR(function, expr)                                                                                  \
    FMATH vec function(vec first, vec second, vec third, float p, float q)                                             \
    {                                                                                                                  \
        float a[VEC], b[VEC], c[VEC];                                                                                  \
        vec_store(a, first);                                                                                           \
        vec_store(b, second);                                                                                          \
        vec_store(c, third);                                                                                           \
        _Pragma("GCC unroll 1") for (uint32_t i = 0; i < VEC; i++) a[i] = expr;                                        \
        return vec_load(a);                                                                                            \
    }
#define DIRECT_SINGLE(name, arity) DIRECT_VECTOR(direct_##name, f32_##name(a[i], b[i], c[i], p, q))
#define DIRECT_BOTH(name, bound, single, halves)                                                                       \
    DIRECT_VECTOR(direct_##name, single)                                                                               \
    FMATH vec direct_half_##name(vec first, vec second, vec third, float p, float q)                                   \
    {                                                                                                                  \
        return halves;                                                                                                 \
    }

#ifdef FMATH_FUSED
FMATH vec direct_half_turned(vec first, uint32_t quarters)
{
    float a[VEC];
    vec_store(a, first);
    _Pragma("GCC unroll 1") for (uint32_t i = 0; i < VEC; i++) a[i] = half_turned(a[i], quarters);
    return vec_load(a);
}
#endif
#define x a[i]
DIRECT_PLAIN(DIRECT_SINGLE)
MAP_NEAR(DIRECT_BOTH)
#undef x
#undef DIRECT_SINGLE
#undef DIRECT_BOTH
#undef DIRECT_VECTOR

/* A vector of UINT8. */
FMATH vec direct_bytes(const char *from)
{
#if defined(__AVX512F__)
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)from)));
#elif defined(__AVX2__)
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)from)));
#else
    uint32_t four;
    memcpy(&four, from, sizeof(four));
    return vcvtq_f32_u32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four)))));
#endif
}

FMATH vec direct_load(const struct kern_map_direct *d, uint32_t s, uint32_t i, bool half)
{
    if (!d->src[s])
        return vec_set(d->one[s]);
    if (s == 0 && d->bytes)
        return direct_bytes((const char *)d->src[0] + i);
    return half ? vec_load_half((const uint16_t *)d->src[s] + i) : vec_load((const float *)d->src[s] + i);
}

FMATH void direct_store(const struct kern_map_direct *d, uint32_t i, bool half, bool stream, const vec *value)
{
    _Pragma("GCC unroll 4") for (uint32_t j = 0; j < DIRECT_VECTORS; j += 2)
    {
        const uint32_t at = i + j * VEC;
        if (half && stream) {
            vec_stream_halves((uint16_t *)d->out + at, value[j], value[j + 1]);
        } else {
            vec_put(d->out, at, half, stream, value[j]);
            vec_put(d->out, at + VEC, half, stream, value[j + 1]);
        }
    }
}

/* Some elements are outside of the fast formula's domain. */
static __attribute__((noinline)) void direct_far(const struct kern_map_inst *inst, vec *value)
{
    float in[DIRECT_STEP], out[DIRECT_STEP];
    for (uint32_t j = 0; j < DIRECT_VECTORS; j++)
        vec_store(in + j * VEC, value[j]);
    exec_block(inst, out, (const void *[]){ in, in, in }, DIRECT_STEP);
    for (uint32_t j = 0; j < DIRECT_VECTORS; j++)
        value[j] = vec_load(out + j * VEC);
}

FMATH void direct_step(direct_op *op, uint32_t arity, float bound, const struct kern_map_direct *d, uint32_t i,
                       bool half, bool stream)
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
FMATH void direct_part(direct_op *op, uint32_t arity, float bound, const struct kern_map_direct *d, uint32_t i,
                       uint32_t count, bool half)
{
    const uint32_t bytes = half ? 2 : 4;
    float buffer[4][DIRECT_STEP];
    struct kern_map_direct part = *d;
    memset(buffer, 0, sizeof(buffer));
    for (uint32_t s = 0; s < arity; s++) {
        const uint32_t width = s == 0 && d->bytes ? 1 : bytes;
        if (!d->src[s])
            continue;
        memcpy(buffer[s], (const char *)d->src[s] + (size_t)i * width, (size_t)count * width);
        part.src[s] = buffer[s];
    }
    part.out = buffer[3];
    direct_step(op, arity, bound, &part, 0, half, false);
    memcpy((char *)d->out + (size_t)i * bytes, buffer[3], (size_t)count * bytes);
}

FMATH void direct_run(direct_op *op, uint32_t arity, float bound, const struct kern_map_direct *d, uint32_t count,
                      bool half, bool stream)
{
    const uint32_t bytes = half ? 2 : 4;
    const uint32_t head = stream ? BASE_MIN((uint32_t)(-(uintptr_t)d->out % 64 / bytes), count) : 0;
    uint32_t i = 0;
    for (uint32_t n; i < head; i += n) {
        n = BASE_MIN(head - i, DIRECT_STEP);
        direct_part(op, arity, bound, d, i, n, half);
    }
    for (; i + DIRECT_STEP <= count; i += DIRECT_STEP) {
        for (uint32_t s = 0; s < arity; s++) {
            const uint32_t width = s == 0 && d->bytes ? 1 : bytes;
            _Pragma("GCC unroll 4") for (uint32_t at = 0; at < DIRECT_STEP * width; at += 64)
                __builtin_prefetch((const void *)((uintptr_t)d->src[s] + (size_t)i * width + DIRECT_AHEAD + at));
        }
        direct_step(op, arity, bound, d, i, half, stream);
    }
    if (i < count)
        direct_part(op, arity, bound, d, i, count - i, half);
}

#define DIRECT_CASE(name, arity)                                                                                       \
    case KERN_MAP_##name:                                                                                              \
        direct_run(direct_##name, arity, 0, &own, count, half, stream);                                                \
        return true;
#define DIRECT_CASE_NEAR(name, bound, single, halves)                                                                  \
    case KERN_MAP_##name:                                                                                              \
        if (half)                                                                                                      \
            direct_run(direct_half_##name, 1, 0, &own, count, true, stream);                                           \
        else                                                                                                           \
            direct_run(direct_##name, 1, bound, &own, count, false, stream);                                           \
        return true;

FMATH bool direct_code(const struct kern_map_direct *d, uint32_t count, bool half, bool stream)
{
    const float p = d->inst->imm[0].f32; /* of a bound */
    struct kern_map_direct own = *d;
    if (own.bytes) { /* only these have them */
        direct_run(direct_SELECT, 3, 0, &own, count, half, stream);
        return true;
    }
    own.bytes = false; /* now known to the compiler */
    switch ((enum kern_map_code)own.inst->code) {
        DIRECT_PLAIN(DIRECT_CASE)
        MAP_NEAR(DIRECT_CASE_NEAR)
    default:
        return false;
    }
}
#undef DIRECT_CASE
#undef DIRECT_CASE_NEAR
#undef DIRECT_PLAIN

/* Separate functions: the compiler optimises worse with all of them in one. */
static __attribute__((noinline)) bool direct_float(const struct kern_map_direct *d, uint32_t count)
{
    return d->stream ? direct_code(d, count, false, true) : direct_code(d, count, false, false);
}

static __attribute__((noinline)) bool direct_half(const struct kern_map_direct *d, uint32_t count)
{
    return d->stream ? direct_code(d, count, true, true) : direct_code(d, count, true, false);
}

static bool direct_block(const struct kern_map_direct *d, uint32_t count)
{
    return d->half ? direct_half(d, count) : direct_float(d, count);
}

#else
#define direct_block NULL
#endif
#endif
