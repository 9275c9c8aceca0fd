/* Operations of KERN_MAP on integers that need more than an expression. */
#ifndef KERNELS_MAP_INTEGER_H
#define KERNELS_MAP_INTEGER_H

#include "kernels/map/map.h"

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

/* Quotients of 32-bit integers are exact in FLOAT64, which has vectors. */
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
