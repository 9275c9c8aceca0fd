// SPDX-License-Identifier: Apache-2.0
/* vec.h for processors without vectors of their own file: what the compiler makes of its vector types. */
#ifndef KERNELS_VEC_PORTABLE_H
#define KERNELS_VEC_PORTABLE_H

DENSE_INLINE vec vec_load_half(const uint16_t *from)
{
    vec out;
    for (uint32_t i = 0; i < VEC; i++)
        out[i] = base_half_to_float(from[i]);
    return out;
}

DENSE_INLINE vec vec_load_bfloat(const uint16_t *from)
{
    vec out;
    for (uint32_t i = 0; i < VEC; i++)
        out[i] = base_bfloat_to_float(from[i]);
    return out;
}

DENSE_INLINE void vec_store_half(uint16_t *to, vec value)
{
    for (uint32_t i = 0; i < VEC; i++)
        to[i] = base_float_to_half(value[i]);
}

DENSE_INLINE void vec_store_bfloat(uint16_t *to, vec value)
{
    for (uint32_t i = 0; i < VEC; i++)
        to[i] = base_float_to_bfloat(value[i]);
}

/* NaN in `a` gives b. */
DENSE_INLINE vec vec_max(vec a, vec b)
{
    for (uint32_t i = 0; i < VEC; i++)
        b[i] = a[i] > b[i] ? a[i] : b[i];
    return b;
}

DENSE_INLINE vec vec_min(vec a, vec b)
{
    for (uint32_t i = 0; i < VEC; i++)
        b[i] = a[i] < b[i] ? a[i] : b[i];
    return b;
}

DENSE_INLINE vec vec_fma(vec a, vec b, vec c)
{
    return a * b + c;
}

DENSE_INLINE float vec_sum(vec a)
{
    return (a[0] + a[2]) + (a[1] + a[3]);
}

DENSE_INLINE float vec_top(vec a)
{
    float low = BASE_MAX(a[0], a[1]), high = BASE_MAX(a[2], a[3]);
    return BASE_MAX(low, high);
}

DENSE_INLINE vec vec_round(vec a)
{
    const vec shift = vec_set(12582912.0f); /* 1.5 * 2^23; |a| is small */
    return (a + shift) - shift;
}

/* a * 2^n for whole n from -126 to 127 */
DENSE_INLINE vec vec_scale(vec a, vec n)
{
    typedef uint32_t bits __attribute__((vector_size(VEC * sizeof(uint32_t))));
    vec shifted = n + vec_set(12582912.0f);
    bits two = ((bits)shifted - 0x4b400000u + 127u) << 23;
    return a * (vec)two;
}

/* Where x is greater than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    vec_int greater = x > *best;
    *best = (vec)(((vec_int)x & greater) | ((vec_int)*best & ~greater));
    *place = (here & greater) | (*place & ~greater);
}

#include "kernels/vec/vec_plain.h"

#endif
