/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT32 quotients by one divisor that will be rounded to integers and saturate, from a reciprocal of two floats.
 *
 * A result that is rounded to an integer n, |n| < 1024, equals the division's: a * (inverse + rest) is within 2^-47 of
 * a / d, so rounding it can only fail next to a midpoint c of a half H / 2 (11 bits) and a neighbour of it. In integers
 * that is 0 < |A - C * D| <= 4 with A = 0 and C = H * 2^k +- 1, k >= 14, modulo 2^14, so D = +-1 to +-4. For all D of
 * that kind and all halves tests/unit/kern_quotient_test.c tries A next to C * D. */
#ifndef KERNELS_QUOTIENT_H
#define KERNELS_QUOTIENT_H

#include "kernels/core/dense.h"

#include <immintrin.h>

struct quotient {
    __m512 divisor, inverse, rest, limit; /* inverse + rest: 1 / divisor */
    bool divides, usual;                  /* no overflow or underflow */
};

static inline struct quotient quotient_by(float divisor)
{
    struct quotient by = { .divides = divisor != 1, .usual = divisor > 0x1p-60f && divisor < 0x1p60f };
    by.divisor = _mm512_set1_ps(divisor);
    by.inverse = _mm512_set1_ps(1.0f / divisor);
    by.rest = _mm512_set1_ps((float)(1.0 / divisor - 1.0f / divisor));
    by.limit = _mm512_set1_ps(by.usual && by.divides ? 1024 * divisor : 1024);
    return by;
}

DENSE_INLINE __m512 quotient_within(__m512 a, __m512 limit)
{
    return _mm512_min_ps(_mm512_max_ps(a, _mm512_sub_ps(_mm512_setzero_ps(), limit)), limit);
}

/* The divisor is supported; the quotient is not infinite. */
DENSE_INLINE __m512 quotient_by_inverse(const struct quotient *by, __m512 a)
{
    return _mm512_fmadd_ps(a, by->inverse, _mm512_mul_ps(a, by->rest));
}

/* From -1024 to 1024; NaN becomes -1024 or 1024. */
DENSE_INLINE __m512 quotient(const struct quotient *by, __m512 a)
{
    if (__builtin_expect(by->divides && !by->usual, 0))
        return quotient_within(_mm512_div_ps(a, by->divisor), by->limit);
    a = quotient_within(a, by->limit);
    if (!by->divides)
        return a;
    return quotient_by_inverse(by, a);
}

#endif
