/* Elements of groups as vectors, whatever their type, and how they join statistics. */
#ifndef KERNELS_REDUCTION_LANE_H
#define KERNELS_REDUCTION_LANE_H

#include "kernels/reduce/reduction.h"
#include "kernels/vec/vec.h"

#include <math.h>

#define REDUCTION_LINE 64 /* bytes that one request brings */

/* Asks for `bytes` bytes that are wanted soon; NULL: none. */
DENSE_INLINE void reduction_prefetch(const void *ahead, uint64_t at, uint32_t bytes)
{
    if (!ahead)
        return;
    _Pragma("GCC unroll 8") for (uint32_t i = 0; i < bytes; i += REDUCTION_LINE)
        __builtin_prefetch((const char *)ahead + at + i, 0, 2);
}

DENSE_INLINE vec reduction_load(const void *x, uint32_t i, bool half)
{
    return half ? vec_load_half((const uint16_t *)x + i) : vec_load((const float *)x + i);
}

/* The last `count` elements (fewer than a vector), then `rest`. */
DENSE_INLINE vec reduction_load_end(const void *x, uint32_t i, uint32_t count, bool half, float rest)
{
    float part[VEC];
    vec_store(part, vec_set(rest));
    for (uint32_t j = 0; j < count; j++)
        part[j] = half ? (float)dense_load(x, i + j, DML_TENSOR_DATA_TYPE_FLOAT16) : ((const float *)x)[i + j];
    return vec_load(part);
}

DENSE_INLINE vec reduction_join(enum kern_stat stat, vec total, vec x, vec center)
{
    vec difference = x - center;
    switch (stat) {
    case KERN_STAT_SUM:
        return total + x;
    case KERN_STAT_SIZE:
        return total + vec_abs(x);
    case KERN_STAT_SQUARES:
        return vec_fma(difference, difference, total);
    case KERN_STAT_EXP:
        return total + vec_exp_below(x, center, false); /* small terms need not be exact in a sum of which 1 is one */
    case KERN_STAT_MAX:
        return vec_max(x, total);
    case KERN_STAT_MIN: /* minus the greatest of -x */
        return vec_max(-x, total);
    case KERN_STAT_PRODUCT:
        return total * x;
    }
    return total;
}

DENSE_INLINE bool reduction_is_extreme(enum kern_stat stat)
{
    return stat == KERN_STAT_MAX || stat == KERN_STAT_MIN;
}

#endif
