/* SPDX-License-Identifier: Apache-2.0 */
/* Updates that are combined with what an element holds, for the instruction set of the including file. */
#ifndef KERNELS_SCATTER_COMBINE_BODY_H
#define KERNELS_SCATTER_COMBINE_BODY_H

#include "kernels/index/index_body.h"
#include "kernels/index/scatter.h"

/* Update i of a block, `count` elements long, goes to y + offsets[i] + i * y_pick, for the i in `hits` only, in their
 * order. Strides in elements. */
struct scatter_updates {
    void *y;
    const void *u;
    int64_t y_pick, u_pick, y_step, u_step;
    uint64_t count;
    const int64_t *offsets;
    uint32_t hit_count;
    uint32_t hits[INDEX_BLOCK];
};

/* In 32 bits and more, so that small integers do not become signed ones that overflow. */
#define SCATTER_ADD(W, a, b)        ((W)(a) + (W)(b))
#define SCATTER_MULTIPLY(W, a, b)   ((W)(a) * (W)(b))
#define SCATTER_MIN(W, a, b)        ((b) < (a) ? (b) : (a))
#define SCATTER_MAX(W, a, b)        ((b) > (a) ? (b) : (a))
#define SCATTER_MIN_NUMBER(W, a, b) ((a) != (a) ? (b) : SCATTER_MIN(W, a, b))
#define SCATTER_MAX_NUMBER(W, a, b) ((a) != (a) ? (b) : SCATTER_MAX(W, a, b))
#define SCATTER_SAME(value)         (value)

/* Rows of updates go far beyond the first-level cache: the places of the next ones are prefetched. */
enum { SCATTER_AHEAD = 6 };

DENSE_INLINE void scatter_fetch(const struct scatter_updates *s, const char *y, uint32_t h, uint32_t bytes)
{
    const uint32_t next = s->hits[BASE_MIN(h + SCATTER_AHEAD, s->hit_count - 1)];
    const char *at = y + (s->offsets[next] + (int64_t)next * s->y_pick) * (int64_t)bytes;
    for (uint64_t b = 0; b < BASE_MIN(s->count * bytes, 512); b += 64)
        __builtin_prefetch(at + b, 1);
}

#define SCATTER_COMBINE(T, U, W, LOAD, COMBINE)                                                                        \
    {                                                                                                                  \
        const uint64_t count = s->count;                                                                               \
        const int64_t y_step = s->y_step, u_step = s->u_step;                                                          \
        for (uint32_t h = 0; count == 1 && h < s->hit_count; h++) {                                                    \
            const int64_t i = s->hits[h];                                                                              \
            T *to = (T *)s->y + s->offsets[i] + i * s->y_pick;                                                         \
            const T held = *to, incoming = LOAD(((const U *)s->u)[i * s->u_pick]);                                     \
            *to = (T)COMBINE(W, held, incoming);                                                                       \
        }                                                                                                              \
        for (uint32_t h = 0; count > 1 && h < s->hit_count; h++) {                                                     \
            const int64_t i = s->hits[h];                                                                              \
            T *to = (T *)s->y + s->offsets[i] + i * s->y_pick;                                                         \
            const U *from = (const U *)s->u + i * s->u_pick;                                                           \
            scatter_fetch(s, s->y, h, sizeof(T));                                                                      \
            if (y_step == 1 && u_step == 1) {                                                                          \
                _Pragma("GCC ivdep") for (uint64_t f = 0; f < count; f++)                                              \
                {                                                                                                      \
                    const T held = to[f], incoming = LOAD(from[f]);                                                    \
                    to[f] = (T)COMBINE(W, held, incoming);                                                             \
                }                                                                                                      \
            } else {                                                                                                   \
                for (int64_t f = 0; f < (int64_t)count; f++) {                                                         \
                    const T held = to[f * y_step], incoming = LOAD(from[f * u_step]);                                  \
                    to[f * y_step] = (T)COMBINE(W, held, incoming);                                                    \
                    COPY_ONE_BY_ONE;                                                                                   \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }

#define SCATTER_BY_FUNCTION(T, U, W, LOAD, MINIMUM, MAXIMUM)                                                           \
    switch (reduction) {                                                                                               \
    case KERN_SCATTER_ADD:                                                                                             \
        SCATTER_COMBINE(T, U, W, LOAD, SCATTER_ADD)                                                                    \
        break;                                                                                                         \
    case KERN_SCATTER_MULTIPLY:                                                                                        \
        SCATTER_COMBINE(T, U, W, LOAD, SCATTER_MULTIPLY)                                                               \
        break;                                                                                                         \
    case KERN_SCATTER_MIN:                                                                                             \
        SCATTER_COMBINE(T, U, W, LOAD, MINIMUM)                                                                        \
        break;                                                                                                         \
    default:                                                                                                           \
        SCATTER_COMBINE(T, U, W, LOAD, MAXIMUM)                                                                        \
        break;                                                                                                         \
    }

#define SCATTER_FLOATS(T, U, LOAD) SCATTER_BY_FUNCTION(T, U, T, LOAD, SCATTER_MIN_NUMBER, SCATTER_MAX_NUMBER)
#define SCATTER_INTEGERS(T, W)     SCATTER_BY_FUNCTION(T, T, W, SCATTER_SAME, SCATTER_MIN, SCATTER_MAX)

/* As base_half_to_float, without branches, so that rows of them have vectors. */
DENSE_INLINE float scatter_half(uint16_t half)
{
    const uint32_t magnitude = half & 0x7fff, sign = (uint32_t)(half & 0x8000) << 16;
    const uint32_t bits = base_float_to_bits(base_bits_to_float(magnitude << 13) * 0x1p112f);
    return base_bits_to_float((magnitude >= 0x7c00 ? bits | 0x7f800000 : bits) | sign);
}

static void scatter_combine_floats(const struct scatter_updates *s, enum kern_scatter_reduction reduction,
                                   DML_TENSOR_DATA_TYPE update)
{
    switch ((uint32_t)update) {
    case DML_TENSOR_DATA_TYPE_FLOAT64:
        SCATTER_FLOATS(double, double, SCATTER_SAME)
        break;
    case DML_TENSOR_DATA_TYPE_FLOAT16:
        SCATTER_FLOATS(float, uint16_t, scatter_half)
        break;
    case ANYDML_TENSOR_DATA_TYPE_BFLOAT16:
        SCATTER_FLOATS(float, uint16_t, base_bfloat_to_float)
        break;
    default:
        SCATTER_FLOATS(float, float, SCATTER_SAME)
        break;
    }
}

/* Sums and products are the same bits for either sign. */
static void scatter_combine_signed(const struct scatter_updates *s, enum kern_scatter_reduction reduction,
                                   uint32_t bytes)
{
    switch (bytes) {
    case 1:
        SCATTER_INTEGERS(int8_t, uint32_t)
        break;
    case 2:
        SCATTER_INTEGERS(int16_t, uint32_t)
        break;
    case 4:
        SCATTER_INTEGERS(int32_t, uint32_t)
        break;
    default:
        SCATTER_INTEGERS(int64_t, uint64_t)
        break;
    }
}

static void scatter_combine_unsigned(const struct scatter_updates *s, enum kern_scatter_reduction reduction,
                                     uint32_t bytes)
{
    switch (bytes) {
    case 1:
        SCATTER_INTEGERS(uint8_t, uint32_t)
        break;
    case 2:
        SCATTER_INTEGERS(uint16_t, uint32_t)
        break;
    case 4:
        SCATTER_INTEGERS(uint32_t, uint32_t)
        break;
    default:
        SCATTER_INTEGERS(uint64_t, uint64_t)
        break;
    }
}

/* The updates whose offsets are not INDEX_OUT. Threads share the updates, so half of them miss with two: the list is
 * made without a branch. */
static void scatter_combine(const struct kern_op *op, struct scatter_updates *s, uint32_t picks)
{
    const DML_TENSOR_DATA_TYPE type = op->tensors[3].type;
    const enum kern_scatter_reduction reduction = op->u.scatter.reduction;
    s->hit_count = 0;
    for (uint32_t i = 0; i < picks; i++) {
        s->hits[s->hit_count] = i;
        s->hit_count += s->offsets[i] != INDEX_OUT;
    }
    switch (kern_type_class(type)) {
    case KERN_CLASS_FLOAT:
        scatter_combine_floats(s, reduction, op->tensors[2].type);
        break;
    case KERN_CLASS_SIGNED:
        scatter_combine_signed(s, reduction, kern_type_bytes(type));
        break;
    case KERN_CLASS_UNSIGNED:
        scatter_combine_unsigned(s, reduction, kern_type_bytes(type));
        break;
    }
}

/* `count` indices from `first` on are all the same: a list of rows that was broadcast to elements. */
static bool scatter_one_index(DML_TENSOR_DATA_TYPE type, const void *indices, int64_t first, int64_t stride,
                              uint32_t count)
{
    uint64_t other = 0;
    if (stride == 0)
        return true;
    if (kern_type_bytes(type) == 8) {
        const uint64_t *at = (const uint64_t *)indices + first;
        if (stride != 1 || at[0] != at[count - 1])
            return false;
        for (uint32_t i = 1; i < count; i++)
            other |= at[i] ^ at[0];
    } else {
        const uint32_t *at = (const uint32_t *)indices + first;
        if (stride != 1 || at[0] != at[count - 1])
            return false;
        for (uint32_t i = 1; i < count; i++)
            other |= at[i] ^ at[0];
    }
    return other == 0;
}

#endif
