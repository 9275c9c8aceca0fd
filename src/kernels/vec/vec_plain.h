// SPDX-License-Identifier: Apache-2.0
/* The part of vec_neon.h and vec_portable.h for which neither has instructions. */
#ifndef KERNELS_VEC_PLAIN_H
#define KERNELS_VEC_PLAIN_H

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

/* Stores past the caches of what does not fit there anyway: here plain ones. */
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

DENSE_INLINE void vec_stream_end(void)
{
}

#endif
