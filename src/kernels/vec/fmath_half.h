/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in the accuracy of FLOAT16 results: within 2^-16 of them before rounding, correct at zeros, infinities and
 * NaN, for arguments that FLOAT16 represents. On vectors of FLOAT32. */
#ifndef KERNELS_FMATH_HALF_H
#define KERNELS_FMATH_HALF_H

#include "kernels/vec/fmath.h"
#include "kernels/vec/vec.h"

#if defined(__AVX512F__)

/* 2^t: of the part above the whole number below t, times 2 to that number */
FMATH vec half_exp2(vec t)
{
    const vec f = _mm512_reduce_ps(t, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); /* of infinities: 0 */
    return _mm512_scalef_ps(VEC_SERIES(f, 0.0134266783f, 0.0522424839f, 0.241280198f, 0.693044841f, 1.0f), t);
}

/* The same for t in [-126, 128]. */
FMATH vec half_exp2_near(vec t)
{
    return half_exp2(t);
}

FMATH vec half_where_less(vec x, float limit, vec yes, vec no)
{
    return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(x, vec_set(limit), _CMP_LT_OQ), yes);
}

#else

/* 2^t for t in [-126, 128] and NaN; infinite at 128 */
FMATH vec half_exp2_near(vec t)
{
    const vec shift = vec_set(12582912.0f + 127.0f), shifted = t + shift, f = t - (shifted - shift);
    vec p = VEC_SERIES(f, 0.00958285294f, 0.0559064262f, 0.240240991f, 0.693124175f);
    return vec_fma(p, f, vec_set(1.0f)) * (vec)((vec_bits)shifted << 23);
}

FMATH vec half_where_less(vec x, float limit, vec yes, vec no)
{
    const vec_bits less = (vec_bits)(x < vec_set(limit));
    return (vec)(((vec_bits)yes & less) | ((vec_bits)no & ~less));
}

/* 2^t; infinite from 128 on, never less than 2^-126 */
FMATH vec half_exp2(vec t)
{
    t = half_where_less(t, -126.0f, vec_set(-126.0f), t);
    return half_exp2_near(half_where_less(-t, -128.0f, vec_set(128.0f), t));
}

#endif

FMATH vec half_exp(vec x)
{
    return half_exp2(x * vec_set(1.44269504f));
}

/* x * sigmoid(y) */
FMATH vec half_swish(vec x, vec y)
{
    return x / (vec_set(1.0f) + half_exp2(y * vec_set(-1.44269504f)));
}

/* x less |x| times 2^p, the normal distribution's tail, for x > 0; less 0 otherwise. Beyond 5.9 the tail is 0. */
FMATH vec half_gelu(vec x)
{
    const vec a = vec_min(vec_set(5.9f), vec_abs(x)); /* NaN stays */
    vec p = VEC_SERIES(a, 3.24405664e-05f, -0.000748368737f, 0.00794202741f, -0.0530512966f, -0.459170938f, -1.1510365f,
                       -1.00000763f);
    const vec result = vec_fma(-a, half_exp2_near(p), vec_max(vec_set(0.0f), x));
    return half_where_less(x, -5.9f, x * vec_set(0.0f), result);
}

#ifdef FMATH_FUSED

/* sin(x + quarters * pi / 2), as fmath_turned */
FMATH float half_turned(float x, uint32_t quarters)
{
    const float shift = 12582912.0f;
    float shifted = fmath_fma(x, 0.636619772f, shift), n = shifted - shift;
    float r = fmath_fma(n, -7.54978942e-08f, fmath_fma(n, -1.57079625f, x));
    float z = r * r;
    float s = fmath_fma(0.00816427451f, z, -0.166634455f);
    float c = fmath_fma(fmath_fma(-0.00136519806f, z, 0.0416612588f), z, -0.5f);
    uint32_t turn = base_float_to_bits(shifted) + quarters;
    float sine = fmath_fma(r * z, s, r), cosine = fmath_fma(z, c, 1.0f);
    return base_bits_to_float(base_float_to_bits(turn & 1 ? cosine : sine) ^ (turn & 2) << 30);
}

#endif

#endif
