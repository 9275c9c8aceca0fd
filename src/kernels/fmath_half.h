/* Functions as exact as FLOAT16 results need: within 2^-16 of them before they are rounded, right at zeros, infinities
 * and NaN, for arguments that FLOAT16 holds. In the manner of fmath.h. */
#ifndef KERNELS_FMATH_HALF_H
#define KERNELS_FMATH_HALF_H

#include "kernels/fmath.h"

/* 2^t for t in [-126, 128] and NaN; infinite at 128 */
FMATH float half_exp2_near(float t)
{
    const float shift = 12582912.0f + 127.0f;
    float shifted = t + shift, f = t - (shifted - shift);
    float p = 0.00958285294f;
    p = fmath_fma(p, f, 0.0559064262f);
    p = fmath_fma(p, f, 0.240240991f);
    p = fmath_fma(p, f, 0.693124175f);
    return fmath_fma(p, f, 1.0f) * fmath_bits(fmath_to_bits(shifted) << 23);
}

/* 2^t; infinite from 128 on, never less than 2^-126 */
FMATH float half_exp2(float t)
{
    float in_range = t < -126.0f ? -126.0f : t;
    return half_exp2_near(in_range > 128.0f ? 128.0f : in_range);
}

FMATH float half_exp(float x)
{
    return half_exp2(x * 1.44269504f);
}

/* x * sigmoid(y) */
FMATH float half_swish(float x, float y)
{
    return x / (1.0f + half_exp2(y * -1.44269504f));
}

/* x less |x| times 2^p, the normal distribution's tail, for x > 0; less 0 otherwise. Beyond 5.9 the tail is 0. */
FMATH float half_gelu(float x)
{
    float a = fmath_abs(x);
    a = a > 5.9f ? 5.9f : a;
    float p = 3.24405664e-05f;
    p = fmath_fma(p, a, -0.000748368737f);
    p = fmath_fma(p, a, 0.00794202741f);
    p = fmath_fma(p, a, -0.0530512966f);
    p = fmath_fma(p, a, -0.459170938f);
    p = fmath_fma(p, a, -1.1510365f);
    p = fmath_fma(p, a, -1.00000763f);
    float result = fmath_fma(-a, half_exp2_near(p), x < 0.0f ? 0.0f : x);
    return x < -5.9f ? x * 0.0f : result;
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
    uint32_t turn = fmath_to_bits(shifted) + quarters;
    float sine = fmath_fma(r * z, s, r), cosine = fmath_fma(z, c, 1.0f);
    return fmath_bits(fmath_to_bits(turn & 1 ? cosine : sine) ^ (turn & 2) << 30);
}

#endif

#endif
