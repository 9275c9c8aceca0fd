// SPDX-License-Identifier: Apache-2.0
/* vec.h by the compiler's vector types: for CPUs without a file, and operations without NEON instructions. */
#ifndef KERNELS_VEC_PLAIN_H
#define KERNELS_VEC_PLAIN_H

#if !defined(__aarch64__)
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

/* NaN in `a` returns b. */
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
    const vec shifted = n + vec_set(12582912.0f);
    return a * (vec)(((vec_bits)shifted - 0x4b400000u + 127u) << 23);
}

/* If x is larger than *best, *best = x and *place = here. */
DENSE_INLINE void vec_take_greater(vec x, vec_int here, vec *best, vec_int *place)
{
    vec_int greater = x > *best;
    *best = (vec)(((vec_int)x & greater) | ((vec_int)*best & ~greater));
    *place = (here & greater) | (*place & ~greater);
}
#endif

/* The first `count` elements, of `rest` after them; reads nothing beyond. */
DENSE_INLINE vec vec_load_part(const float *from, uint32_t count, vec rest)
{
    for (uint32_t i = 0; i < VEC && i < count; i++)
        rest[i] = from[i];
    return rest;
}

/* The first `count` elements. */
DENSE_INLINE void vec_store_part(float *to, uint32_t count, vec value)
{
    for (uint32_t i = 0; i < VEC && i < count; i++)
        to[i] = value[i];
}

DENSE_INLINE bool vec_any_equal(vec a, vec b)
{
    bool any = false;
    for (uint32_t i = 0; i < VEC; i++)
        any |= a[i] == b[i];
    return any;
}

DENSE_INLINE bool vec_any_greater(vec a, vec b)
{
    bool any = false;
    for (uint32_t i = 0; i < VEC; i++)
        any |= a[i] > b[i];
    return any;
}

/* Are all elements' sizes at most `bound`? Not if one is NaN. */
DENSE_INLINE bool vec_all_within(vec a, vec b, vec c, vec d, float bound)
{
    bool within = true;
    for (uint32_t i = 0; i < VEC; i++)
        within &= vec_abs(a)[i] <= bound && vec_abs(b)[i] <= bound && vec_abs(c)[i] <= bound && vec_abs(d)[i] <= bound;
    return within;
}

/* Non-temporal stores: plain stores here. */
DENSE_INLINE void vec_stream(float *to, vec value)
{
    vec_store(to, value);
}

DENSE_INLINE void vec_stream_half(uint16_t *to, vec value)
{
    vec_store_half(to, value);
}

DENSE_INLINE void vec_stream_halves(uint16_t *to, vec a, vec b)
{
    vec_stream_half(to, a);
    vec_stream_half(to + VEC, b);
}

#endif
