/* FLOAT32 quotients by one divisor that will be rounded to integers and saturate, by a multiplication and its remainder.
 *
 * Rounding is exact: with r = 1 / d rounded and q = a * r rounded, q + (a - q * d) * r rounded is on the same side of
 * each n + 1/2 as a / d rounded, for |n| < 1024. That can fail only next to the midpoint c of n + 1/2 and a neighbour.
 * With mantissas m: r is off by a factor of at most 1 + m(d) / 2^25, so a * r is less than m(c) * m(d) / 4 < 1 units in
 * the last place from c, as n + 1/2 takes 11 bits. Hence q is one of the two neighbours of c, a - q * d is exact, and
 * its product with r is off by less than the least distance between c and a quotient that is not c. */
#ifndef KERNELS_QUOTIENT_H
#define KERNELS_QUOTIENT_H

#include "kernels/dense.h"

#include <immintrin.h>

struct quotient {
    __m512 divisor, inverse, limit;
    bool divides, usual; /* nothing overflows or vanishes */
};

static inline struct quotient quotient_by(float divisor)
{
    struct quotient by = { .divides = divisor != 1, .usual = divisor > 0x1p-60f && divisor < 0x1p60f };
    by.divisor = _mm512_set1_ps(divisor);
    by.inverse = _mm512_set1_ps(1.0f / divisor);
    by.limit = _mm512_set1_ps(by.usual && by.divides ? 1024 * divisor : 1024);
    return by;
}

DENSE_INLINE __m512 quotient_within(__m512 a, __m512 limit)
{
    return _mm512_min_ps(_mm512_max_ps(a, _mm512_sub_ps(_mm512_setzero_ps(), limit)), limit);
}

/* From -1024 to 1024, which is what a NaN becomes. */
DENSE_INLINE __m512 quotient(const struct quotient *by, __m512 a)
{
    if (__builtin_expect(by->divides && !by->usual, 0))
        return quotient_within(_mm512_div_ps(a, by->divisor), by->limit);
    a = quotient_within(a, by->limit);
    if (!by->divides)
        return a;
    __m512 q = _mm512_mul_ps(a, by->inverse);
    return _mm512_fmadd_ps(_mm512_fnmadd_ps(q, by->divisor, a), by->inverse, q);
}

#endif
