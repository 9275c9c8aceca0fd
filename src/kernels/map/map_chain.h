/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of KERN_MAP whose second and third operands are one number for each row, without repeating those in
 * memory first, and chains of instructions on elements that stay in registers. Included once per instruction set
 * (map_simd.c). */
#ifndef KERNELS_MAP_CHAIN_H
#define KERNELS_MAP_CHAIN_H

#include "kernels/vec/fmath.h"
#include "kernels/vec/vec.h"
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

/* One case: `expr` of x = a[i], y = the row's b, z = the row's c. Rows of 16 and 32 are what blocks of quantized
 * weights have. */
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

/* Vectors at once: as many as there are registers for, beside a few. */
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

/* All by one divisor that is neither large nor small: the quotient from its reciprocal, and what that lacks, which
 * leaves it rounded as a division rounds but for one in millions. Nothing is lacking of zeros, which is +0: taken from
 * them, with a positive divisor, it leaves their sign. */
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

static uint32_t chain_block(const struct kern_map_link *links, uint32_t link_count, float *out, const float *in,
                            uint32_t count)
{
    return 0;
}

#endif
#endif
