/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of operations of KERN_MAP in addition to the expressions of mapops.def: on doubles, and in part on
 * integers. */
#ifndef KERNELS_MAP_FORMULAS_H
#define KERNELS_MAP_FORMULAS_H

#include "kernels/map/map.h"
#include "kernels/vec/fmath.h"

#include <math.h>

#undef CONST /* a macro of the Windows headers, which names of operations must not become */

/* ---- FLOAT64, and the definition of FLOAT32 ---- */

/* min_f32, min_f64 and so on, of mapops.def. */
#define MAP_NUMBERS(T, suffix, rest_of)                                                                                \
    FMATH T min_##suffix(T u, T v)                                                                                     \
    {                                                                                                                  \
        return u < v || v != v ? u : v;                                                                                \
    }                                                                                                                  \
    FMATH T max_##suffix(T u, T v)                                                                                     \
    {                                                                                                                  \
        return u > v || v != v ? u : v;                                                                                \
    }                                                                                                                  \
    FMATH T at_least_##suffix(T u, T bound)                                                                            \
    {                                                                                                                  \
        return u < bound ? bound : u;                                                                                  \
    }                                                                                                                  \
    FMATH T at_most_##suffix(T u, T bound)                                                                             \
    {                                                                                                                  \
        return u > bound ? bound : u;                                                                                  \
    }                                                                                                                  \
    static inline T mod_floor_##suffix(T u, T v)                                                                       \
    {                                                                                                                  \
        const T rest = rest_of(u, v);                                                                                  \
        return rest != 0 && (rest < 0) != (v < 0) ? rest + v : rest;                                                   \
    }
MAP_NUMBERS(float, f32, fmodf)
MAP_NUMBERS(double, f64, fmod)

static inline double muladd_f64(double u, double v, double w)
{
    return u * v + w;
}

static inline double sigmoid_f64(double u)
{
    return u < 0 ? exp(u) / (1 + exp(u)) : 1 / (1 + exp(-u));
}

/* ln(1 + e^u) without overflow */
static inline double softplus_f64(double u)
{
    return (u > 0 ? u : u != u ? u : 0) + log1p(exp(-fabs(u)));
}

/* FORMULA(name, expression of a, b, c, p, q); C(function) is its name in the C library for the type. */
#define MAP_BOTH(FORMULA, C)                                                                                           \
    FORMULA(CONST, p)                                                                                                  \
    FORMULA(MOD_TRUNC, C(fmod)(a, b))                                                                                  \
    FORMULA(ATAN2, C(atan2)(a, b))                                                                                     \
    FORMULA(SELECT, a != 0 ? b : c)                                                                                    \
    FORMULA(IS_INF, ((a == INFINITY) & !(p < 0)) | ((a == -INFINITY) & !(p > 0)))                                      \
    FORMULA(SQRT, C(sqrt)(a))                                                                                          \
    FORMULA(CEIL, C(ceil)(a))                                                                                          \
    FORMULA(FLOOR, C(floor)(a))                                                                                        \
    FORMULA(TRUNC, C(trunc)(a))                                                                                        \
    FORMULA(RINT, C(rint)(a))                                                                                          \
    FORMULA(ROUND_AWAY, C(round)(a))
#define MAP_OF_DOUBLE(function) function
#define MAP_DOUBLES(FORMULA)                                                                                           \
    MAP_BOTH(FORMULA, MAP_OF_DOUBLE)                                                                                   \
    FORMULA(MOD_FLOOR, mod_floor_f64(a, b))                                                                            \
    FORMULA(POW, pow(a, b))                                                                                            \
    FORMULA(MEAN, (a + b) / 2)                                                                                         \
    FORMULA(MULADD, a *p + q)                                                                                          \
    FORMULA(FMA, fma(a, b, c))                                                                                         \
    FORMULA(SIGN, (a > 0) - (a < 0))                                                                                   \
    FORMULA(EXP, exp(a))                                                                                               \
    FORMULA(LOG, log(a))                                                                                               \
    FORMULA(SIN, sin(a))                                                                                               \
    FORMULA(COS, cos(a))                                                                                               \
    FORMULA(TAN, tan(a))                                                                                               \
    FORMULA(ASIN, asin(a))                                                                                             \
    FORMULA(ACOS, acos(a))                                                                                             \
    FORMULA(ATAN, atan(a))                                                                                             \
    FORMULA(SINH, sinh(a))                                                                                             \
    FORMULA(COSH, cosh(a))                                                                                             \
    FORMULA(TANH, tanh(a))                                                                                             \
    FORMULA(ASINH, asinh(a))                                                                                           \
    FORMULA(ACOSH, acosh(a))                                                                                           \
    FORMULA(ATANH, atanh(a))                                                                                           \
    FORMULA(ERF, erf(a))                                                                                               \
    FORMULA(ELU, a < 0 ? p * expm1(a) : a)                                                                             \
    FORMULA(SELU, a > 0 ? q * a : q * p * expm1(a))                                                                    \
    FORMULA(CELU, a != a ? a : fmax(0, a) + fmin(0, p * expm1(a / p)))                                                 \
    FORMULA(SIGMOID, sigmoid_f64(a))                                                                                   \
    FORMULA(SOFTPLUS, softplus_f64(p *a) / p)                                                                          \
    FORMULA(PSOFTPLUS, p *softplus_f64(q *a))                                                                          \
    FORMULA(STANH, p *tanh(q *a))                                                                                      \
    FORMULA(GELU, a / 2 * erfc(-a * 0.70710678118654752440))                                                           \
    FORMULA(SWISH, a *sigmoid_f64(p *a))

/* ---- integers ---- */

static inline uint64_t integer_power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        result *= exponent & 1 ? base : 1;
    return result;
}

static inline uint64_t integer_power_signed(int64_t base, int64_t exponent)
{
    if (exponent >= 0)
        return integer_power((uint64_t)base, (uint64_t)exponent);
    if (base == 1 || base == -1)
        return exponent & 1 ? (uint64_t)base : 1;
    return base == 0 ? UINT64_MAX : 0;
}

/* Quotients of 32-bit integers are exact in FLOAT64, which is vectorised. */
static inline int32_t divide_i32(int32_t u, int32_t v)
{
    const int32_t by = v == 0 || v == -1 ? 1 : v;
    const int32_t quotient = (int32_t)((double)u / (double)by);
    return v == 0 ? -1 : v == -1 ? (int32_t)(0 - (uint32_t)u) : quotient;
}

static inline int32_t modulus_i32(int32_t u, int32_t v, bool floored)
{
    const int32_t by = v == 0 || v == -1 ? 1 : v;
    const int32_t rest = u - (int32_t)((double)u / (double)by) * by;
    return (floored & (rest != 0) & ((rest < 0) != (v < 0))) ? rest + v : rest;
}

static inline uint32_t divide_u32(uint32_t u, uint32_t v)
{
    const uint32_t quotient = (uint32_t)((double)u / (double)(v ? v : 1));
    return v ? quotient : UINT32_MAX;
}

static inline uint32_t modulus_u32(uint32_t u, uint32_t v)
{
    return v ? u - (uint32_t)((double)u / (double)(v ? v : 1)) * v : 0;
}

static inline uint64_t divide_u64(uint64_t u, uint64_t v)
{
    return v ? u / v : UINT64_MAX;
}

static inline uint64_t modulus_u64(uint64_t u, uint64_t v)
{
    return v ? u % v : 0;
}

static inline int64_t divide_i64(int64_t u, int64_t v)
{
    if (v == 0)
        return -1;
    return v == -1 ? (int64_t)(0 - (uint64_t)u) : u / v;
}

static inline int64_t modulus_i64(int64_t u, int64_t v, bool floored)
{
    const int64_t rest = v == 0 || v == -1 ? 0 : u % v;
    return floored && rest && (rest < 0) != (v < 0) ? rest + v : rest;
}

static inline uint32_t bit_count_32(uint32_t v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    v = (v + (v >> 4)) & 0x0f0f0f0fu;
    v += v >> 8;
    return (v + (v >> 16)) & 63;
}

static inline uint64_t bit_count_64(uint64_t v)
{
    return bit_count_32((uint32_t)v) + bit_count_32((uint32_t)(v >> 32));
}

#endif
