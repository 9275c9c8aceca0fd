/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT32 functions without branches or tables, for loops that the compiler vectorises. Polynomials are minimax fits;
 * every function is within 5 units in the last place and correct at zeros, infinities, NaN and subnormal numbers.
 */
#ifndef KERNELS_FMATH_H
#define KERNELS_FMATH_H

#include "base/base.h"

#include <math.h>

#define FMATH static inline __attribute__((always_inline))

/* a * b + c, rounded once (or as if). */
FMATH float fmath_muladd(float a, float b, float c)
{
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return (float)((double)a * b + c);
#endif
}

/* a * b + c; rounded once if that costs nothing. */
FMATH float fmath_fma(float a, float b, float c)
{
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

/* A polynomial of x, the highest power's factor first. */
FMATH float fmath_series(float x, const float *factors, uint32_t count)
{
    float p = factors[0];
#pragma GCC unroll 16
    for (uint32_t i = 1; i < count; i++)
        p = fmath_fma(p, x, factors[i]);
    return p;
}
#define FMATH_SERIES(x, ...)                                                                                           \
    fmath_series(x, (const float[]){ __VA_ARGS__ }, sizeof((const float[]){ __VA_ARGS__ }) / sizeof(float))

FMATH float fmath_abs(float a)
{
    return __builtin_fabsf(a);
}

/* Whether a * b + c is rounded once at no cost. */
#ifdef __FMA__
#define FMATH_FUSED 1
#endif

/* Bounds of the *_near functions' arguments */
#define FMATH_NEAR_EXP   80.0f
#define FMATH_NEAR_GELU  12.5f
#define FMATH_NEAR_TURNS 65536.0f
/* of fmath_swish_near(x, p * x): not for p that is too small or NaN */
#define FMATH_NEAR_SWISH(p) (FMATH_NEAR_EXP / fmath_abs(p) < 1e30f ? FMATH_NEAR_EXP / fmath_abs(p) : 0.0f)

/* e^x = 2^k * (1 + *out_rest); x in [-150, 89] */
FMATH uint32_t fmath_exp_parts(float x, float *out_rest)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23: the sum's low bits are the rounded integer */
    float shifted = fmath_fma(x, 1.44269504f, shift);
    float n = shifted - shift;
    float r = fmath_fma(n, 2.12194440e-4f, fmath_fma(n, -0.693359375f, x));
    float p = FMATH_SERIES(r, 0.00139506007f, 0.00836895368f, 0.0416662042f, 0.166665183f, 0.50000001f);
    *out_rest = fmath_fma(r * r, p, r);
    return base_float_to_bits(shifted) - 0x4b400000u;
}

/* factor * e^x, where e^x alone may be subnormal or overflow. */
FMATH float fmath_exp_times(float x, float factor)
{
    float rest, in_range = x > 89.0f ? 89.0f : x;
    in_range = in_range < -150.0f ? -150.0f : in_range;
    uint32_t k = fmath_exp_parts(in_range, &rest);
    uint32_t half = (uint32_t)((int32_t)k >> 1);
    /* Two steps, because 2^k may be outside of the normal range. */
    return fmath_fma(factor, rest, factor) * base_bits_to_float((half + 127u) << 23) *
           base_bits_to_float((k - half + 127u) << 23);
}

FMATH float fmath_exp(float x)
{
    return fmath_exp_times(x, 1.0f);
}

/* The same number if 2^k and the result are normal. */
FMATH float fmath_exp_near_times(float x, float factor)
{
    float rest;
    uint32_t k = fmath_exp_parts(x, &rest);
    return base_bits_to_float(base_float_to_bits(fmath_fma(factor, rest, factor)) + (k << 23));
}

FMATH float fmath_exp_near(float x)
{
    return fmath_exp_near_times(x, 1.0f);
}

/* e^x - 1 for x <= 80 */
FMATH float fmath_expm1(float x)
{
    float rest, in_range = x < -30.0f ? -30.0f : x;
    in_range = in_range > 80.0f ? 80.0f : in_range;
    float scale = base_bits_to_float((fmath_exp_parts(in_range, &rest) + 127u) << 23);
    float result = fmath_fma(scale, rest, scale - 1.0f);
    return x == 0.0f ? x : result;
}

FMATH float fmath_log(float x)
{
    bool small = x < 1.17549435e-38f;
    uint32_t bits = base_float_to_bits(small ? x * 8388608.0f : x);
    int32_t k = (int32_t)(bits - 0x3f3504f3u) >> 23; /* so that the rest is in [sqrt 1/2, sqrt 2) */
    float f = base_bits_to_float(bits - ((uint32_t)k << 23)) - 1.0f;
    float n = (float)k - (small ? 23.0f : 0.0f);
    float p = FMATH_SERIES(f, 0.0674660179f, -0.116756387f, 0.11888173f, -0.124055919f, 0.142195512f, -0.166679956f,
                           0.200021187f, -0.250000096f, 0.333333126f);
    float square = f * f;
    float y = fmath_fma(square * f, p, fmath_fma(square, -0.5f, n * -2.12194440e-4f));
    float result = fmath_fma(n, 0.693359375f, f + y);
    result = x == INFINITY ? x : result;
    result = x == 0.0f ? -INFINITY : result;
    return x < 0.0f || x != x ? NAN : result;
}

/* ln(1 + e) for 0 <= e <= 1 */
FMATH float fmath_log1p_unit(float e)
{
    float u = 1.0f + e;
    return fmath_log(u) + (e - (u - 1.0f)) / u;
}

/* ln(1 + e^x) */
FMATH float fmath_softplus(float x)
{
    return (x < 0.0f ? 0.0f : x) + fmath_log1p_unit(fmath_exp(-fmath_abs(x)));
}

FMATH float fmath_sigmoid(float x)
{
    float e = fmath_exp(-fmath_abs(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

FMATH float fmath_sigmoid_near(float x)
{
    return 1.0f / (1.0f + fmath_exp_near(-x));
}

/* x * sigmoid(y) */
FMATH float fmath_swish(float x, float y)
{
    float a = -fmath_abs(y);
    float top = y < 0.0f ? fmath_exp_times(a, x) : x;
    return (y < -150.0f ? x * 0.0f : top) / (1.0f + fmath_exp(a));
}

FMATH float fmath_swish_near(float x, float y)
{
    float rest;
    float scale = base_bits_to_float((fmath_exp_parts(-y, &rest) + 127u) << 23);
    return x / (1.0f + fmath_fma(scale, rest, scale));
}

FMATH float fmath_tanh(float x)
{
    float a = 2.0f * fmath_abs(x);
    float e = fmath_expm1(a > 20.0f ? 20.0f : a);
    return __builtin_copysignf(e / (e + 2.0f), x);
}

/* e^(x^2) * erfc(x), with t = (x - 2.5) / (x + 2.5) and 0 <= x <= 10.6 */
FMATH float fmath_erfcx(float t)
{
    return FMATH_SERIES(t, 6.05150847e-06f, 1.53468322e-05f, -3.39111818e-05f, -0.000126968262f, 0.000228492388f,
                        0.000875351553f, -0.00264241162f, -0.00399361624f, 0.0399225437f, -0.125033058f, 0.251713193f,
                        -0.371736734f, 0.210806364f);
}

FMATH float fmath_erf(float x)
{
    float a = fmath_abs(x), s = x * x;
    float p = FMATH_SERIES(s, 7.85385416e-05f, -0.000801019145f, 0.00518832744f, -0.0268538118f, 0.112835851f,
                           -0.376126258f, 1.12837917f);
    float b = a > 6.0f ? 6.0f : a;
    float tail = 1.0f - fmath_exp_near(-b * b) * fmath_erfcx((b - 2.5f) / (b + 2.5f));
    return a < 1.0f ? x * p : __builtin_copysignf(tail, x);
}

/* x / 2 * erfc(-x / sqrt 2): in terms of x itself, since rounding x / sqrt 2 would spoil the far tail. */
FMATH float fmath_gelu(float x)
{
    float a = fmath_abs(x);
    a = a > 14.9f ? 14.9f : a;
    float square = a * a;
    float rest = 0.5f * fmath_muladd(a, a, -square);
    float factor = 0.5f * fmath_erfcx((a - 3.53553391f) / (a + 3.53553391f));
    factor = fmath_fma(-factor, rest, factor);
    float tail = fmath_exp_times(-0.5f * square, x < 0.0f ? x * factor : factor);
    float result = x < 0.0f ? tail : x * (1.0f - tail);
    return x < -14.9f ? x * 0.0f : result;
}

FMATH float fmath_gelu_near(float x)
{
    float a = fmath_abs(x), square = a * a;
    float rest = 0.5f * fmath_muladd(a, a, -square);
    float factor = a * fmath_erfcx((a - 3.53553391f) / (a + 3.53553391f));
    factor = fmath_fma(-factor, rest, factor);
    float tail = fmath_exp_near_times(-0.5f * square, factor);
    return fmath_fma(-0.5f, tail, x < 0.0f ? 0.0f : x);
}

#ifdef FMATH_FUSED

/* sin(x + quarters * pi / 2): x minus whole quarter turns, exact except for the last bits of pi / 2, then both
 * series. */
FMATH float fmath_turned(float x, uint32_t quarters)
{
    const float shift = 12582912.0f;
    float shifted = fmath_fma(x, 0.636619772f, shift), n = shifted - shift;
    float r = fmath_fma(n, -5.39030253e-15f, fmath_fma(n, -7.54978942e-08f, fmath_fma(n, -1.57079625f, x)));
    float z = r * r;
    float s = fmath_fma(fmath_fma(-0.00019517247f, z, 0.008332178f), z, -0.166666552f);
    float c = fmath_fma(fmath_fma(2.443839e-05f, z, -0.00138873665f), z, 0.0416666456f);
    uint32_t turn = base_float_to_bits(shifted) + quarters;
    float sine = fmath_fma(r * z, s, r), cosine = fmath_fma(z * z, c, fmath_fma(z, -0.5f, 1.0f));
    return base_bits_to_float(base_float_to_bits(turn & 1 ? cosine : sine) ^ (turn & 2) << 30);
}

FMATH float fmath_sin_near(float x)
{
    float result = fmath_turned(x, 0);
    return x == 0.0f ? x : result;
}

FMATH float fmath_cos_near(float x)
{
    return fmath_turned(x, 1);
}

#endif

/* ---- computed in double precision, for functions that FLOAT32 polynomials do not reach ---- */

/* Loops over them are vectorised all the same. Each is correct to about one unit in the last place of a float inside
 * the domain FMATH_IN_*; outside, callers use the C library. Taylor series end where terms are below 2^-29 of the
 * sum. */

#define FMATH_IN_TURNS(v)    (__builtin_fabsf(v) <= 1048576.0f) /* sin, cos, tan */
#define FMATH_IN_ONE(v)      (__builtin_fabsf(v) <= 1.0f)       /* asin, acos */
#define FMATH_IN_OPEN_ONE(v) (__builtin_fabsf(v) < 1.0f)        /* atanh */
#define FMATH_IN_FINITE(v)   (__builtin_fabsf(v) <= 3.4e38f)    /* atan, asinh */
#define FMATH_IN_EXP(v)      (__builtin_fabsf(v) <= 80.0f)      /* sinh, cosh */
#define FMATH_IN_ABOVE(v)    ((v) >= 1.0f && (v) <= 3.4e38f)    /* acosh */
#define FMATH_IN_POSITIVE(v) ((v) >= 0x1p-126f && (v) <= 3.4e38f)

FMATH double wide_from_bits(int64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

FMATH int64_t wide_bits(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

FMATH double wide_series(double x, const double *factors, uint32_t count)
{
    double p = factors[0];
#pragma GCC unroll 16
    for (uint32_t i = 1; i < count; i++)
        p = p * x + factors[i];
    return p;
}
#define WIDE_SERIES(x, ...)                                                                                            \
    wide_series(x, (const double[]){ __VA_ARGS__ }, sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))

/* To the nearest integer, |v| < 2^51, without a call; *out_low has its lowest bits. */
FMATH double wide_round(double v, int64_t *out_low)
{
    double shifted = v + 0x1.8p52;
    *out_low = wide_bits(shifted);
    return shifted - 0x1.8p52;
}

/* 2^v, |v| <= 1000 */
FMATH double wide_exp2(double v)
{
    int64_t low;
    double n = wide_round(v, &low), r = (v - n) * 0x1.62e42fefa39efp-1; /* ln 2 */
    double p = WIDE_SERIES(r, 1.0 / 3628800.0, 1.0 / 362880.0, 1.0 / 40320.0, 1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0,
                           1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0);
    return p * wide_from_bits((int64_t)((uint64_t)(low + 1023) << 52));
}

/* ln v for normal v > 0: v = 2^e * m with m from about sqrt(1/2) to sqrt(2); ln m = 2 artanh((m - 1) / (m + 1)). */
FMATH double wide_log(double v)
{
    int64_t bits = wide_bits(v), shifted = bits - 0x3fe6a09e667f3bcd; /* sqrt(1/2) */
    int64_t exponent = shifted >> 52;
    double m = wide_from_bits(bits - (int64_t)((uint64_t)exponent << 52));
    double s = (m - 1.0) / (m + 1.0), z = s * s;
    double p =
        WIDE_SERIES(z, 1.0 / 17.0, 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0);
    double e = (double)(int32_t)exponent;
    return e * 0x1.62e42fefa39efp-1 + 2.0 * (s + s * z * p);
}

/* ln(1 + v), accurate for small v, v > -1 */
FMATH double wide_log1p(double v)
{
    double w = 1.0 + v;
    return wide_log(w) + (v - (w - 1.0)) / w;
}

struct wide_turn {
    double sine, cosine;
    int64_t quadrant;
};

/* v = quadrant * pi / 2 + r with |r| <= pi / 4; pi / 2 in two parts, the first short enough for exact products. */
FMATH struct wide_turn wide_turn(double v)
{
    struct wide_turn turn;
    double n = wide_round(v * 0x1.45f306dc9c883p-1, &turn.quadrant);
    double r = (v - n * 0x1.921fb544p+0) - n * 0x1.0b4611a626331p-34, z = r * r;
    double s = WIDE_SERIES(z, -1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0);
    turn.sine = r + r * z * s;
    double c = WIDE_SERIES(z, 1.0 / 479001600.0, -1.0 / 3628800.0, 1.0 / 40320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5);
    turn.cosine = 1.0 + z * c;
    return turn;
}

FMATH float fmath_sin(float v)
{
    struct wide_turn turn = wide_turn(v);
    double u = turn.quadrant & 1 ? turn.cosine : turn.sine;
    float result = (float)(turn.quadrant & 2 ? -u : u);
    return v == 0 ? v : result;
}

FMATH float fmath_cos(float v)
{
    struct wide_turn turn = wide_turn(v);
    double u = turn.quadrant & 1 ? turn.sine : turn.cosine;
    return (float)((turn.quadrant + 1) & 2 ? -u : u);
}

FMATH float fmath_tan(float v)
{
    struct wide_turn turn = wide_turn(v);
    double top = turn.quadrant & 1 ? -turn.cosine : turn.sine, bottom = turn.quadrant & 1 ? turn.sine : turn.cosine;
    return v == 0 ? v : (float)(top / bottom);
}

/* atan(top / bottom) for top, bottom >= 0, not both 0: reduced to |t| <= tan(pi / 8) by pi / 4 and pi / 2. */
FMATH double wide_atan(double top, double bottom)
{
    double small = top < bottom ? top : bottom, large = top < bottom ? bottom : top;
    bool far = small > large * 0x1.a827999fcef32p-2;
    double t = far ? (small - large) / (small + large) : small / large, z = t * t;
    double p = WIDE_SERIES(z, -1.0 / 27.0, 1.0 / 25.0, -1.0 / 23.0, 1.0 / 21.0, -1.0 / 19.0, 1.0 / 17.0, -1.0 / 15.0,
                           1.0 / 13.0, -1.0 / 11.0, 1.0 / 9.0, -1.0 / 7.0, 1.0 / 5.0, -1.0 / 3.0);
    double angle = t + t * z * p + (far ? 0x1.921fb54442d18p-1 : 0.0);
    return top < bottom ? angle : 0x1.921fb54442d18p+0 - angle;
}

FMATH float fmath_atan(float v)
{
    return __builtin_copysignf((float)wide_atan(__builtin_fabs((double)v), 1.0), v);
}

FMATH float fmath_asin(float v)
{
    double a = __builtin_fabs((double)v);
    return __builtin_copysignf((float)wide_atan(a, __builtin_sqrt((1.0 - a) * (1.0 + a))), v);
}

FMATH float fmath_acos(float v)
{
    double a = __builtin_fabs((double)v), angle = wide_atan(__builtin_sqrt((1.0 - a) * (1.0 + a)), a);
    return (float)(v < 0 ? 0x1.921fb54442d18p+1 - angle : angle);
}

FMATH float fmath_sinh(float v)
{
    double x = v, z = x * x, e = wide_exp2(x * 0x1.71547652b82fep+0);
    double p = WIDE_SERIES(z, 1.0 / 362880.0, 1.0 / 5040.0, 1.0 / 120.0, 1.0 / 6.0);
    return (float)(z < 0.25 ? x + x * z * p : (e - 1.0 / e) * 0.5);
}

FMATH float fmath_cosh(float v)
{
    double e = wide_exp2((double)v * 0x1.71547652b82fep+0);
    return (float)((e + 1.0 / e) * 0.5);
}

FMATH float fmath_asinh(float v)
{
    double a = __builtin_fabs((double)v), z = a * a;
    return __builtin_copysignf((float)wide_log1p(a + z / (1.0 + __builtin_sqrt(z + 1.0))), v);
}

FMATH float fmath_acosh(float v)
{
    double t = (double)v - 1.0;
    return (float)wide_log1p(t + __builtin_sqrt(2.0 * t + t * t));
}

FMATH float fmath_atanh(float v)
{
    double a = __builtin_fabs((double)v);
    return __builtin_copysignf((float)(0.5 * wide_log1p(2.0 * a / (1.0 - a))), v);
}

/* u^v for normal u > 0 and any finite v */
FMATH float fmath_pow(float u, float v)
{
    double power = (double)v * (wide_log(u) * 0x1.71547652b82fep+0);
    power = power < -1000.0 ? -1000.0 : power;
    power = power > 1000.0 ? 1000.0 : power;
    return (float)wide_exp2(power);
}

#endif
