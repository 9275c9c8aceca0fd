/* SPDX-License-Identifier: Apache-2.0 */
/* FLOAT32 functions computed in double precision, branch-free, so that loops of them become vectors. Each is right to
 * about one unit in the last place of a float inside the domain that FMATH_IN_* states; outside, callers use the C
 * library's. Series are Taylor's, cut where the next term is below 2^-29 of the sum. */
#ifndef KERNELS_FMATH_WIDE_H
#define KERNELS_FMATH_WIDE_H

#include "kernels/vec/fmath.h"

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

/* To the nearest whole number, |v| < 2^51, without a call; *out_low holds its lowest bits. */
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

/* ln(1 + v) with small v kept, v > -1 */
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
